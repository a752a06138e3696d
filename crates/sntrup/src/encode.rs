//! Encode and Decode: integers below given moduli as bytes, by merging neighbours (round-3 specification, section 4).
//!
//! All moduli of a level but the last one are equal, so a level is two moduli and the whole plan is known at compile time.
//! Decoding divides by multiplication with a reciprocal.

use crate::params::ParameterSet;
use crate::product::{Coefficients, wipe};

/// Merged values stay below this.
const LIMIT: u32 = 1 << 14;
/// Levels of the longest plan: 1277 values take 11 mergers.
const MAX_LEVELS: usize = 11;
/// Values of the longest plan.
const MAX_VALUES: usize = 1277;

/// What `m` becomes, and how many bytes leave, when a value below `m` is shortened below [`LIMIT`].
const fn shorten(mut m: u64) -> (u32, u32) {
    let mut bytes = 0;
    while m >= LIMIT as u64 {
        m = m.div_ceil(256);
        bytes += 1;
    }
    (m as u32, bytes)
}

/// Bytes of `count` encoded integers below `modulus`.
pub(crate) const fn encoded_bytes(count: usize, modulus: u32) -> usize {
    Plan::new(count, modulus).bytes
}

/// Division of integers below 2^30 by a fixed one below 2^14, without a divide instruction.
#[derive(Clone, Copy)]
struct Divisor {
    divisor: u32,
    reciprocal: u64,
    shift: u32,
}

impl Divisor {
    const fn new(divisor: u32) -> Self {
        // With e = reciprocal * divisor - 2^shift <= divisor, x * e < 2^shift makes the quotient exact.
        let shift = 30 + (u32::BITS - divisor.leading_zeros());
        Divisor { divisor, reciprocal: (1 << shift) / divisor as u64 + 1, shift }
    }

    /// Quotient and remainder of `x < 2^30`.
    #[inline(always)]
    const fn divide(&self, x: u32) -> (u32, u32) {
        let quotient = ((x as u64 * self.reciprocal) >> self.shift) as u32;
        (quotient, x - quotient * self.divisor)
    }
}

/// One level: `len` values below `modulus`, the last of them below `last`.
#[derive(Clone, Copy)]
struct Level {
    len: usize,
    modulus: Divisor,
    last: Divisor,
    /// Bytes that a merged pair leaves behind.
    bytes: u32,
    /// The same for the pair with the last value; the last value alone leaves none.
    last_bytes: u32,
}

pub(crate) struct Plan {
    levels: [Level; MAX_LEVELS],
    count: usize,
    /// Modulus of the one value that is left, and its bytes.
    final_modulus: Divisor,
    final_bytes: usize,
    bytes: usize,
}

impl Plan {
    pub(crate) const fn new(count: usize, modulus: u32) -> Self {
        let unused = Level {
            len: 0,
            modulus: Divisor::new(1),
            last: Divisor::new(1),
            bytes: 0,
            last_bytes: 0,
        };
        let mut plan = Plan {
            levels: [unused; MAX_LEVELS],
            count: 0,
            final_modulus: Divisor::new(1),
            final_bytes: 0,
            bytes: 0,
        };
        let (mut len, mut m, mut last) = (count, modulus, modulus);
        while len > 1 {
            let (merged, bytes) = shorten(m as u64 * m as u64);
            let (merged_last, last_bytes) =
                if len % 2 == 0 { shorten(m as u64 * last as u64) } else { (last, 0) };
            plan.levels[plan.count] = Level {
                len,
                modulus: Divisor::new(m),
                last: Divisor::new(last),
                bytes,
                last_bytes,
            };
            plan.bytes += bytes as usize * ((len - 1) / 2) + last_bytes as usize;
            plan.count += 1;
            len = len.div_ceil(2);
            m = merged;
            last = merged_last;
        }
        plan.final_modulus = Divisor::new(last);
        while last > 1 {
            last = last.div_ceil(256);
            plan.final_bytes += 1;
        }
        plan.bytes += plan.final_bytes;
        plan
    }

