//! Encode and Decode: integers below given moduli as bytes, by merging neighbours (round-3
//! specification, section 4).
//!
//! All moduli of a level but the last one are equal, so a level is two moduli and the whole plan is
//! known at compile time. Decoding divides by multiplication with a reciprocal.

use lanes::{Hardware, Kernel, Modulus};

use crate::erase::wipe;
use crate::params::ParameterSet;
use crate::product::Coefficients;

/// Merged values stay below this.
const LIMIT: u32 = 1 << 14;
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
struct Divisor {
    divisor: u32,
    reciprocal: u32,
    shift: u32,
}

impl Divisor {
    const fn new(divisor: u32) -> Self {
        // With e = reciprocal * divisor - 2^(32 + shift) <= divisor, x * e < 2^(32 + shift) makes
        // the quotient exact.
        let shift = u32::BITS - divisor.leading_zeros() - 2;
        let reciprocal = (1u64 << (32 + shift)) / divisor as u64 + 1;
        Divisor { divisor, reciprocal: reciprocal as u32, shift }
    }

    /// Quotient and remainder of `x < 2^30`.
    #[inline(always)]
    const fn divide(&self, x: u32) -> (u32, u32) {
        let quotient = ((x as u64 * self.reciprocal as u64) >> 32) as u32 >> self.shift;
        (quotient, x - quotient * self.divisor)
    }

    /// Pairs of remainder and quotient of each `x < 2^30`, the latter modulo the divisor if it is
    /// less than two of them.
    #[inline(always)]
    fn split<L: Hardware>(&self, lanes: L, x: L::U32) -> L::I16 {
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
    fn encode<L: Hardware>(&self, lanes: L, values: &mut [i16], out: &mut [u8]) {
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
    fn decode<L: Hardware>(&self, lanes: L, bytes: &[u8], values: &mut [i16]) {
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
fn store<L: Hardware>(lanes: L, a: L::U32, bytes: usize, out: &mut [u8]) {
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
fn load<L: Hardware>(lanes: L, bytes: usize, from: &[u8], first: usize) -> L::U32 {
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

/// The modulus 3, for its inverse modulo 2^16.
const THREE: Modulus = Modulus::new(3);

struct Plans<P>(P);

impl<P: ParameterSet> Plans<P> {
    const RQ: Plan = Plan::new(P::P, P::Q as u32);
    const ROUNDED: Plan = Plan::new(P::P, P::Q as u32 / 3 + 1);
    /// Half of q, rounded down: what makes a centred coefficient an index.
    const OFFSET: i16 = P::Q / 2;
}

/// Encodes an element of R/q with centred coefficients into [`ParameterSet::PUBLIC_KEY_BYTES`]
/// bytes.
pub(crate) struct EncodeRq<'a, P: ParameterSet>(
    pub(crate) &'a Coefficients<P>,
    pub(crate) &'a mut [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for EncodeRq<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut values = Coefficients::<P>::zero();
        let offset = lanes.splat(const { Plans::<P>::OFFSET });
        for i in (0..P::PADDED).step_by(L::WORDS) {
            let x = lanes.load(&self.0.words()[i..]);
            lanes.store(&mut values.words_mut()[i..], lanes.add(x, offset));
        }
        const { &Plans::<P>::RQ }.encode(lanes, values.words_mut(), self.1);
    }
}

/// Decodes an element of R/q from [`ParameterSet::PUBLIC_KEY_BYTES`] bytes.
pub(crate) struct DecodeRq<'a, P: ParameterSet>(
    pub(crate) &'a mut Coefficients<P>,
    pub(crate) &'a [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for DecodeRq<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let values = self.0.words_mut();
        const { &Plans::<P>::RQ }.decode(lanes, self.1, values);
        let offset = lanes.splat(const { Plans::<P>::OFFSET });
        for i in (0..P::PADDED).step_by(L::WORDS) {
            let x = lanes.load(&values[i..]);
            lanes.store(&mut values[i..], lanes.sub(x, offset));
        }
        values[P::P..].fill(0);
    }
}

/// Encodes a polynomial whose coefficients are multiples of 3 into [`ParameterSet::ROUNDED_BYTES`]
/// bytes.
pub(crate) struct EncodeRounded<'a, P: ParameterSet>(
    pub(crate) &'a Coefficients<P>,
    pub(crate) &'a mut [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for EncodeRounded<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut values = Coefficients::<P>::zero();
        let offset = lanes.splat(const { Plans::<P>::OFFSET });
        for i in (0..P::PADDED).step_by(L::WORDS) {
            let x = lanes.add(lanes.load(&self.0.words()[i..]), offset);
            // A multiple of 3 times 1/3 modulo 2^16 is its third.
            lanes.store(&mut values.words_mut()[i..], lanes.prepare(x, THREE));
        }
        const { &Plans::<P>::ROUNDED }.encode(lanes, values.words_mut(), self.1);
    }
}

