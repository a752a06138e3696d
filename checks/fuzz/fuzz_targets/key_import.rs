//! Fuzzes keys imported from bytes.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::key_import(data));
