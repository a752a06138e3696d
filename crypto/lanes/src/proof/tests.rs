//! The proof lanes against lanes that run on hardware: the same operations on the same numbers.

use super::*;
use crate::{Backend, Dispatch, Hardware, Portable};

/// Moduli that reductions treat differently: rounded up or down, and the largest.
const MODULI: [i16; 4] = [4591, 7177, 7879, 8191];

fn next(state: &mut u64, bound: i16) -> i16 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let bound = i64::from(bound);
    ((*state >> 33) as i64 % (2 * bound + 1) - bound) as i16
}

/// Runs every operation on vectors from `memory`, and returns what they store.
struct EveryOperation<'a, W> {
    memory: &'a [W],
    constants: &'a [i16],
    q: Modulus,
}

/// Vectors that [`EveryOperation`] reads.
const VECTORS: usize = 4;

impl<L: Lanes> Kernel<L> for EveryOperation<'_, L::Word> {
    type Output = Vec<L::Word>;

    #[inline(always)]
    fn run(self, lanes: L) -> Self::Output {
        let EveryOperation { memory, constants, q } = self;
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| i * L::WORDS);
        let [a, b, c, d] = [
            lanes.load(&memory[a..]),
            lanes.load(&memory[b..]),
            lanes.load(&memory[c..]),
            lanes.load(&memory[d..]),
        ];
        let constant = lanes.constants(constants);
        let mask = lanes.and(lanes.nonzero(a), lanes.positive(b));
        let sums = [
            lanes.dot(lanes.zero(), a, b),
            lanes.dot_broadcast(lanes.dot(lanes.zero(), c, d), a, &memory[3..]),
        ];
        let words = [
            lanes.load(&memory[1..]),
            constant,
            lanes.splat(constants[1]),
            lanes.broadcast(&memory[2..]),
            lanes.broadcast_pair(&memory[1..]),
            lanes.add(a, b),
            lanes.sub(a, b),
            lanes.nonzero(a),
            lanes.positive(a),
            lanes.negative(a),
            lanes.no_multiple(lanes.prepare(lanes.barrett(a, q), q)),
            lanes.and(c, mask),
            lanes.first(b),
            lanes.advance(a, b),
            lanes.select(mask, c, d),
            lanes.montgomery(a, constant, lanes.prepare(constant, q), q),
            lanes.montgomery(c, d, lanes.prepare(d, q), q),
            lanes.prepare(a, q),
            lanes.barrett(lanes.add(a, b), q),
            lanes.freeze(lanes.add(a, b), q),
            lanes.freeze3(a),
            lanes.reduce(sums[0], sums[1], q),
            lanes.swap(a),
            lanes.straddle(a, b),
        ];
        let distances = (1..).map(|i| 1 << i).take_while(|&distance| distance < L::WORDS);
        let exchanged = distances
            .map(|distance| lanes.exchange(a, b, distance))
            .chain([lanes.split_pairs(a, b), lanes.join_pairs(c, d)]);
        let words: Vec<_> = words.into_iter().chain(exchanged.flatten()).collect();
        let mut out = vec![L::Word::default(); (words.len() + 3) * L::WORDS];
        let mut start = 0;
        for word in words {
            lanes.store(&mut out[start..], word);
            start += L::WORDS;
        }
        lanes.store_interleaved(&mut out[start..], a, b);
        start += 2 * L::WORDS;
        let (first, second) = out[start..].split_at_mut(L::PAIRS);
        lanes.store_split(first, second, c);

        // Rows further apart than they are long.
        let stride = L::WORDS + 6;
        let mut to = vec![L::Word::default(); L::PAIRS * stride];
        lanes.transpose(memory, &mut to, stride);
        out.extend(to);
        out
    }
}

struct Compare;

impl Dispatch for Compare {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        match L::PAIRS {
            4 => compare::<L, 4>(lanes),
            8 => compare::<L, 8>(lanes),
            _ => compare::<L, 16>(lanes),
        }
    }
}