    #[inline(always)]
    fn levels(&self) -> &[Level] {
        &self.levels[..self.count]
    }

    /// Writes `values`, which it uses up, to `out`.
    #[inline(always)]
    fn encode(&self, values: &mut [u16], out: &mut [u8]) {
        let mut rest = out;
        for level in self.levels() {
            let full = (level.len - 1) / 2;
            let (bytes, tail) = rest.split_at_mut(full * level.bytes as usize);
            rest = tail;
            for i in 0..full {
                let mut r = merge(values, i, level);
                for b in 0..level.bytes as usize {
                    bytes[i * level.bytes as usize + b] = r as u8;
                    r >>= 8;
                }
                values[i] = r as u16;
            }
            if level.len % 2 == 0 {
                let mut r = merge(values, full, level);
                let (bytes, tail) = rest.split_at_mut(level.last_bytes as usize);
                rest = tail;
                for byte in bytes {
                    *byte = r as u8;
                    r >>= 8;
                }
                values[full] = r as u16;
            } else {
                values[full] = values[level.len - 1];
            }
        }
        let mut r = values[0];
        for byte in rest {
            *byte = r as u8;
            r >>= 8;
        }
    }

    /// Reads `values` from `bytes`. Every byte string gives values below the modulus; [`Plan::encode`] gives the same
    /// string back only if it is canonical.
    #[inline(always)]
    fn decode(&self, bytes: &[u8], values: &mut [u16]) {
        let (mut rest, last) = bytes.split_at(self.bytes - self.final_bytes);
        let mut r = 0;
        for &byte in last.iter().rev() {
            r = r << 8 | u32::from(byte);
        }
        values[0] = self.final_modulus.divide(r).1 as u16;
        for level in self.levels().iter().rev() {
            let full = (level.len - 1) / 2;
            if level.len % 2 == 0 {
                let (before, bytes) = rest.split_at(rest.len() - level.last_bytes as usize);
                rest = before;
                split(values, full, bytes, level, &level.last);
            } else {
                values[level.len - 1] = values[full];
            }
            let (before, bytes) = rest.split_at(rest.len() - full * level.bytes as usize);
            rest = before;
            let width = level.bytes as usize;
            for i in (0..full).rev() {
                split(values, i, &bytes[i * width..(i + 1) * width], level, &level.modulus);
            }
        }
    }
}

#[inline(always)]
fn merge(values: &[u16], i: usize, level: &Level) -> u32 {
    u32::from(values[2 * i]) + level.modulus.divisor * u32::from(values[2 * i + 1])
}

#[inline(always)]
fn split(values: &mut [u16], i: usize, bytes: &[u8], level: &Level, second: &Divisor) {
    let mut r = u32::from(values[i]);
    for &byte in bytes.iter().rev() {
        r = r << 8 | u32::from(byte);
    }
    let (quotient, remainder) = level.modulus.divide(r);
    values[2 * i] = remainder as u16;
    values[2 * i + 1] = second.divide(quotient).1 as u16;
}

struct Plans<P>(P);

impl<P: ParameterSet> Plans<P> {
    const RQ: Plan = Plan::new(P::P, P::Q as u32);
    const ROUNDED: Plan = Plan::new(P::P, P::Q as u32 / 3 + 1);
    /// Half of q, rounded down: what makes a centred coefficient an index.
    const OFFSET: i16 = P::Q / 2;
}

/// Encodes an element of R/q with centred coefficients into [`ParameterSet::PUBLIC_KEY_BYTES`] bytes.
pub(crate) fn encode_rq<P: ParameterSet>(a: &Coefficients<P>, out: &mut [u8]) {
    let mut values = [0u16; MAX_VALUES];
    for (value, &x) in values.iter_mut().zip(a.as_slice()) {
        *value = (x + Plans::<P>::OFFSET) as u16;
    }
    const { &Plans::<P>::RQ }.encode(&mut values, out);
    wipe(&mut values);
}

