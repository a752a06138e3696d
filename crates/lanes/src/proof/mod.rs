//! Lanes that prove: a kernel runs on them unchanged, and what comes out holds for all inputs.
//!
//! A word stands for a [`Value`]: for all integers of an [`Interval`], or for a [`Polynomial`] in the kernel's inputs. Kernels
//! have no branch on data, so one run covers every input. [`examine`] collects what goes wrong on the way.
//!
//! ```
//! use lanes::Lanes;
//! use lanes::proof::{Interval, Intervals, examine};
//!
//! let lanes = Intervals::<4>::default();
//! let words = [Interval::within(20_000); 8];
//! let (_, violations) = examine(|| lanes.add(lanes.load(&words), lanes.splat(9_000)));
//! assert!(violations.is_empty());
//! let (_, violations) = examine(|| lanes.add(lanes.load(&words), lanes.load(&words)));
//! assert!(violations[0].to_string().contains("leaves -32768..=32767"));
//! ```

mod interval;
mod ledger;
mod polynomial;
#[cfg(test)]
mod tests;

use core::marker::PhantomData;
use core::panic::Location;

pub use interval::Interval;
pub use ledger::{Violation, examine, prove};
pub use polynomial::{Monomial, Polynomial, polynomials_modulo};

use crate::{Kernel, Lanes, Modulus, Word, sealed::Sealed};

/// What a word of proof lanes stands for, and what each operation makes of it. [`Default`] is zero.
pub trait Value: Word {
    /// What an accumulator stands for.
    type Accumulator: Copy;

    /// See [`Lanes::add`].
    fn add(self, other: Self) -> Self;
    /// See [`Lanes::sub`].
    fn sub(self, other: Self) -> Self;
    /// See [`Lanes::select`].
    fn select(mask: Self, a: Self, b: Self) -> Self;
    /// See [`Lanes::and`].
    fn and(self, other: Self) -> Self;
    /// See [`Lanes::nonzero`].
    fn nonzero(self) -> Self;
    /// See [`Lanes::negative`].
    fn negative(self) -> Self;
    /// See [`Lanes::no_multiple`].
    fn no_multiple(self) -> Self;
    /// See [`Lanes::positive`].
    fn positive(self) -> Self;
    /// See [`Lanes::montgomery`].
    fn montgomery(self, b: Self, b_q: Self, q: Modulus) -> Self;
    /// See [`Lanes::prepare`].
    fn prepare(self, q: Modulus) -> Self;
    /// See [`Lanes::barrett`].
    fn barrett(self, q: Modulus) -> Self;
    /// See [`Lanes::freeze`].
    fn freeze(self, q: Modulus) -> Self;
    /// See [`Lanes::freeze3`].
    fn freeze3(self) -> Self;
    /// An accumulator of zero.
    fn zero() -> Self::Accumulator;
    /// See [`Lanes::dot`].
    fn dot(sum: Self::Accumulator, a: [Self; 2], b: [Self; 2]) -> Self::Accumulator;
    /// One half of [`Lanes::reduce`].
    fn reduce(sum: Self::Accumulator, q: Modulus) -> Self;
}

/// Lanes of `PAIRS` pairs of values. A width of 4, 8 or 16 tiles and groups as portable, AVX2 or AVX-512 lanes do.
#[derive(Clone, Copy, Debug)]
pub struct Proof<V, const PAIRS: usize>(PhantomData<V>);

/// Lanes of intervals.
pub type Intervals<const PAIRS: usize> = Proof<Interval, PAIRS>;
/// Lanes of polynomials.
pub type Polynomials<const PAIRS: usize> = Proof<Polynomial, PAIRS>;

impl<V, const PAIRS: usize> Default for Proof<V, PAIRS> {
    fn default() -> Self {
        Proof(PhantomData)
    }
}

impl<V: Value, const PAIRS: usize> Sealed for Proof<V, PAIRS> {}

type Pairs<V, const PAIRS: usize> = [[V; 2]; PAIRS];

