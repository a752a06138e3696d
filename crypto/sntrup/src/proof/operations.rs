//! The modular operations of every backend against the integers: functions of one word on every
//! word, of two on every word times every constant of the multiplier, and on a grid.

use core::marker::PhantomData;

use lanes::{Backend, Dispatch, Hardware, Kernel, Lanes, Portable};

use super::definition::Definition;
use super::ranges::Ranges;
use crate::encode::{DecodeRounded, DecodeRq, EncodeRounded, EncodeRq};
use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;
use crate::product::Coefficients;
use crate::r3::Reduce;
use crate::rq::{Round, TripleToSmall};

/// Every word.
fn every_word() -> Vec<i16> {
    (i16::MIN..=i16::MAX).collect()
}

/// Words at which something could change: around zero, powers of two and multiples of q / 2. A
/// multiple of 32 of them.
fn edges(q: i16) -> Vec<i16> {
    let mut words = Vec::new();
    for bit in 0..15 {
        words.extend([(1 << bit) - 1, 1 << bit, -(1 << bit), -(1 << bit) - 1]);
    }
    words.extend([i16::MIN, i16::MIN + 1, i16::MAX, i16::MAX - 1]);
    for multiple in 1..=8 {
        let half = multiple * i32::from(q) / 2;
        for x in [half - 1, half, half + 1, -half - 1, -half, -half + 1] {
            words.extend(i16::try_from(x));
        }
    }
    words.sort_unstable();
    words.dedup();
    words.resize(words.len().next_multiple_of(32), 0);
    words
}

/// Applies an operation to vectors of words: `a[i]`, and `b[i]` where it takes two.
struct Apply<'a, P> {
    operation: Operation,
    a: &'a [i16],
    b: &'a [i16],
    parameter_set: PhantomData<P>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Barrett,
    Freeze,
    Freeze3,
    Prepare,
    Nonzero,
    Positive,
    Negative,
    /// Of the word prepared.
    NoMultiple,
    Montgomery,
    /// Of the accumulator `2^16 a + b`.
    Reduce,
}

impl<P: ParameterSet, L: Lanes<Word = i16>> Kernel<L> for Apply<'_, P> {
    type Output = Vec<i16>;

    #[inline(always)]
    fn run(self, lanes: L) -> Vec<i16> {
        let q = P::MODULUS;
        let mut out = vec![0; self.a.len()];
        for at in (0..self.a.len()).step_by(L::WORDS) {
            let a = lanes.load(&self.a[at..]);
            let b = lanes.load(&self.b[at..]);
            let c = match self.operation {
                Operation::Barrett => lanes.barrett(a, q),
                Operation::Freeze => lanes.freeze(a, q),
                Operation::Freeze3 => lanes.freeze3(a),
                Operation::Prepare => lanes.prepare(a, q),
                Operation::Nonzero => lanes.nonzero(a),
                Operation::Positive => lanes.positive(a),
                Operation::Negative => lanes.negative(a),
                Operation::NoMultiple => lanes.no_multiple(lanes.prepare(a, q)),
                Operation::Montgomery => lanes.montgomery(a, b, lanes.prepare(b, q), q),
                Operation::Reduce => {
                    let sums = [sum(lanes, a, b, 0), sum(lanes, a, b, 1)];
                    lanes.reduce(sums[0], sums[1], q)
                }
            };
            lanes.store(&mut out[at..], c);
        }
        out
    }
}

/// Accumulators of `2^16 a + b`, from the word `half` of each pair.
#[inline(always)]
fn sum<L: Lanes<Word = i16>>(lanes: L, a: L::I16, b: L::I16, half: usize) -> L::I32 {
    let [large, one] = if half == 0 { [[1 << 14, 0], [1, 0]] } else { [[0, 1 << 14], [0, 1]] };
    let large = lanes.broadcast_pair(&large);
    let mut sum = lanes.dot(lanes.zero(), b, lanes.broadcast_pair(&one));
    let mut times = 0;
    while times < 4 {
        sum = lanes.dot(sum, a, large);
        times += 1;
    }
    sum
}

/// Runs [`Apply`] on a backend.
impl<P: ParameterSet> Dispatch for Apply<'_, P> {
    type Output = Vec<i16>;

    fn on<L: Hardware>(self, lanes: L) -> Vec<i16> {
        lanes.run(self)
    }
}

fn apply<P: ParameterSet>(
    backend: Backend,
    operation: Operation,
    a: &[i16],
    b: &[i16],
) -> Vec<i16> {
    backend.run(Apply::<P> { operation, a, b, parameter_set: PhantomData })
}