/// Decodes an element of R/q into `a` from [`ParameterSet::PUBLIC_KEY_BYTES`] bytes.
pub(crate) fn decode_rq<P: ParameterSet>(a: &mut Coefficients<P>, bytes: &[u8]) {
    let mut values = [0u16; MAX_VALUES];
    const { &Plans::<P>::RQ }.decode(bytes, &mut values);
    for (x, &value) in a.as_mut_slice().iter_mut().zip(&values) {
        *x = value as i16 - Plans::<P>::OFFSET;
    }
}

/// Encodes a polynomial whose coefficients are multiples of 3 into [`ParameterSet::ROUNDED_BYTES`] bytes.
pub(crate) fn encode_rounded<P: ParameterSet>(a: &Coefficients<P>, out: &mut [u8]) {
    /// 2^15 / 3: exact for multiples of 3 below 2^15.
    const THIRD: u32 = ((1 << 15) + 1) / 3;
    let mut values = [0u16; MAX_VALUES];
    for (value, &x) in values.iter_mut().zip(a.as_slice()) {
        *value = (((x + Plans::<P>::OFFSET) as u32 * THIRD) >> 15) as u16;
    }
    const { &Plans::<P>::ROUNDED }.encode(&mut values, out);
    wipe(&mut values);
}

/// Decodes a Rounded into `a` from [`ParameterSet::ROUNDED_BYTES`] bytes.
pub(crate) fn decode_rounded<P: ParameterSet>(a: &mut Coefficients<P>, bytes: &[u8]) {
    let mut values = [0u16; MAX_VALUES];
    const { &Plans::<P>::ROUNDED }.decode(bytes, &mut values);
    for (x, &value) in a.as_mut_slice().iter_mut().zip(&values) {
        *x = 3 * value as i16 - Plans::<P>::OFFSET;
    }
}

/// Encodes coefficients -1, 0, 1 into [`ParameterSet::SMALL_BYTES`] bytes, four a byte.
pub(crate) fn encode_small<P: ParameterSet>(a: &Coefficients<P>, out: &mut [u8]) {
    for (byte, four) in out.iter_mut().zip(a.as_slice().chunks(4)) {
        *byte = four.iter().rev().fold(0, |bits, &x| bits << 2 | (x + 1) as u8);
    }
}

/// Decodes a Small into `a` from [`ParameterSet::SMALL_BYTES`] bytes.
pub(crate) fn decode_small<P: ParameterSet>(a: &mut Coefficients<P>, bytes: &[u8]) {
    for (four, &byte) in a.as_mut_slice().chunks_mut(4).zip(bytes) {
        for (i, x) in four.iter_mut().enumerate() {
            *x = i16::from(byte >> (2 * i) & 3) - 1;
        }
    }
}

/// Whether `bytes` is what [`encode_small`] gives for some Small. Takes the same time for all contents.
pub(crate) fn is_canonical_small<P: ParameterSet>(bytes: &[u8]) -> bool {
    let Some((&last, whole)) = bytes.split_last() else { return false };
    // 3 is no coefficient, and the last byte holds p mod 4 of them.
    let threes = whole.iter().fold(0, |bad, &byte| bad | (byte & byte >> 1 & 0x55));
    let bits = 2 * (P::P % 4);
    let bad = threes | (last & last >> 1 & 0x55) | (u32::from(last) >> bits) as u8;
    bad == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_is_exact_at_the_edges() {
        for divisor in (1..LIMIT).step_by(7).chain([1541, 4591, 7879, LIMIT - 1]) {
            let fast = Divisor::new(divisor);
            for x in [0, 1, divisor - 1, divisor, divisor + 1, (1 << 30) - 1, (1 << 30) - divisor] {
                assert_eq!(fast.divide(x), (x / divisor, x % divisor), "{x} / {divisor}");
            }
            let last_multiple = ((1 << 30) - 1) / divisor * divisor;
            assert_eq!(fast.divide(last_multiple), (last_multiple / divisor, 0));
            assert_eq!(fast.divide(last_multiple - 1).1, (last_multiple - 1) % divisor);
        }
    }
}
