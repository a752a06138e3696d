//! Encodings, compression and the centred binomial distribution (FIPS 203, section 4.2).
//!
//! Functions with a number of bits as an argument take it as a constant: one of a parameter set.

use lanes::BitFieldLanes;

use crate::params::{N, Q};
use crate::poly::{Poly, canonical};

/// Compress: `2^bits / q * a`, rounded, modulo 2^bits, for words in `0..q`.
#[inline(always)]
pub(crate) fn compress<L: BitFieldLanes, const BITS: u32>(lanes: L, a: L::I16) -> L::I16 {
    let factor = (1 << (13 + BITS)) / i32::from(Q);
    // The quotient of 2^bits a by q, or one less.
    let quotient = lanes.mul_high(lanes.shift_left::<3>(a), lanes.splat(factor as i16));
    let remainder = lanes.sub(lanes.shift_left::<BITS>(a), lanes.mul_low(quotient, lanes.splat(Q)));
    // One more where the remainder is above q/2.
    let up = lanes.shift_right::<15>(lanes.sub(lanes.splat(Q / 2), remainder));
    lanes.and(lanes.add(quotient, up), lanes.splat((1 << BITS) - 1))
}

/// Decompress: `q / 2^bits * a`, rounded, for words in `0..2^bits`.
#[inline(always)]
pub(crate) fn decompress<L: BitFieldLanes, const BITS: u32>(lanes: L, a: L::I16) -> L::I16 {
    lanes.mul_rounded(lanes.mul_low(a, lanes.splat(1 << (15 - BITS))), lanes.splat(Q))
}

/// The number of ones among the low half of the bits of a field of 2 eta bits, less that among the
/// high half.
#[inline(always)]
pub(crate) fn binomial<L: BitFieldLanes>(lanes: L, field: L::I16, eta: usize) -> L::I16 {
    if eta == 2 {
        let ones = lanes.splat(0b0101);
        let high = lanes.and(lanes.shift_right::<1>(field), ones);
        let counts = lanes.add(lanes.and(field, ones), high);
        lanes.sub(lanes.and(counts, lanes.splat(0b11)), lanes.shift_right::<2>(counts))
    } else {
        let ones = lanes.splat(0b00_1001);
        let middle = lanes.and(lanes.shift_right::<1>(field), ones);
        let high = lanes.and(lanes.shift_right::<2>(field), ones);
        let counts = lanes.add(lanes.add(lanes.and(field, ones), middle), high);
        lanes.sub(lanes.and(counts, lanes.splat(0b111)), lanes.shift_right::<3>(counts))
    }
}

/// SamplePolyCBD: 64 eta bytes to a polynomial.
#[inline(always)]
pub(crate) fn sample_binomial<L: BitFieldLanes>(
    lanes: L,
    bytes: &[u8],
    eta: usize,
    to: &mut Poly<i16>,
) {
    for i in (0..N).step_by(L::WORDS) {
        let from = &bytes[i * eta / 4..];
        let field = if eta == 2 { lanes.unpack::<4>(from) } else { lanes.unpack::<6>(from) };
        lanes.store(&mut to.0[i..], binomial(lanes, field, eta));
    }
}

/// ByteDecode of 12 bits a coefficient, without a check.
#[inline(always)]
pub(crate) fn decode<L: BitFieldLanes>(lanes: L, bytes: &[u8], to: &mut Poly<i16>) {
    for i in (0..N).step_by(L::WORDS) {
        lanes.store(&mut to.0[i..], lanes.unpack::<12>(&bytes[i * 12 / 8..]));
    }
}

/// ByteEncode of 12 bits a coefficient, of any representatives.
#[inline(always)]
pub(crate) fn encode<L: BitFieldLanes>(lanes: L, a: &Poly<i16>, bytes: &mut [u8]) {
    for i in (0..N).step_by(L::WORDS) {
        let word = canonical(lanes, lanes.load(&a.0[i..]));
        lanes.pack::<12>(&mut bytes[i * 12 / 8..], word);
    }
}

/// All ones in each word if all coefficients of 12 bits are below q, else zero in some.
#[inline(always)]
pub(crate) fn are_below_q<L: BitFieldLanes>(lanes: L, bytes: &[u8]) -> L::I16 {
    let mut below = lanes.splat(-1);
    for from in bytes.chunks_exact(L::WORDS * 12 / 8) {
        let excess = lanes.sub(lanes.unpack::<12>(from), lanes.splat(Q));
        below = lanes.and(below, lanes.negative(excess));
    }
    below
}

/// ByteEncode of Compress, of any representatives.
#[inline(always)]
pub(crate) fn encode_compressed<L: BitFieldLanes>(
    lanes: L,
    a: &Poly<i16>,
    bits: usize,
    bytes: &mut [u8],
) {
    for i in (0..N).step_by(L::WORDS) {
        let word = canonical(lanes, lanes.load(&a.0[i..]));
        let to = &mut bytes[i * bits / 8..];
        match bits {
            1 => lanes.pack::<1>(to, compress::<L, 1>(lanes, word)),
            4 => lanes.pack::<4>(to, compress::<L, 4>(lanes, word)),
            5 => lanes.pack::<5>(to, compress::<L, 5>(lanes, word)),
            10 => lanes.pack::<10>(to, compress::<L, 10>(lanes, word)),
            11 => lanes.pack::<11>(to, compress::<L, 11>(lanes, word)),
            _ => unreachable!("no parameter set compresses to {bits} bits"),
        }
    }
}

/// Decompress of ByteDecode.
#[inline(always)]
pub(crate) fn decode_compressed<L: BitFieldLanes>(
    lanes: L,
    bytes: &[u8],
    bits: usize,
    to: &mut Poly<i16>,
) {
    for i in (0..N).step_by(L::WORDS) {
        let from = &bytes[i * bits / 8..];
        let word = match bits {
            1 => decompress::<L, 1>(lanes, lanes.unpack::<1>(from)),
            4 => decompress::<L, 4>(lanes, lanes.unpack::<4>(from)),
            5 => decompress::<L, 5>(lanes, lanes.unpack::<5>(from)),
            10 => decompress::<L, 10>(lanes, lanes.unpack::<10>(from)),
            11 => decompress::<L, 11>(lanes, lanes.unpack::<11>(from)),
            _ => unreachable!("no parameter set compresses to {bits} bits"),
        };
        lanes.store(&mut to.0[i..], word);
    }
}
