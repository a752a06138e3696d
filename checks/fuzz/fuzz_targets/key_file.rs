//! Fuzzes key files in DER.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::key_file(data));
