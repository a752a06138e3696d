//! No word and no accumulator leaves its range, whatever the inputs.

use lanes::proof::{Interval, Intervals, Violation, examine, prove};
use lanes::{Kernel, Lanes};

use super::{InverseNtt, Ntt, SumOfProducts};
use crate::params::{MAX_K, Q};
use crate::poly::{Poly, add, canonical, reduce, subtract_from};
use crate::product::Scale;

/// Coefficients sampled from the centred binomial distribution: eta is at most 3.
const NOISE: Interval = Interval::within(3);
/// Coefficients of the matrix, of t, and decompressed ones.
const CANONICAL: Interval = Interval::of(0..=Q - 1);
/// Coefficients of s in a key that was read from bytes: any 12 bits.
const DECODED: Interval = Interval::of(0..=(1 << 12) - 1);
/// A decompressed bit of the message.
const MESSAGE: Interval = Interval::of(0..=(Q + 1) / 2);

fn filled(interval: Interval) -> Poly<Interval> {
    Poly([interval; 256])
}

/// The sum or difference of polynomials, as the operations have it, and the reduction of the
/// result.
struct Finish<'a> {
    a: &'a mut Poly<Interval>,
    reduced_before: bool,
    added: &'a [Poly<Interval>],
    subtracted_from: Option<&'a Poly<Interval>>,
}

fn finish<'a>(
    a: &'a mut Poly<Interval>,
    added: &'a [Poly<Interval>],
    reduced_before: bool,
) -> Finish<'a> {
    Finish { a, reduced_before, added, subtracted_from: None }
}

impl<const PAIRS: usize> Kernel<Intervals<PAIRS>> for Finish<'_> {
    type Output = ();

    fn run(self, lanes: Intervals<PAIRS>) {
        if self.reduced_before {
            reduce(lanes, self.a);
        }
        for b in self.added {
            add(lanes, self.a, b);
        }
        if let Some(b) = self.subtracted_from {
            subtract_from(lanes, self.a, b);
        }
        for i in (0..256).step_by(Intervals::<PAIRS>::WORDS) {
            canonical(lanes, lanes.load(&self.a.0[i..]));
        }
    }
}

/// The transform of a polynomial.
fn transformed<const PAIRS: usize>(of: Interval) -> Poly<Interval> {
    let mut poly = filled(of);
    prove(|| Intervals::<PAIRS>::default().run(Ntt(&mut poly)));
    poly
}

/// The sum of the products of as many polynomials as a vector can have.
fn row<const PAIRS: usize>(a: Interval, b: Interval, scale: Scale) -> Poly<Interval> {
    let mut to = filled(Interval::of(0..=0));
    let (a, b) = ([filled(a); MAX_K], [transformed::<PAIRS>(b); MAX_K]);
    let kernel = SumOfProducts { a: &a, b: &b, scale, to: &mut to };
    prove(|| Intervals::<PAIRS>::default().run(kernel));
    to
}

/// The operations' arithmetic, from what is sampled and decoded to what is encoded.
fn check<const PAIRS: usize>() {
    let lanes = Intervals::<PAIRS>::default();
    // Key generation: A s + e, all transformed.
    let mut t = row::<PAIRS>(CANONICAL, NOISE, Scale::One);
    let added = &[transformed::<PAIRS>(NOISE)];
    prove(|| lanes.run(finish(&mut t, added, false)));
    // Encryption: the inverse of A r, and noise; of t r, noise and the message.
    let mut u = row::<PAIRS>(CANONICAL, NOISE, Scale::ForInverse);
    prove(|| lanes.run(InverseNtt(&mut u)));
    let mut v = u;
    prove(|| lanes.run(finish(&mut u, &[filled(NOISE)], false)));
    let (of_v, mut unreduced) = ([filled(NOISE), filled(MESSAGE)], v);
    prove(|| lanes.run(finish(&mut v, &of_v, true)));
    let (_, violations) = examine(|| lanes.run(finish(&mut unreduced, &of_v, false)));
    assert!(!violations.is_empty(), "the reduction is not needed");
    // Decryption: v less the inverse of s u.
    let mut w = row::<PAIRS>(DECODED, CANONICAL, Scale::ForInverse);
    prove(|| lanes.run(InverseNtt(&mut w)));
    let subtracted_from = Some(&filled(CANONICAL));
    let a = &mut w;
    prove(|| lanes.run(Finish { a, reduced_before: true, added: &[], subtracted_from }));
}

#[test]
fn nothing_overflows_in_any_operation() {
    check::<4>();
    check::<8>();
    check::<16>();
}

/// The violations in the inverse transform of words of absolute value at most `bound`.
fn inverse_violations<const PAIRS: usize>(bound: i16) -> Vec<Violation> {
    let mut poly = filled(Interval::within(bound));
    examine(|| Intervals::<PAIRS>::default().run(InverseNtt(&mut poly))).1
}

#[test]
fn larger_inputs_are_found() {
    for (bound, fits) in [(3071, true), (3072, false)] {
        assert_eq!(inverse_violations::<4>(bound).is_empty(), fits);
        assert_eq!(inverse_violations::<8>(bound).is_empty(), fits);
        assert_eq!(inverse_violations::<16>(bound).is_empty(), fits);
    }
}
