//! Fuzzes keys and ciphertexts of ML-KEM on every backend.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::ml_kem(data));
