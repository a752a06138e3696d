//! Helpers of the tests: hexadecimal and random bytes.

#![allow(dead_code, reason = "each test uses some")]
#![allow(missing_docs, unreachable_pub, reason = "tests")]

use reference::drbg::Drbg;

pub fn hex<const N: usize>(text: &str) -> [u8; N] {
    hex_bytes(text).try_into().unwrap()
}

pub fn hex_bytes(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

pub fn random() -> Drbg {
    Drbg::new(&[9; 48])
}

pub fn random_bytes(random: &mut Drbg) -> [u8; 32] {
    let mut bytes = [0; 32];
    random.fill(&mut bytes);
    bytes
}
