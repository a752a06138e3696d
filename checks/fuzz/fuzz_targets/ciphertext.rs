//! Fuzzes a server's key share at a client.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::ciphertext(data));