/// Decodes a Rounded from [`ParameterSet::ROUNDED_BYTES`] bytes.
pub(crate) struct DecodeRounded<'a, P: ParameterSet>(
    pub(crate) &'a mut Coefficients<P>,
    pub(crate) &'a [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for DecodeRounded<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let values = self.0.words_mut();
        const { &Plans::<P>::ROUNDED }.decode(lanes, self.1, values);
        let offset = lanes.splat(const { Plans::<P>::OFFSET });
        for i in (0..P::PADDED).step_by(L::WORDS) {
            let x = lanes.load(&values[i..]);
            let triple = lanes.add(x, lanes.add(x, x));
            lanes.store(&mut values[i..], lanes.sub(triple, offset));
        }
        values[P::P..].fill(0);
    }
}

/// Encodes coefficients -1, 0, 1 into [`ParameterSet::SMALL_BYTES`] bytes, four a byte.
pub(crate) struct EncodeSmall<'a, P: ParameterSet>(
    pub(crate) &'a Coefficients<P>,
    pub(crate) &'a mut [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for EncodeSmall<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut values = Coefficients::<P>::zero();
        let values = values.words_mut();
        let one = lanes.splat(1);
        for i in (0..P::PADDED).step_by(L::WORDS) {
            let x = lanes.load(&self.0.words()[i..]);
            lanes.store(&mut values[i..], lanes.add(x, one));
        }
        // Above p a byte holds nothing.
        values[P::P..P::P.next_multiple_of(4)].fill(0);
        for i in (0..P::P.div_ceil(2)).step_by(L::PAIRS) {
            let two = lanes.merge(lanes.load(&values[2 * i..]), 1 << 2);
            lanes.store_words(&mut values[i..], two);
        }
        for i in (0..P::SMALL_BYTES).step_by(L::PAIRS) {
            let four = lanes.merge(lanes.load(&values[2 * i..]), 1 << 4);
            store(lanes, four, 1, &mut self.1[i..]);
        }
    }
}

/// Decodes a Small from [`ParameterSet::SMALL_BYTES`] bytes.
pub(crate) struct DecodeSmall<'a, P: ParameterSet>(
    pub(crate) &'a mut Coefficients<P>,
    pub(crate) &'a [u8],
);

impl<P: ParameterSet, L: Hardware> Kernel<L> for DecodeSmall<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let values = self.0.words_mut();
        for i in (0..P::SMALL_BYTES).step_by(L::PAIRS) {
            let four = load(lanes, 1, self.1, i);
            lanes.store(&mut values[2 * i..], split_bits(lanes, four, 4));
        }
        let one = lanes.splat(1);
        for block in (0..P::P.div_ceil(L::WORDS)).rev() {
            let i = block * L::PAIRS;
            let two = lanes.load_words(&values[i..]);
            lanes.store(&mut values[2 * i..], lanes.sub(split_bits(lanes, two, 2), one));
        }
        values[P::P..].fill(0);
    }
}

/// Pairs of the `bits` lowest bits of each integer and those above.
#[inline(always)]
fn split_bits<L: Hardware>(lanes: L, a: L::U32, bits: u32) -> L::I16 {
    let low = lanes.and_u32(a, lanes.splat_u32((1 << bits) - 1));
    let high = lanes.shift_left_u32(lanes.shift_right_u32(a, bits), 16);
    lanes.pairs(lanes.or_u32(low, high))
}