/// The remainder in `-(q-1)/2 ..= (q-1)/2`, for an odd q.
fn centred(x: i16, q: i16) -> i16 {
    let (x, q) = (i32::from(x), i32::from(q));
    ((x + q / 2).rem_euclid(q) - q / 2) as i16
}

struct OneWord;

impl Claim for OneWord {
    fn check<P: ParameterSet>(&self) {
        let words = every_word();
        for backend in Backend::available() {
            let of_every_word = |operation| {
                let results = apply::<P>(backend, operation, &words, &words);
                words.iter().copied().zip(results).collect::<Vec<_>>()
            };
            let name = backend.name();
            let mut largest = 0;
            for (a, b) in of_every_word(Operation::Barrett) {
                assert_eq!(centred(a, P::Q), centred(b, P::Q), "{name} {a}");
                // Intervals take portable lanes for all.
                assert_eq!(b, Portable.barrett([a; Portable::WORDS], P::MODULUS)[0], "{name} {a}");
                largest = largest.max(b.abs());
            }
            assert_eq!(largest, P::MODULUS.barrett_bound(1 << 15), "{name}");
            for (a, b) in of_every_word(Operation::Freeze) {
                assert_eq!(b, centred(a, P::Q), "{name} {a}");
            }
            for (a, b) in of_every_word(Operation::Freeze3) {
                let small = a.unsigned_abs() < 1 << 14;
                assert!(!small || b == centred(a, 3), "{name} {a}");
            }
            for (a, b) in of_every_word(Operation::Prepare) {
                assert_eq!(b.wrapping_mul(P::Q), a, "{name} {a}");
            }
            for (a, b) in of_every_word(Operation::Nonzero) {
                assert_eq!(b, -i16::from(a != 0), "{name} {a}");
            }
            for (a, b) in of_every_word(Operation::Positive) {
                assert_eq!(b, -i16::from(a > 0), "{name} {a}");
            }
            for (a, b) in of_every_word(Operation::Negative) {
                assert_eq!(b, -i16::from(a < 0), "{name} {a}");
            }
            let mut small: Vec<_> = (1 - 2 * P::Q..2 * P::Q).collect();
            small.resize(small.len().next_multiple_of(32), 0);
            let results = apply::<P>(backend, Operation::NoMultiple, &small, &small);
            for (a, b) in small.iter().zip(results) {
                assert_eq!(b, -i16::from(a % P::Q != 0), "{name} {a}");
            }
        }
    }
}

#[test]
fn operations_on_one_word_are_exact() {
    for_every_set(&OneWord);
}

/// Whether `c` is `x / 2^16` modulo q, and no larger than promised.
fn is_quotient<P: ParameterSet>(c: i16, x: i32) -> bool {
    let q = i64::from(P::Q);
    let bound = (i64::from(x).abs() >> 16) + q / 2 + 1;
    ((i64::from(c) << 16) - i64::from(x)) % q == 0 && i64::from(c).abs() <= bound
}

struct Montgomery;

impl Claim for Montgomery {
    fn check<P: ParameterSet>(&self) {
        let words = every_word();
        let edges = edges(P::Q);
        // Constant factors of the multiplier and the inversion: every c of x^m - c, which are a
        // power of g times a sixth root of unity each, and 2^16, all times 2^16.
        let roots = Definition::<P>::roots();
        let constants = roots.as_flattened().iter().map(|root| root << 16).chain([1 << 32]);
        let constants: Vec<_> = constants.map(Definition::<P>::centred).collect();
        for backend in Backend::available() {
            let check = |a: &[i16], b: i16| {
                let products = apply::<P>(backend, Operation::Montgomery, a, &vec![b; a.len()]);
                for (&a, c) in a.iter().zip(products) {
                    let exact = is_quotient::<P>(c, i32::from(a) * i32::from(b));
                    assert!(exact, "{} {a} {b}: {c}", backend.name());
                }
            };
            for &b in constants.iter().chain(&edges) {
                check(&words, b);
            }
        }
    }
}

#[test]
fn montgomery_products_are_exact() {
    for_every_set(&Montgomery);
}

struct Reduction;

