//! Integers modulo the order L = 2^252 + 27742317777372353535851937790883648493 of the base point,
//! in four words.
//!
//! Products are Montgomery's, with R = 2^256.

use zeroize::{Zeroize, Zeroizing};

use crate::field::BYTES;

/// Words of a scalar.
const WORDS: usize = 4;

/// An integer below 2^256, lowest word first.
pub(crate) type Words = [u64; WORDS];

/// The order of the base point (RFC 8032, section 5.1).
pub(crate) const ORDER: Words =
    [0x5812_631a_5cf5_d3ed, 0x14de_f9de_a2f7_9cd6, 0, 0x1000_0000_0000_0000];

/// -1 / L modulo 2^64.
const INVERSE: u64 = {
    // Newton's iteration doubles the bits that are right; five of an odd number are at first.
    let mut inverse = ORDER[0].wrapping_mul(3) ^ 2;
    let mut i = 0;
    while i < 4 {
        inverse = inverse.wrapping_mul(2u64.wrapping_sub(ORDER[0].wrapping_mul(inverse)));
        i += 1;
    }
    inverse.wrapping_neg()
};

/// R modulo L.
const R: Words = power_of_two(256);
/// R^2 modulo L.
const R_SQUARED: Words = power_of_two(512);

const fn power_of_two(exponent: u32) -> Words {
    let mut power = [1, 0, 0, 0];
    let mut i = 0;
    while i < exponent {
        let double = sum(power, power);
        let (difference, below) = sub(double, ORDER);
        power = choose(below, double, difference);
        i += 1;
    }
    power
}

/// `a - b`, and all ones if that is negative, else zero.
const fn sub(a: Words, b: Words) -> (Words, u64) {
    let mut difference = [0; WORDS];
    let mut borrow = 0;
    let mut i = 0;
    while i < WORDS {
        let (d, first) = a[i].overflowing_sub(b[i]);
        let (d, second) = d.overflowing_sub(borrow);
        difference[i] = d;
        borrow = first as u64 | second as u64;
        i += 1;
    }
    (difference, borrow.wrapping_neg())
}

/// `a` where `mask` is all ones, `b` where it is zero.
const fn choose(mask: u64, a: Words, b: Words) -> Words {
    let mut chosen = b;
    let mut i = 0;
    while i < WORDS {
        chosen[i] ^= mask & (a[i] ^ b[i]);
        i += 1;
    }
    chosen
}

/// `a` less L, if that is not negative.
fn sub_order(a: Words) -> Words {
    let (difference, below) = sub(a, ORDER);
    // A compiler that knew what the mask can be might jump.
    choose(lanes::scalar(below), a, difference)
}

/// `a + b`, which must not exceed 2^256.
pub(crate) const fn sum(a: Words, b: Words) -> Words {
    let mut sum = [0; WORDS];
    let mut carry = 0;
    let mut i = 0;
    while i < WORDS {
        let s = a[i] as u128 + b[i] as u128 + carry;
        sum[i] = s as u64;
        carry = s >> 64;
        i += 1;
    }
    sum
}

/// `a + b` modulo L, for `a` and `b` below L.
pub(crate) fn add(a: Words, b: Words) -> Words {
    sub_order(sum(a, b))
}

/// `a * b / R` modulo L, for `b` below L.
fn montgomery(a: &Words, b: &Words) -> Words {
    let mut t = [0u64; WORDS + 1];
    for i in 0..WORDS {
        let mut carry = 0u128;
        for j in 0..WORDS {
            carry += u128::from(t[j]) + u128::from(a[i]) * u128::from(b[j]);
            t[j] = carry as u64;
            carry >>= 64;
        }
        // Below 2L at each turn, and a[i] * b below 2^64 * L: no more than these words.
        carry += u128::from(t[WORDS]);
        t[WORDS] = carry as u64;
        let factor = t[0].wrapping_mul(INVERSE);
        let mut carry = (u128::from(t[0]) + u128::from(factor) * u128::from(ORDER[0])) >> 64;
        for j in 1..WORDS {
            carry += u128::from(t[j]) + u128::from(factor) * u128::from(ORDER[j]);
            t[j - 1] = carry as u64;
            carry >>= 64;
        }
        carry += u128::from(t[WORDS]);
        t[WORDS - 1] = carry as u64;
        t[WORDS] = 0;
    }
    let result = sub_order([t[0], t[1], t[2], t[3]]);
    t.zeroize();
    result
}

/// `a * b + c` modulo L, for `b` and `c` below L.
pub(crate) fn mul_add(a: &Words, b: &Words, c: &Words) -> Words {
    let a = Zeroizing::new(montgomery(a, &R_SQUARED));
    add(montgomery(&a, b), *c)
}

