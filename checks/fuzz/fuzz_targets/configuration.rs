//! Fuzzes the configuration of the provider and the parser of `openssl_conf`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| openssl_fuzz::configuration(data));