impl Claim for Reduction {
    fn check<P: ParameterSet>(&self) {
        // Results fit in a word up to here.
        let most = i16::MAX - P::Q / 2 - 2;
        let high: Vec<_> = (-most..=most).collect();
        let high_edges: Vec<_> =
            edges(P::Q).into_iter().filter(|x| x.abs_diff(0) <= most as u16).collect();
        for backend in Backend::available() {
            let check = |high: &[i16], low: &[i16]| {
                let length = high.len().max(low.len()).next_multiple_of(32);
                let repeat =
                    |words: &[i16]| words.iter().copied().cycle().take(length).collect::<Vec<_>>();
                let (high, low) = (repeat(high), repeat(low));
                let results = apply::<P>(backend, Operation::Reduce, &high, &low);
                for ((&high, &low), c) in high.iter().zip(&low).zip(results) {
                    let exact = is_quotient::<P>(c, (i32::from(high) << 16) + i32::from(low));
                    assert!(exact, "{} {high} {low}: {c}", backend.name());
                }
            };
            for low in edges(P::Q) {
                check(&high, &[low]);
            }
            let words = every_word();
            for &high in &high_edges {
                check(&[high], &words);
            }
        }
    }
}

#[test]
fn reductions_of_accumulators_are_exact() {
    for_every_set(&Reduction);
}

/// Kernels that take a coefficient to a coefficient, on every coefficient.
struct OneCoefficient<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for OneCoefficient<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let half = Ranges::<P>::COEFFICIENT;
        let all: Vec<_> = (-half..=half).collect();
        for some in all.chunks(P::P) {
            let mut coefficients = Coefficients::<P>::zero();
            coefficients.as_mut_slice()[..some.len()].copy_from_slice(some);
            let check = |result: &Coefficients<P>, expected: &dyn Fn(i16) -> i16| {
                for (&x, &y) in coefficients.words().iter().zip(result.words()) {
                    assert_eq!(y, expected(x), "{} {x}", P::NAME);
                }
            };
            let mut result = coefficients.clone();
            lanes.run(Round::<P, L>(&mut result));
            check(&result, &|x| 3 * (i32::from(x) as f64 / 3.0).round() as i16);
            assert!(result.words().iter().all(|x| x.abs() <= half));
            result.clone_from(&coefficients);
            lanes.run(TripleToSmall::<P, L>(&mut result));
            check(&result, &|x| centred(centred(3 * x, P::Q), 3));
            result.clone_from(&coefficients);
            lanes.run(Reduce::<P, L>(&mut result));
            check(&result, &|x| centred(x, 3));

            let mut bytes = vec![0; P::PUBLIC_KEY_BYTES];
            lanes.run(EncodeRq(&coefficients, &mut bytes));
            lanes.run(DecodeRq(&mut result, &bytes));
            check(&result, &|x| x);
            let mut rounded = coefficients.clone();
            lanes.run(Round::<P, L>(&mut rounded));
            lanes.run(EncodeRounded(&rounded, &mut bytes[..P::ROUNDED_BYTES]));
            lanes.run(DecodeRounded(&mut result, &bytes[..P::ROUNDED_BYTES]));
            assert!(result.words() == rounded.words(), "{}", P::NAME);
        }
    }
}

/// Bytes from anyone decode to coefficients that the multiplier takes.
struct HostileBytes<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for HostileBytes<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let mut state = 1u64;
        let mut bytes = vec![0; P::PUBLIC_KEY_BYTES];
        for round in 0..64 {
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let random = (state >> 56) as u8;
                *byte = match round % 4 {
                    0 => random,
                    1 => 0xff,
                    2 => random | 0xf0,
                    _ => 0xff * (random & 1),
                };
            }
            let mut a = Coefficients::<P>::zero();
            let in_range = |a: &Coefficients<P>| {
                a.words()[P::P..].iter().all(|&x| x == 0)
                    && a.words().iter().all(|x| x.abs() <= Ranges::<P>::COEFFICIENT)
            };
            lanes.run(DecodeRq(&mut a, &bytes));
            assert!(in_range(&a), "{}", P::NAME);
            lanes.run(DecodeRounded(&mut a, &bytes[..P::ROUNDED_BYTES]));
            assert!(in_range(&a), "{}", P::NAME);
        }
    }
}

struct Coefficientwise;

impl Claim for Coefficientwise {
    fn check<P: ParameterSet>(&self) {
        for backend in Backend::available() {
            backend.run(OneCoefficient::<P>(PhantomData));
            backend.run(HostileBytes::<P>(PhantomData));
        }
    }
}

#[test]
fn every_coefficient_is_rounded_and_reduced_as_defined() {
    for_every_set(&Coefficientwise);
}
