//! Small and Short polynomials from random integers.

use super::{Parameters, weight};

/// n random 32-bit integers from one call of `random` for 4n bytes, little-endian.
pub fn u32s_random(n: usize, random: &mut dyn FnMut(&mut [u8])) -> Vec<u32> {
    let mut bytes = vec![0; 4 * n];
    random(&mut bytes);
    let word = |four: &[u8]| u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    bytes.chunks_exact(4).map(word).collect()
}

/// A coefficient -1, 0 or 1 from the low 30 bits of a random integer: the integer part of three
/// times the fraction they are of 2^30, minus 1.
pub fn small_from_u32(u: u32) -> i32 {
    let fraction = u64::from(u % (1 << 30));
    (3 * fraction / (1 << 30)) as i32 - 1
}

/// Small_random: p coefficients by [`small_from_u32`], from one call of `random` for 4p bytes.
pub fn small_random(params: &Parameters, random: &mut dyn FnMut(&mut [u8])) -> Vec<i32> {
    u32s_random(params.p, random).into_iter().map(small_from_u32).collect()
}

/// A Short polynomial from p random integers.
///
/// The two lowest bits become 0 or 2 for the first w integers (the lowest bit is cleared) and 1
/// for the others (the second lowest is cleared, the lowest is set); then the integers are sorted
/// as unsigned numbers, and the two lowest bits minus 1 are the coefficients.
///
/// # Panics
///
/// If there are not p integers.
pub fn short_from_u32s(params: &Parameters, integers: &[u32]) -> Vec<i32> {
    assert_eq!(integers.len(), params.p, "integers for a Short polynomial of {}", params.name);
    let (nonzero, zero) = integers.split_at(params.w);
    let mut list: Vec<u32> = nonzero.iter().map(|u| u & !1).collect();
    list.extend(zero.iter().map(|u| u & !3 | 1));
    list.sort();
    list.iter().map(|u| (u % 4) as i32 - 1).collect()
}

/// Short_random: [`short_from_u32s`] on one call of `random` for 4p bytes.
pub fn short_random(params: &Parameters, random: &mut dyn FnMut(&mut [u8])) -> Vec<i32> {
    short_from_u32s(params, &u32s_random(params.p, random))
}

/// Whether these are p coefficients, all of them -1, 0 or 1.
pub fn is_small(params: &Parameters, a: &[i32]) -> bool {
    a.len() == params.p && a.iter().all(|c| (-1..=1).contains(c))
}

/// Whether this is a Small polynomial of weight w.
pub fn is_short(params: &Parameters, a: &[i32]) -> bool {
    is_small(params, a) && weight(a) == params.w
}