fn compare<L: Hardware, const PAIRS: usize>(lanes: L) {
    assert_eq!(L::PAIRS, PAIRS);
    let state = &mut 1;
    for round in 0..200 {
        let q = Modulus::new(MODULI[round % MODULI.len()]);
        // Small words every now and then, so that some are zero or equal.
        let bound = if round % 5 == 0 { 1 } else { (1 << 14) - 1 };
        let length = VECTORS.max(PAIRS) * L::WORDS;
        let words: Vec<i16> = (0..length).map(|_| next(state, bound)).collect();
        let constants: Vec<i16> = (0..L::WORDS).map(|_| next(state, q.q / 2)).collect();
        let points: Vec<_> = words.iter().map(|&word| Interval::constant(word)).collect();

        let expected = lanes.run(EveryOperation { memory: &words, constants: &constants, q });
        let kernel = EveryOperation { memory: &points, constants: &constants, q };
        let (found, violations) = examine(|| Intervals::<PAIRS>::default().run(kernel));
        assert_eq!(violations, []);
        for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
            assert_eq!(
                found.single(),
                Some(expected),
                "word {i} of {}",
                core::any::type_name::<L>()
            );
        }
    }
}

#[test]
fn intervals_of_one_integer_are_what_hardware_computes() {
    for backend in Backend::available() {
        backend.run(Compare);
    }
}

#[test]
fn what_hardware_computes_is_in_the_interval() {
    let state = &mut 2;
    let splat = |x| [x; Portable::WORDS];
    let mut member = |interval: Interval| {
        let width = i32::from(interval.high()) - i32::from(interval.low());
        let offset = i32::from(next(state, i16::MAX).unsigned_abs()) % (width + 1);
        (i32::from(interval.low()) + offset) as i16
    };
    let edges = [i16::MIN, -20_000, -5000, -1, 0, 1, 300, 4000, 16_384, i16::MAX];
    let mut intervals = Vec::new();
    for (i, &low) in edges.iter().enumerate() {
        intervals.extend(edges[i..].iter().map(|&high| Interval::of(low..=high)));
    }
    for &a in &intervals {
        for &b in &intervals {
            let q = Modulus::new(MODULI[usize::from(a.bound() / 2 + b.bound() / 2) % MODULI.len()]);
            let (of_sum, violations) =
                examine(|| Interval::reduce(Interval::dot(Interval::zero(), [a, b], [b, a]), q));
            for _ in 0..4 {
                let (x, y) = (member(a), member(b));
                let prepared = Portable.prepare(splat(y), q);
                let holds = |interval: Interval, words: [i16; Portable::WORDS]| {
                    assert!(Interval::constant(words[0]).is_in(interval), "{x} of {a}, {y} of {b}");
                };
                let of_b = b.prepare(q);
                holds(
                    a.montgomery(b, of_b, q),
                    Portable.montgomery(splat(x), splat(y), prepared, q),
                );
                holds(of_b, prepared);
                holds(a.barrett(q), Portable.barrett(splat(x), q));
                holds(a.freeze(q), Portable.freeze(splat(x), q));
                holds(a.nonzero(), Portable.nonzero(splat(x)));
                holds(a.positive(), Portable.positive(splat(x)));
                holds(a.negative(), Portable.negative(splat(x)));
                let reduced = Portable.barrett(splat(x), q);
                holds(
                    a.barrett(q).prepare(q).no_multiple(),
                    Portable.no_multiple(Portable.prepare(reduced, q)),
                );
                let mask = Portable.and(Portable.nonzero(splat(x)), Portable.positive(splat(y)));
                let of_masks = a.nonzero().and(b.positive());
                holds(of_masks, mask);
                holds(a.and(of_masks), Portable.and(splat(x), mask));
                holds(Interval::select(of_masks, a, b), Portable.select(mask, splat(x), splat(y)));
                if violations.is_empty() {
                    let mut pair = splat(x);
                    pair[1] = y;
                    let dot = Portable.dot(Portable.zero(), pair, Portable.swap(pair));
                    holds(of_sum, Portable.reduce(dot, dot, q));
                }
            }
        }
    }
}

struct Twice;

impl<L: Lanes> Kernel<L> for Twice {
    type Output = ();

    fn run(self, lanes: L) {
        let a = lanes.splat(20_000);
        lanes.add(a, a);
    }
}

#[test]
fn violations_name_the_kernel_the_place_and_the_values() {
    let ((), violations) = examine(|| Intervals::<4>::default().run(Twice));
    assert_eq!(violations.len(), 1, "one for each place");
    let text = violations[0].to_string();
    let expected = "Twice: add at crypto/lanes/src/proof/tests.rs:";
    assert!(text.starts_with(expected), "{text}");
    assert!(text.contains("(20000..=20000) + (20000..=20000) = 40000..=40000 leaves"), "{text}");
}