/// Whether `bytes` is what [`encode_small`] gives for some Small. Takes the same time for all
/// contents.
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
    use lanes::{Backend, Dispatch};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;

    /// Splits vectors of integers, and merges the pairs again.
    struct SplitAndMerge<'a> {
        divisor: Divisor,
        x: &'a [u32],
    }

    impl<L: Hardware> Kernel<L> for SplitAndMerge<'_> {
        type Output = (Vec<i16>, Vec<u32>);

        #[inline(always)]
        fn run(self, lanes: L) -> Self::Output {
            let (mut pairs, mut merged) = (vec![0; 2 * self.x.len()], vec![0; self.x.len()]);
            for i in (0..self.x.len()).step_by(L::PAIRS) {
                let pair = self.divisor.split(lanes, lanes.load_u32(&self.x[i..]));
                lanes.store(&mut pairs[2 * i..], pair);
                let sum = lanes.merge(pair, self.divisor.divisor as i16);
                lanes.store_u32(&mut merged[i..], sum);
            }
            (pairs, merged)
        }
    }

    impl Dispatch for SplitAndMerge<'_> {
        type Output = (Vec<i16>, Vec<u32>);

        fn on<L: Hardware>(self, lanes: L) -> Self::Output {
            lanes.run(self)
        }
    }

    /// A quotient by multiplication grows with what is divided: it is right for all integers below
    /// `limit` if it is right where quotients change.
    fn check_division(divisor: Divisor, limit: u32) {
        assert!(limit <= 1 << 30 && divisor.divisor >= 2);
        let d = divisor.divisor;
        for x in (0..limit).step_by(d as usize) {
            assert_eq!(divisor.divide(x), (x / d, 0), "{x} / {d}");
            assert_eq!(divisor.divide(x + d - 1), (x / d, d - 1), "{x} / {d}");
        }
    }

    fn check_vectors(divisor: Divisor, limit: u32) {
        let d = divisor.divisor;
        let mut x: Vec<_> = (0..limit).step_by(d as usize).flat_map(|x| [x, x + d - 1]).collect();
        x.resize(x.len().next_multiple_of(16), 0);
        for backend in Backend::available() {
            let (pairs, merged) = backend.run(SplitAndMerge { divisor, x: &x });
            for ((&x, pair), merged) in x.iter().zip(pairs.chunks(2)).zip(merged) {
                let quotient = if x < d * d { x / d } else { x / d - d };
                assert_eq!(pair, [(x % d) as i16, quotient as i16], "{x} / {d}");
                assert_eq!(merged, x % d + d * quotient, "{x} / {d}");
            }
        }
    }

    fn check_plan(plan: &Plan) {
        let mut above = plan.final_modulus;
        check_division(above, 1 << (8 * plan.final_bytes));
        for index in (0..plan.count).rev() {
            let level = &plan.levels[index];
            let (m, last) = (level.modulus.divisor, level.last.divisor);
            if level.len > 2 {
                // The range of a merged pair, for any bytes.
                let merged = plan.levels[index + 1].modulus.divisor;
                let limit = merged << (8 * level.bytes);
                assert!(m * m <= limit && limit <= 2 * m * m);
                check_division(level.modulus, limit);
                check_vectors(level.modulus, limit);
            }
            if level.len.is_multiple_of(2) {
                let limit = above.divisor << (8 * level.last_bytes);
                assert!(m * last <= limit);
                check_division(level.modulus, limit);
                check_division(level.last, limit.div_ceil(m));
            } else {
                assert_eq!(above.divisor, last);
            }
            assert!(m < LIMIT && last < LIMIT);
            above = level.last;
        }
    }

    struct DivisionIsExact;

    impl Claim for DivisionIsExact {
        fn check<P: ParameterSet>(&self) {
            check_plan(&Plans::<P>::RQ);
            check_plan(&Plans::<P>::ROUNDED);
        }
    }

    #[test]
    fn division_is_exact_in_every_level_of_every_plan() {
        for_every_set(&DivisionIsExact);
    }

    #[test]
    fn division_is_exact_for_every_divisor() {
        for divisor in 2..LIMIT {
            let fast = Divisor::new(divisor);
            // The excess of the reciprocal.
            let power = 1u128 << (32 + fast.shift);
            let excess = u128::from(fast.reciprocal) * u128::from(divisor) - power;
            assert!((1..=u128::from(divisor)).contains(&excess), "{divisor}");
            assert!(((1 << 30) - 1) * excess < power, "{divisor}");
            for x in [0, 1, divisor - 1, divisor, divisor + 1, (1 << 30) - 1, (1 << 30) - divisor] {
                assert_eq!(fast.divide(x), (x / divisor, x % divisor), "{x} / {divisor}");
            }
        }
    }
}
