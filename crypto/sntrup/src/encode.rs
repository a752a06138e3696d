//! Polynomials as bytes: elements of R/q and Rounded by the plans of [`crate::plan`], Small in two
//! bits a coefficient (round-3 specification, section 4).

use lanes::{Hardware, Kernel, Modulus};

use crate::params::ParameterSet;
use crate::plan::{Plan, load, store};
use crate::product::Coefficients;

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
    use crate::plan::{Divisor, LIMIT};

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
