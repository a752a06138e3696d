//! Fuzzes a client's key share at a server.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::key_share(data));