#[test]
fn every_operation_that_can_leave_its_range_says_so() {
    let any = Interval::of(i16::MIN..=i16::MAX);
    let q = Modulus::new(4591);
    let fails = |what: &dyn Fn()| !examine(what).1.is_empty();
    assert!(fails(&|| {
        any.add(Interval::constant(1));
    }));
    assert!(fails(&|| {
        any.sub(Interval::constant(1));
    }));
    assert!(fails(&|| {
        Interval::constant(1 << 14).freeze3();
    }));
    assert!(fails(&|| {
        Interval::select(Interval::constant(1), any, any);
    }));
    assert!(fails(&|| {
        any.and(any);
    }));
    assert!(fails(&|| {
        Interval::within(3).no_multiple();
    }));
    assert!(fails(&|| {
        Interval::within(2 * 4591).prepare(q).no_multiple();
    }));
    assert!(!fails(&|| {
        Interval::within(2 * 4591 - 1).prepare(q).no_multiple();
    }));
    // 2 (-2^15)^2 is 2^31; one less is fine.
    let most = Interval::constant(i16::MIN);
    assert!(fails(&|| {
        Interval::dot(Interval::zero(), [most; 2], [most; 2]);
    }));
    let less = Interval::constant(i16::MIN + 1);
    assert!(!fails(&|| {
        Interval::dot(Interval::zero(), [most; 2], [most, less]);
    }));
    let once = Interval::dot(Interval::zero(), [most; 2], [most, less]);
    assert!(fails(&|| {
        Interval::dot(once, [less; 2], [less; 2]);
    }));
    assert!(fails(&|| {
        Interval::reduce(Interval::dot(once, [any, any], [less, less]), q);
    }));
    assert!(!fails(&|| {
        Interval::within(32_767).montgomery(any, any, q);
    }));
}

#[test]
fn polynomials_are_added_and_multiplied() {
    let q = Modulus::new(4591);
    polynomials_modulo(q, || {
        let [x, y] = [0, 1].map(Polynomial::variable);
        let [of_x, of_y] = [0, 1].map(Monomial::variable);
        let three = Polynomial::constant(3);
        let zero = Polynomial::default();
        assert_eq!(x.add(y).sub(y), x);
        assert_eq!(x.sub(x), zero);
        assert_ne!(x, y);
        let product = Polynomial::dot(zero, [x.add(y), three], [x.sub(y), x]);
        let square = |a: Monomial| a.times(a).unwrap();
        assert_eq!(product, Polynomial::of(&[(square(of_x), 1), (square(of_y), -1), (of_x, 3)]));
        let quarter = Polynomial::constant(1 << 14);
        let half = Polynomial::dot(zero, [x; 2], [quarter; 2]);
        assert_eq!(Polynomial::reduce(Polynomial::dot(half, [x; 2], [quarter; 2]), q), x);
        assert_eq!(x.montgomery(y, y.prepare(q), q), y.montgomery(x, x.prepare(q), q));
        assert!(square(of_x).times(of_y).is_none());
    });
}

#[test]
fn what_is_no_polynomial_is_a_violation() {
    let q = Modulus::new(4591);
    let fails = |what: &dyn Fn(Polynomial, Polynomial)| {
        let run = || what(Polynomial::variable(0), Polynomial::variable(1));
        !examine(|| polynomials_modulo(q, run)).1.is_empty()
    };
    assert!(fails(&|x, _| {
        x.nonzero();
    }));
    assert!(fails(&|x, _| {
        x.positive();
    }));
    assert!(fails(&|x, y| {
        Polynomial::select(x, x, y);
    }));
    assert!(fails(&|x, _| {
        x.freeze3();
    }));
    assert!(fails(&|x, y| {
        x.montgomery(y, x.prepare(q), q);
    }));
    assert!(fails(&|x, _| {
        let three = Polynomial::constant(3);
        x.montgomery(three, three, q);
    }));
    assert!(fails(&|x, _| {
        x.prepare(q).add(x);
    }));
    assert!(fails(&|x, _| {
        x.barrett(Modulus::new(4621));
    }));
    assert!(fails(&|x, _| {
        let square = Polynomial::dot(Polynomial::default(), [x, x], [x, x]);
        Polynomial::dot(Polynomial::default(), [square, x], [x, x]);
    }));
}
