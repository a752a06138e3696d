//! Bits, bytes and compressed coefficients (section 4.2.1).

use super::parameters::encoded_bytes;
use super::{N, Polynomial, Q};

/// The modulus of ByteEncode_d and ByteDecode_d: 2^d, or q if d is 12.
///
/// # Panics
///
/// If d is not from 1 to 12.
fn modulus(d: u32) -> u16 {
    assert!((1..=12).contains(&d), "1 to 12 bits a coefficient");
    if d < 12 { 1 << d } else { Q }
}

/// BitsToBytes (algorithm 3): eight bits a byte, the lowest one first.
///
/// # Panics
///
/// If the number of bits is not a multiple of eight, or a bit is neither 0 nor 1.
pub fn bits_to_bytes(b: &[u8]) -> Vec<u8> {
    assert_eq!(b.len() % 8, 0, "whole bytes");
    assert!(b.iter().all(|&bit| bit <= 1), "bits");
    let mut bytes = vec![0; b.len() / 8];
    for i in 0..b.len() {
        bytes[i / 8] += b[i] << (i % 8);
    }
    bytes
}

/// BytesToBits (algorithm 4): the bits of each byte, the lowest one first.
pub fn bytes_to_bits(bytes: &[u8]) -> Vec<u8> {
    let mut b = vec![0; 8 * bytes.len()];
    for i in 0..bytes.len() {
        let mut c = bytes[i];
        for j in 0..8 {
            b[8 * i + j] = c % 2;
            c /= 2;
        }
    }
    b
}

/// ByteEncode_d (algorithm 5): 256 integers of d bits each, as 32d bytes.
///
/// # Panics
///
/// If d is not from 1 to 12, or an integer is not below 2^d (q if d is 12).
pub fn byte_encode(d: u32, f: &Polynomial) -> Vec<u8> {
    let m = modulus(d);
    assert!(f.iter().all(|&a| a < m), "integers below {m}");
    let mut b = vec![];
    for i in 0..N {
        let mut a = f[i];
        for _ in 0..d {
            b.push((a % 2) as u8);
            a /= 2;
        }
    }
    bits_to_bytes(&b)
}

/// ByteDecode_d (algorithm 6): 256 integers of d bits each, from 32d bytes. If d is 12 each one is
/// reduced modulo q, so that different strings decode to the same integers.
///
/// # Panics
///
/// If d is not from 1 to 12, or `bytes` has not 32d bytes.
pub fn byte_decode(d: u32, bytes: &[u8]) -> Polynomial {
    let m = modulus(d);
    assert_eq!(bytes.len(), encoded_bytes(d), "32d bytes");
    let b = bytes_to_bits(bytes);
    let d = d as usize;
    let mut f = [0; N];
    for i in 0..N {
        for j in 0..d {
            f[i] += u16::from(b[i * d + j]) << j;
        }
        f[i] %= m;
    }
    f
}

/// Compress_d (4.7): x 2^d / q, rounded to the nearest integer, modulo 2^d. A half would be rounded
/// up, but there is none: q is odd.
///
/// # Panics
///
/// If d is not from 1 to 11, or x is not below q.
pub fn compress(d: u32, x: u16) -> u16 {
    assert!((1..12).contains(&d) && x < Q, "1 to 11 bits, x below q");
    let q = u32::from(Q);
    // floor(a / q + 1/2) = floor((2 a + q) / (2 q)).
    let rounded = (2 * (u32::from(x) << d) + q) / (2 * q);
    (rounded % (1 << d)) as u16
}

/// Decompress_d (4.8): y q / 2^d, rounded to the nearest integer, a half up.
///
/// # Panics
///
/// If d is not from 1 to 11, or y is not below 2^d.
pub fn decompress(d: u32, y: u16) -> u16 {
    assert!((1..12).contains(&d) && y < 1 << d, "1 to 11 bits, y of d bits");
    let power = 1_u32 << d;
    ((2 * u32::from(y) * u32::from(Q) + power) / (2 * power)) as u16
}

/// [`compress`] for each coefficient.
///
/// # Panics
///
/// As [`compress`].
pub fn compress_polynomial(d: u32, f: &Polynomial) -> Polynomial {
    f.map(|x| compress(d, x))
}

/// [`decompress`] for each coefficient.
///
/// # Panics
///
/// As [`decompress`].
pub fn decompress_polynomial(d: u32, f: &Polynomial) -> Polynomial {
    f.map(|y| decompress(d, y))
}
