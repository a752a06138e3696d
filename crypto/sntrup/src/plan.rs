//! Encode and Decode of integers below given moduli, by merging neighbours (round-3 specification,
//! section 4).
//!
//! All moduli of a level but the last one are equal, so a level is two moduli and the whole plan is
//! known at compile time. Decoding divides by multiplication with a reciprocal.

use kem_common::wipe;
use lanes::Hardware;

/// Merged values stay below this.
pub(crate) const LIMIT: u32 = 1 << 14;
/// Levels of the longest plan: 1277 values take 11 mergers.
const MAX_LEVELS: usize = 11;

/// Shortens a value below `m` to one below [`LIMIT`]: the new modulus, and the number of low bytes
/// that are written out.
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

/// Division of integers below 2^30 by a fixed one in 2 .. 2^14, without a divide instruction.
#[derive(Clone, Copy)]
pub(crate) struct Divisor {
    pub(crate) divisor: u32,
    pub(crate) reciprocal: u32,
    pub(crate) shift: u32,
}

impl Divisor {
    pub(crate) const fn new(divisor: u32) -> Self {
        // With e = reciprocal * divisor - 2^(32 + shift) <= divisor, x * e < 2^(32 + shift) makes
        // the quotient exact.
        let shift = u32::BITS - divisor.leading_zeros() - 2;
        let reciprocal = (1u64 << (32 + shift)) / divisor as u64 + 1;
        Divisor { divisor, reciprocal: reciprocal as u32, shift }
    }

    /// Quotient and remainder of `x < 2^30`.
    #[inline(always)]
    pub(crate) const fn divide(&self, x: u32) -> (u32, u32) {
        let quotient = ((x as u64 * self.reciprocal as u64) >> 32) as u32 >> self.shift;
        (quotient, x - quotient * self.divisor)
    }

    /// Pairs of remainder and quotient of each `x < 2^30`, the latter modulo the divisor if it is
    /// less than two of them.
    #[inline(always)]
    pub(crate) fn split<L: Hardware>(&self, lanes: L, x: L::U32) -> L::I16 {
        let divisor = lanes.splat_u32(self.divisor);
        let quotient = lanes.mul_high_u32(x, lanes.splat_u32(self.reciprocal));
        let quotient = lanes.shift_right_u32(quotient, self.shift);
        let remainder = lanes.sub_u32(x, lanes.mul_u32(quotient, divisor));
        // Bytes that are not canonical make a quotient of less than two moduli.
        let quotient = lanes.min_u32(quotient, lanes.sub_u32(quotient, divisor));
        lanes.pairs(lanes.or_u32(remainder, lanes.shift_left_u32(quotient, 16)))
    }
}

/// One level: `len` values below `modulus`, the last of them below `last`.
#[derive(Clone, Copy)]
pub(crate) struct Level {
    pub(crate) len: usize,
    pub(crate) modulus: Divisor,
    pub(crate) last: Divisor,
    /// Bytes that a merged pair leaves behind.
    pub(crate) bytes: u32,
    /// The same for the pair with the last value; the last value alone leaves none.
    pub(crate) last_bytes: u32,
}

pub(crate) struct Plan {
    pub(crate) levels: [Level; MAX_LEVELS],
    pub(crate) count: usize,
    /// Modulus of the one value that is left, and its bytes.
    pub(crate) final_modulus: Divisor,
    pub(crate) final_bytes: usize,
    bytes: usize,
}