/// Applies a function of one word to all.
#[track_caller]
fn map<V: Value, const PAIRS: usize>(
    operation: &'static str,
    a: Pairs<V, PAIRS>,
    f: impl Fn(V) -> V,
) -> Pairs<V, PAIRS> {
    ledger::enter(operation, Location::caller());
    a.map(|pair| pair.map(&f))
}

/// Applies a function of two words to all.
#[track_caller]
fn map2<V: Value, const PAIRS: usize>(
    operation: &'static str,
    mut a: Pairs<V, PAIRS>,
    b: Pairs<V, PAIRS>,
    f: impl Fn(V, V) -> V,
) -> Pairs<V, PAIRS> {
    ledger::enter(operation, Location::caller());
    for (a, b) in a.as_flattened_mut().iter_mut().zip(b.as_flattened()) {
        *a = f(*a, *b);
    }
    a
}

/// Applies a function of three words to all.
#[track_caller]
fn map3<V: Value, const PAIRS: usize>(
    operation: &'static str,
    mut a: Pairs<V, PAIRS>,
    b: Pairs<V, PAIRS>,
    c: Pairs<V, PAIRS>,
    f: impl Fn(V, V, V) -> V,
) -> Pairs<V, PAIRS> {
    ledger::enter(operation, Location::caller());
    let others = b.as_flattened().iter().zip(c.as_flattened());
    for (a, (b, c)) in a.as_flattened_mut().iter_mut().zip(others) {
        *a = f(*a, *b, *c);
    }
    a
}

// Not inlined: kernels are, once for each parameter set and width, and speed is of no matter here.
impl<V: Value, const PAIRS: usize> Lanes for Proof<V, PAIRS> {
    type Word = V;
    type I16 = Pairs<V, PAIRS>;
    type I32 = [V::Accumulator; PAIRS];

