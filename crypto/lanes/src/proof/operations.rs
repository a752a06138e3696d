//! The modular operations of every backend against the integers: functions of one word on every
//! word, of two on every word times given constants, and on a grid.

use crate::{Backend, Dispatch, Hardware, Kernel, Lanes, Modulus, Portable};

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
struct Apply<'a> {
    operation: Operation,
    a: &'a [i16],
    b: &'a [i16],
    q: Modulus,
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

impl<L: Lanes<Word = i16>> Kernel<L> for Apply<'_> {
    type Output = Vec<i16>;

    #[inline(always)]
    fn run(self, lanes: L) -> Vec<i16> {
        let q = self.q;
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
impl Dispatch for Apply<'_> {
    type Output = Vec<i16>;

    fn on<L: Hardware>(self, lanes: L) -> Vec<i16> {
        lanes.run(self)
    }
}

fn apply(backend: Backend, operation: Operation, a: &[i16], b: &[i16], q: Modulus) -> Vec<i16> {
    backend.run(Apply { operation, a, b, q })
}

/// The remainder in `-(q-1)/2 ..= (q-1)/2`, for an odd q.
fn centred(x: i16, q: i16) -> i16 {
    let (x, q) = (i32::from(x), i32::from(q));
    ((x + q / 2).rem_euclid(q) - q / 2) as i16
}

/// Checks functions of one word on every word, on every backend of this machine: `barrett`,
/// `freeze`, `freeze3`, `prepare`, `nonzero`, `positive`, `negative` and `no_multiple`.
///
/// # Panics
/// One of them is not what its documentation says.
pub fn check_operations_on_one_word(q: Modulus) {
    let words = every_word();
    for backend in Backend::available() {
        let of_every_word = |operation| {
            let results = apply(backend, operation, &words, &words, q);
            words.iter().copied().zip(results).collect::<Vec<_>>()
        };
        let name = backend.name();
        let mut largest = 0;
        for (a, b) in of_every_word(Operation::Barrett) {
            assert_eq!(centred(a, q.q), centred(b, q.q), "{name} {a}");
            // Intervals take portable lanes for all.
            assert_eq!(b, Portable.barrett([a; Portable::WORDS], q)[0], "{name} {a}");
            largest = largest.max(b.abs());
        }
        assert_eq!(largest, q.barrett_bound(1 << 15), "{name}");
        for (a, b) in of_every_word(Operation::Freeze) {
            assert_eq!(b, centred(a, q.q), "{name} {a}");
        }
        for (a, b) in of_every_word(Operation::Freeze3) {
            let small = a.unsigned_abs() < 1 << 14;
            assert!(!small || b == centred(a, 3), "{name} {a}");
        }
        for (a, b) in of_every_word(Operation::Prepare) {
            assert_eq!(b.wrapping_mul(q.q), a, "{name} {a}");
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
        let mut small: Vec<_> = (1 - 2 * q.q..2 * q.q).collect();
        small.resize(small.len().next_multiple_of(32), 0);
        let results = apply(backend, Operation::NoMultiple, &small, &small, q);
        for (a, b) in small.iter().zip(results) {
            assert_eq!(b, -i16::from(a % q.q != 0), "{name} {a}");
        }
    }
}

/// Whether `c` is `x / 2^16` modulo q, and no larger than promised.
fn is_quotient(c: i16, x: i32, q: i16) -> bool {
    let q = i64::from(q);
    let bound = (i64::from(x).abs() >> 16) + q / 2 + 1;
    ((i64::from(c) << 16) - i64::from(x)) % q == 0 && i64::from(c).abs() <= bound
}

/// Checks `montgomery` on every backend of this machine: every word times each of `constants` and
/// times words at which something could change.
///
/// # Panics
/// A product is wrong or larger than promised.
pub fn check_montgomery_products(q: Modulus, constants: &[i16]) {
    let words = every_word();
    let edges = edges(q.q);
    for backend in Backend::available() {
        let check = |a: &[i16], b: i16| {
            let products = apply(backend, Operation::Montgomery, a, &vec![b; a.len()], q);
            for (&a, c) in a.iter().zip(products) {
                let exact = is_quotient(c, i32::from(a) * i32::from(b), q.q);
                assert!(exact, "{} {a} {b}: {c}", backend.name());
            }
        };
        for &b in constants.iter().chain(&edges) {
            check(&words, b);
        }
    }
}

/// Checks `reduce` on every backend of this machine: all high halves with edges of low halves, and
/// the reverse.
///
/// # Panics
/// A result is wrong or larger than promised.
pub fn check_reductions(q: Modulus) {
    // Results fit in a word up to here.
    let most = i16::MAX - q.q / 2 - 2;
    let high: Vec<_> = (-most..=most).collect();
    let high_edges: Vec<_> =
        edges(q.q).into_iter().filter(|x| x.abs_diff(0) <= most as u16).collect();
    for backend in Backend::available() {
        let check = |high: &[i16], low: &[i16]| {
            let length = high.len().max(low.len()).next_multiple_of(32);
            let repeat =
                |words: &[i16]| words.iter().copied().cycle().take(length).collect::<Vec<_>>();
            let (high, low) = (repeat(high), repeat(low));
            let results = apply(backend, Operation::Reduce, &high, &low, q);
            for ((&high, &low), c) in high.iter().zip(&low).zip(results) {
                let exact = is_quotient(c, (i32::from(high) << 16) + i32::from(low), q.q);
                assert!(exact, "{} {high} {low}: {c}", backend.name());
            }
        };
        for low in edges(q.q) {
            check(&high, &[low]);
        }
        let words = every_word();
        for &high in &high_edges {
            check(&[high], &words);
        }
    }
}
