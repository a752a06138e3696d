//! Fuzzes a server's answer to a ClientHello.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::server_answer(data));