impl Plan {
    pub(crate) const fn new(count: usize, modulus: u32) -> Self {
        let unused = Level {
            len: 0,
            modulus: Divisor::new(2),
            last: Divisor::new(2),
            bytes: 0,
            last_bytes: 0,
        };
        let mut plan = Plan {
            levels: [unused; MAX_LEVELS],
            count: 0,
            final_modulus: Divisor::new(2),
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

    /// Writes `values`, which it uses up, to `out`. There must be room for whole vectors of values.
    #[inline(always)]
    pub(crate) fn encode<L: Hardware>(&self, lanes: L, values: &mut [i16], out: &mut [u8]) {
        let mut at = 0;
        for level in self.levels() {
            let full = (level.len - 1) / 2;
            // Whole vectors would overwrite these.
            let (first, second) = (values[2 * full], values[2 * full + 1]);
            for i in (0..full).step_by(L::PAIRS) {
                let merged =
                    lanes.merge(lanes.load(&values[2 * i..]), level.modulus.divisor as i16);
                let bytes = level.bytes as usize;
                store(lanes, merged, bytes, &mut out[at + i * bytes..]);
                lanes.store_words(&mut values[i..], lanes.shift_right_u32(merged, 8 * level.bytes));
            }
            at += full * level.bytes as usize;
            if level.len.is_multiple_of(2) {
                let mut r = first as u32 + level.modulus.divisor * second as u32;
                for _ in 0..level.last_bytes {
                    out[at] = r as u8;
                    at += 1;
                    r >>= 8;
                }
                values[full] = r as i16;
            } else {
                values[full] = first;
            }
        }
        let mut r = values[0];
        for byte in &mut out[at..] {
            *byte = r as u8;
            r >>= 8;
        }
    }

    /// Reads `values`, with room as for [`Plan::encode`], from `bytes`. Every byte string gives
    /// values below the modulus; [`Plan::encode`] gives the same string back only if it is
    /// canonical.
    #[inline(always)]
    pub(crate) fn decode<L: Hardware>(&self, lanes: L, bytes: &[u8], values: &mut [i16]) {
        let mut at = self.bytes - self.final_bytes;
        let mut r = 0;
        for i in (0..self.final_bytes).rev() {
            r = r << 8 | u32::from(bytes[at + i]);
        }
        values[0] = self.final_modulus.divide(r).1 as i16;
        for index in (0..self.count).rev() {
            let level = &self.levels[index];
            let full = (level.len - 1) / 2;
            let mut last = u32::from(values[full] as u16);
            if level.len.is_multiple_of(2) {
                at -= level.last_bytes as usize;
                for i in (0..level.last_bytes as usize).rev() {
                    last = last << 8 | u32::from(bytes[at + i]);
                }
            }
            at -= full * level.bytes as usize;

            let modulus = level.modulus;
            for block in (0..full.div_ceil(L::PAIRS)).rev() {
                let i = block * L::PAIRS;
                let high = lanes.load_words(&values[i..]);
                let low = load(lanes, level.bytes as usize, &bytes[at..], i);
                let r = lanes.or_u32(lanes.shift_left_u32(high, 8 * level.bytes), low);
                lanes.store(&mut values[2 * i..], modulus.split(lanes, r));
            }
            if level.len.is_multiple_of(2) {
                let (quotient, remainder) = level.modulus.divide(last);
                values[2 * full] = remainder as i16;
                values[2 * full + 1] = level.last.divide(quotient).1 as i16;
            } else {
                values[2 * full] = last as i16;
            }
        }
    }
}

/// Writes the `bytes` (0, 1 or 2) low bytes of each integer to `out`, as far as it goes.
#[inline(always)]
pub(crate) fn store<L: Hardware>(lanes: L, a: L::U32, bytes: usize, out: &mut [u8]) {
    /// Bytes of the longest vector.
    const MOST: usize = 32;
    let room = bytes * L::PAIRS;
    if room == 0 {
    } else if out.len() >= room {
        store_whole(lanes, a, bytes, out);
    } else {
        let mut whole = [0; MOST];
        store_whole(lanes, a, bytes, &mut whole);
        let length = out.len();
        out.copy_from_slice(&whole[..length]);
        wipe(&mut whole);
    }
}

#[inline(always)]
fn store_whole<L: Hardware>(lanes: L, a: L::U32, bytes: usize, out: &mut [u8]) {
    if bytes == 1 {
        lanes.store_bytes(out, a);
    } else {
        lanes.store_two_bytes(out, a);
    }
}

/// Integers of `bytes` (0, 1 or 2) bytes, from the `first`-th on; any where `from` ends before.
#[inline(always)]
pub(crate) fn load<L: Hardware>(lanes: L, bytes: usize, from: &[u8], first: usize) -> L::U32 {
    const MOST: usize = 32;
    let (start, room) = (bytes * first, bytes * L::PAIRS);
    if room == 0 {
        lanes.splat_u32(0)
    } else if from.len() >= start + room {
        load_whole(lanes, bytes, &from[start..])
    } else {
        let mut whole = [0; MOST];
        let rest = &from[start..];
        whole[..rest.len()].copy_from_slice(rest);
        load_whole(lanes, bytes, &whole)
    }
}

#[inline(always)]
fn load_whole<L: Hardware>(lanes: L, bytes: usize, from: &[u8]) -> L::U32 {
    if bytes == 1 { lanes.load_bytes(from) } else { lanes.load_two_bytes(from) }
}