/// Reads 32 bytes, little-endian.
pub(crate) fn read(bytes: &[u8; BYTES]) -> Words {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(bytes.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    words
}

/// Writes 32 bytes, little-endian.
pub(crate) fn write(words: &Words) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    bytes
}

/// 64 bytes, little-endian, modulo L.
pub(crate) fn reduce(bytes: &[u8; 64]) -> Words {
    let (low, high) = bytes.split_at(BYTES);
    let low = Zeroizing::new(read(low.first_chunk().unwrap()));
    let high = Zeroizing::new(read(high.first_chunk().unwrap()));
    add(montgomery(&low, &R), montgomery(&high, &R_SQUARED))
}

/// Whether public words are below L.
pub(crate) fn is_reduced_vartime(words: &Words) -> bool {
    sub(*words, ORDER).1 != 0
}

/// Whether public words are an even number.
pub(crate) fn is_even_vartime(words: &Words) -> bool {
    words[0] & 1 == 0
}

/// The number if it is odd, else the next one.
pub(crate) fn odd(words: &Words) -> Words {
    [words[0] | 1, words[1], words[2], words[3]]
}

/// Clamped as RFC 7748, section 5, and RFC 8032, section 5.1.5, demand.
pub(crate) fn clamp(bytes: &[u8; BYTES]) -> [u8; BYTES] {
    let mut bytes = *bytes;
    bytes[0] &= 0xf8;
    bytes[BYTES - 1] = bytes[BYTES - 1] & 0x7f | 0x40;
    bytes
}

/// Digits of a [`Recoded`] scalar.
pub(crate) const DIGITS: usize = 64;

/// A scalar as digits of four bits, 16 in a word: digit b stands for 2b - 15, so that none is zero.
pub(crate) type Recoded = Words;

/// Digit number `i`, from the lowest on.
#[inline(always)]
pub(crate) fn digit(recoded: &Recoded, i: usize) -> u64 {
    recoded[i / 16] >> (4 * (i % 16)) & 0xf
}

/// Recodes a scalar below 2^256 - L; what it is modulo L is kept. That suits multiples of the base
/// point, not of points which may have another order.
///
/// Even scalars become odd by adding L.
pub(crate) fn recode(scalar: &Words) -> Zeroizing<Recoded> {
    let even = (scalar[0] & 1).wrapping_sub(1);
    let mut odd = Zeroizing::new(ORDER);
    for word in odd.iter_mut() {
        *word &= even;
    }
    *odd = sum(*odd, *scalar);
    recode_odd(&odd)
}

/// Recodes an odd scalar.
///
/// For an odd number k, the digits of (k + 2^256 - 1) / 2 are those of k: sum over 16^i (2 b_i -
/// 15) = 2 sum b_i 16^i - 2^256 + 1.
pub(crate) fn recode_odd(odd: &Words) -> Zeroizing<Recoded> {
    // Half of 2^256 - 1, without its lowest bit, is 2^255; the number's lowest bit goes.
    let [w0, w1, w2, w3] = *odd;
    Zeroizing::new([w0 >> 1 | w1 << 63, w1 >> 1 | w2 << 63, w2 >> 1 | w3 << 63, w3 >> 1 | 1 << 63])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum that digits stand for, modulo L.
    fn value(digits: &Recoded) -> Words {
        let mut value = [0; WORDS];
        for i in (0..DIGITS).rev() {
            let digit = digit(digits, i);
            for _ in 0..4 {
                value = add(value, value);
            }
            let magnitude = (2 * digit).abs_diff(15);
            let term = [magnitude, 0, 0, 0];
            value = if digit < 8 { add(value, sub(ORDER, term).0) } else { add(value, term) };
        }
        value
    }

    #[test]
    fn recoding_keeps_the_value() {
        let largest = sub([u64::MAX; WORDS], ORDER).0;
        let scalars =
            [[0; WORDS], [1, 0, 0, 0], [2, 0, 0, 0], ORDER, sub(ORDER, [1, 0, 0, 0]).0, largest];
        for scalar in scalars {
            let mut wide = [0; 64];
            wide[..BYTES].copy_from_slice(&write(&scalar));
            assert_eq!(value(&recode(&scalar)), reduce(&wide), "{scalar:x?}");
        }
    }

    #[test]
    fn products_and_sums() {
        let minus_one = sub(ORDER, [1, 0, 0, 0]).0;
        assert_eq!(mul_add(&minus_one, &minus_one, &minus_one), [0; WORDS]);
        assert_eq!(mul_add(&[u64::MAX; WORDS], &[1, 0, 0, 0], &[1, 0, 0, 0]), R);
        // 2^512 - 1, from R^2 modulo L.
        assert_eq!(add(reduce(&[0xff; 64]), [1, 0, 0, 0]), R_SQUARED);
        assert!(is_reduced_vartime(&minus_one) && !is_reduced_vartime(&ORDER));
    }
}