    const PAIRS: usize = PAIRS;

    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        ledger::within(core::any::type_name::<K>(), || kernel.run(self))
    }

    #[inline(never)]
    fn load(self, from: &[V]) -> Self::I16 {
        let mut v = [[V::default(); 2]; PAIRS];
        v.as_flattened_mut().copy_from_slice(&from[..2 * PAIRS]);
        v
    }

    #[inline(never)]
    fn store(self, to: &mut [V], v: Self::I16) {
        to[..2 * PAIRS].copy_from_slice(v.as_flattened());
    }

    #[inline(never)]
    fn constants(self, from: &[i16]) -> Self::I16 {
        let mut v = [[V::default(); 2]; PAIRS];
        for (word, &value) in v.as_flattened_mut().iter_mut().zip(&from[..2 * PAIRS]) {
            *word = V::constant(value);
        }
        v
    }

    fn splat(self, value: i16) -> Self::I16 {
        [[V::constant(value); 2]; PAIRS]
    }

    fn broadcast(self, from: &[V]) -> Self::I16 {
        [[from[0]; 2]; PAIRS]
    }

    #[inline(never)]
    fn broadcast_pair(self, from: &[V]) -> Self::I16 {
        [[from[0], from[1]]; PAIRS]
    }

    fn first(self, a: Self::I16) -> Self::I16 {
        [[a[0][0]; 2]; PAIRS]
    }

    fn advance(self, mut a: Self::I16, b: Self::I16) -> Self::I16 {
        let words = a.as_flattened_mut();
        words.copy_within(1.., 0);
        words[2 * PAIRS - 1] = b[0][0];
        a
    }

    #[inline(never)]
    #[track_caller]
    fn add(self, a: Self::I16, b: Self::I16) -> Self::I16 {
        map2("add", a, b, V::add)
    }

    #[inline(never)]
    #[track_caller]
    fn sub(self, a: Self::I16, b: Self::I16) -> Self::I16 {
        map2("sub", a, b, V::sub)
    }

    #[inline(never)]
    #[track_caller]
    fn select(self, mask: Self::I16, a: Self::I16, b: Self::I16) -> Self::I16 {
        map3("select", mask, a, b, V::select)
    }

    #[inline(never)]
    #[track_caller]
    fn and(self, a: Self::I16, b: Self::I16) -> Self::I16 {
        map2("and", a, b, V::and)
    }

    #[inline(never)]
    #[track_caller]
    fn nonzero(self, a: Self::I16) -> Self::I16 {
        map("nonzero", a, V::nonzero)
    }

    #[inline(never)]
    #[track_caller]
    fn negative(self, a: Self::I16) -> Self::I16 {
        map("negative", a, V::negative)
    }

    #[inline(never)]
    #[track_caller]
    fn no_multiple(self, a_q: Self::I16) -> Self::I16 {
        map("no_multiple", a_q, V::no_multiple)
    }

    #[inline(never)]
    #[track_caller]
    fn positive(self, a: Self::I16) -> Self::I16 {
        map("positive", a, V::positive)
    }

    #[inline(never)]
    #[track_caller]
    fn montgomery(self, a: Self::I16, b: Self::I16, b_q: Self::I16, q: Modulus) -> Self::I16 {
        map3("montgomery", a, b, b_q, |a, b, b_q| a.montgomery(b, b_q, q))
    }

    #[inline(never)]
    #[track_caller]
    fn prepare(self, a: Self::I16, q: Modulus) -> Self::I16 {
        map("prepare", a, |a| a.prepare(q))
    }

    #[inline(never)]
    #[track_caller]
    fn barrett(self, a: Self::I16, q: Modulus) -> Self::I16 {
        map("barrett", a, |a| a.barrett(q))
    }

    #[inline(never)]
    #[track_caller]
    fn freeze(self, a: Self::I16, q: Modulus) -> Self::I16 {
        map("freeze", a, |a| a.freeze(q))
    }

    #[inline(never)]
    #[track_caller]
    fn freeze3(self, a: Self::I16) -> Self::I16 {
        map("freeze3", a, V::freeze3)
    }

    fn zero(self) -> Self::I32 {
        [V::zero(); PAIRS]
    }

    #[inline(never)]
    #[track_caller]
    fn dot(self, mut acc: Self::I32, a: Self::I16, b: Self::I16) -> Self::I32 {
        ledger::enter("dot", Location::caller());
        for (sum, (a, b)) in acc.iter_mut().zip(a.into_iter().zip(b)) {
            *sum = V::dot(*sum, a, b);
        }
        acc
    }

    #[inline(never)]
    #[track_caller]
    fn dot_broadcast(self, acc: Self::I32, a: Self::I16, from: &[V]) -> Self::I32 {
        self.dot(acc, a, self.broadcast_pair(from))
    }

    #[inline(never)]
    #[track_caller]
    fn reduce(self, even: Self::I32, odd: Self::I32, q: Modulus) -> Self::I16 {
        ledger::enter("reduce", Location::caller());
        let mut v = [[V::default(); 2]; PAIRS];
        for (pair, (even, odd)) in v.iter_mut().zip(even.into_iter().zip(odd)) {
            *pair = [V::reduce(even, q), V::reduce(odd, q)];
        }
        v
    }

    fn swap(self, a: Self::I16) -> Self::I16 {
        a.map(|[first, second]| [second, first])
    }

    #[inline(never)]
    fn straddle(self, mut a: Self::I16, b: Self::I16) -> Self::I16 {
        for (a, b) in a.iter_mut().zip(b) {
            *a = [a[1], b[0]];
        }
        a
    }

    #[inline(never)]
    fn store_interleaved(self, to: &mut [V], a: Self::I16, b: Self::I16) {
        let words = a.as_flattened().iter().zip(b.as_flattened());
        for (to, (&a, &b)) in to[..4 * PAIRS].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&[a, b]);
        }
    }

    #[inline(never)]
    fn store_split(self, first: &mut [V], second: &mut [V], a: Self::I16) {
        let to = first[..PAIRS].iter_mut().zip(&mut second[..PAIRS]);
        for ((first, second), pair) in to.zip(a) {
            (*first, *second) = (pair[0], pair[1]);
        }
    }
}
