//! Lanes that prove: a kernel runs on them unchanged, and what comes out holds for all inputs.
//!
//! A word stands for a [`Value`]: for all integers of an [`Interval`], or for a [`Polynomial`] in
//! the kernel's inputs. Kernels have no branch on data, so one run covers every input. [`examine`]
//! collects what goes wrong on the way.
//!
//! Limbs of [`FieldLanes`](crate::FieldLanes) stand for both at once: a [`Symbol`].
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

mod field;
mod interval;
mod ledger;
mod operations;
mod polynomial;
#[cfg(test)]
mod tests;

use core::cell::RefCell;
use core::marker::PhantomData;
use core::panic::Location;
use std::thread::LocalKey;

pub use field::{Bit, Residue, Symbol, Symbols, with_fault};
pub use interval::Interval;
pub use ledger::{Violation, examine, prove};
pub use operations::{check_montgomery_products, check_operations_on_one_word, check_reductions};
pub use polynomial::{Monomial, Polynomial, polynomials_modulo};

use crate::{Kernel, Lanes, Modulus, Word, sealed::Sealed};

/// A thread's words and accumulators, of all vectors of the kernels that run, one vector after the
/// other.
pub type Memory<V> = RefCell<(Vec<V>, Vec<<V as Value>::Accumulator>)>;

/// The meaning of a word of proof lanes, and of each operation on it. [`Default`] is zero.
pub trait Value: Word {
    /// The meaning of an accumulator.
    type Accumulator: Copy;

    /// The memory of a thread's vectors.
    fn vectors() -> &'static LocalKey<Memory<Self>>;

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

/// Lanes of `PAIRS` pairs of values. A width of 4, 8 or 16 tiles and groups as portable, AVX2 or
/// AVX-512 lanes do.
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

/// A vector of words: its offset in [`Memory`]. Kernels are compiled for every parameter set and
/// width: with vectors as large as a register, and operations as calls, they are small.
#[derive(Clone, Copy, Debug)]
pub struct Words(usize);

/// A vector of accumulators: its offset in [`Memory`].
#[derive(Clone, Copy, Debug)]
pub struct Sums(usize);

/// The vectors of a kernel are forgotten when it ends.
struct Vectors<V: Value>(usize, usize, PhantomData<V>);

impl<V: Value> Vectors<V> {
    fn mark() -> Self {
        V::vectors().with_borrow(|(words, sums)| Vectors(words.len(), sums.len(), PhantomData))
    }
}

impl<V: Value> Drop for Vectors<V> {
    fn drop(&mut self) {
        V::vectors().with_borrow_mut(|(words, sums)| {
            words.truncate(self.0);
            sums.truncate(self.1);
        });
    }
}

impl<V: Value, const PAIRS: usize> Proof<V, PAIRS> {
    /// The words of a vector.
    fn get(a: Words) -> [[V; 2]; PAIRS] {
        let mut v = [[V::default(); 2]; PAIRS];
        V::vectors().with_borrow(|(words, _)| {
            v.as_flattened_mut().copy_from_slice(&words[a.0..a.0 + 2 * PAIRS]);
        });
        v
    }

    /// A vector of these words.
    fn vector(v: [[V; 2]; PAIRS]) -> Words {
        V::vectors().with_borrow_mut(|(words, _)| {
            words.extend_from_slice(v.as_flattened());
            Words(words.len() - 2 * PAIRS)
        })
    }

    /// A vector of the first words of a slice.
    fn of_words(from: &[V]) -> Words {
        V::vectors().with_borrow_mut(|(words, _)| {
            words.extend_from_slice(&from[..2 * PAIRS]);
            Words(words.len() - 2 * PAIRS)
        })
    }

    /// The accumulators of a vector.
    fn sums(a: Sums) -> [V::Accumulator; PAIRS] {
        let mut v = [<V as Value>::zero(); PAIRS];
        V::vectors().with_borrow(|(_, sums)| v.copy_from_slice(&sums[a.0..a.0 + PAIRS]));
        v
    }

    /// A vector of these accumulators.
    fn of_sums(v: [V::Accumulator; PAIRS]) -> Sums {
        V::vectors().with_borrow_mut(|(_, sums)| {
            sums.extend_from_slice(&v);
            Sums(sums.len() - PAIRS)
        })
    }

    /// Applies a function of one word to all.
    #[track_caller]
    fn map(operation: &'static str, a: Words, f: impl Fn(V) -> V) -> Words {
        ledger::enter(operation, Location::caller());
        Self::vector(Self::get(a).map(|pair| pair.map(&f)))
    }

    /// Applies a function of two words to all.
    #[track_caller]
    fn map2(operation: &'static str, a: Words, b: Words, f: impl Fn(V, V) -> V) -> Words {
        ledger::enter(operation, Location::caller());
        let mut v = Self::get(a);
        for (a, b) in v.as_flattened_mut().iter_mut().zip(Self::get(b).as_flattened()) {
            *a = f(*a, *b);
        }
        Self::vector(v)
    }

    /// Applies a function of three words to all.
    #[track_caller]
    fn map3(
        operation: &'static str,
        a: Words,
        b: Words,
        c: Words,
        f: impl Fn(V, V, V) -> V,
    ) -> Words {
        ledger::enter(operation, Location::caller());
        let (mut v, b, c) = (Self::get(a), Self::get(b), Self::get(c));
        let others = b.as_flattened().iter().zip(c.as_flattened());
        for (a, (b, c)) in v.as_flattened_mut().iter_mut().zip(others) {
            *a = f(*a, *b, *c);
        }
        Self::vector(v)
    }
}

// Not inlined: kernels are, once for each parameter set and width, and speed is of no matter here.
impl<V: Value, const PAIRS: usize> Lanes for Proof<V, PAIRS> {
    type Word = V;
    type I16 = Words;
    type I32 = Sums;

    const PAIRS: usize = PAIRS;

    #[inline(never)]
    fn run<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        let _vectors = Vectors::<V>::mark();
        let _kernel = ledger::within(core::any::type_name::<K>());
        kernel.run(self)
    }

    #[inline(never)]
    fn load(self, from: &[V]) -> Words {
        Self::of_words(from)
    }

    #[inline(never)]
    fn store(self, to: &mut [V], v: Words) {
        to[..2 * PAIRS].copy_from_slice(Self::get(v).as_flattened());
    }

    #[inline(never)]
    fn constants(self, from: &[i16]) -> Words {
        let mut v = [[V::default(); 2]; PAIRS];
        for (word, &value) in v.as_flattened_mut().iter_mut().zip(&from[..2 * PAIRS]) {
            *word = V::constant(value);
        }
        Self::vector(v)
    }

    #[inline(never)]
    fn splat(self, value: i16) -> Words {
        Self::vector([[V::constant(value); 2]; PAIRS])
    }

    #[inline(never)]
    fn broadcast(self, from: &[V]) -> Words {
        Self::vector([[from[0]; 2]; PAIRS])
    }

    #[inline(never)]
    fn broadcast_pair(self, from: &[V]) -> Words {
        Self::vector([[from[0], from[1]]; PAIRS])
    }

    #[inline(never)]
    fn first(self, a: Words) -> Words {
        Self::vector([[Self::get(a)[0][0]; 2]; PAIRS])
    }

    #[inline(never)]
    fn advance(self, a: Words, b: Words) -> Words {
        let mut v = Self::get(a);
        let words = v.as_flattened_mut();
        words.copy_within(1.., 0);
        words[2 * PAIRS - 1] = Self::get(b)[0][0];
        Self::vector(v)
    }

    #[inline(never)]
    #[track_caller]
    fn add(self, a: Words, b: Words) -> Words {
        Self::map2("add", a, b, V::add)
    }

    #[inline(never)]
    #[track_caller]
    fn sub(self, a: Words, b: Words) -> Words {
        Self::map2("sub", a, b, V::sub)
    }

    #[inline(never)]
    #[track_caller]
    fn select(self, mask: Words, a: Words, b: Words) -> Words {
        Self::map3("select", mask, a, b, V::select)
    }

    #[inline(never)]
    #[track_caller]
    fn and(self, a: Words, b: Words) -> Words {
        Self::map2("and", a, b, V::and)
    }

    #[inline(never)]
    #[track_caller]
    fn nonzero(self, a: Words) -> Words {
        Self::map("nonzero", a, V::nonzero)
    }

    #[inline(never)]
    #[track_caller]
    fn negative(self, a: Words) -> Words {
        Self::map("negative", a, V::negative)
    }

    #[inline(never)]
    #[track_caller]
    fn no_multiple(self, a_q: Words) -> Words {
        Self::map("no_multiple", a_q, V::no_multiple)
    }

    #[inline(never)]
    #[track_caller]
    fn positive(self, a: Words) -> Words {
        Self::map("positive", a, V::positive)
    }

    #[inline(never)]
    #[track_caller]
    fn montgomery(self, a: Words, b: Words, b_q: Words, q: Modulus) -> Words {
        Self::map3("montgomery", a, b, b_q, |a, b, b_q| a.montgomery(b, b_q, q))
    }

    #[inline(never)]
    #[track_caller]
    fn prepare(self, a: Words, q: Modulus) -> Words {
        Self::map("prepare", a, |a| a.prepare(q))
    }

    #[inline(never)]
    #[track_caller]
    fn barrett(self, a: Words, q: Modulus) -> Words {
        Self::map("barrett", a, |a| a.barrett(q))
    }

    #[inline(never)]
    #[track_caller]
    fn freeze(self, a: Words, q: Modulus) -> Words {
        Self::map("freeze", a, |a| a.freeze(q))
    }

    #[inline(never)]
    #[track_caller]
    fn freeze3(self, a: Words) -> Words {
        Self::map("freeze3", a, V::freeze3)
    }

    #[inline(never)]
    fn zero(self) -> Sums {
        Self::of_sums([<V as Value>::zero(); PAIRS])
    }

    #[inline(never)]
    #[track_caller]
    fn dot(self, acc: Sums, a: Words, b: Words) -> Sums {
        ledger::enter("dot", Location::caller());
        let mut acc = Self::sums(acc);
        for (sum, (a, b)) in acc.iter_mut().zip(Self::get(a).into_iter().zip(Self::get(b))) {
            *sum = V::dot(*sum, a, b);
        }
        Self::of_sums(acc)
    }

    #[inline(never)]
    #[track_caller]
    fn dot_broadcast(self, acc: Sums, a: Words, from: &[V]) -> Sums {
        self.dot(acc, a, self.broadcast_pair(from))
    }

    #[inline(never)]
    #[track_caller]
    fn reduce(self, even: Sums, odd: Sums, q: Modulus) -> Words {
        ledger::enter("reduce", Location::caller());
        let mut v = [[V::default(); 2]; PAIRS];
        for (pair, (even, odd)) in
            v.iter_mut().zip(Self::sums(even).into_iter().zip(Self::sums(odd)))
        {
            *pair = [V::reduce(even, q), V::reduce(odd, q)];
        }
        Self::vector(v)
    }

    #[inline(never)]
    fn swap(self, a: Words) -> Words {
        Self::vector(Self::get(a).map(|[first, second]| [second, first]))
    }

    #[inline(never)]
    fn straddle(self, a: Words, b: Words) -> Words {
        let mut v = Self::get(a);
        for (a, b) in v.iter_mut().zip(Self::get(b)) {
            *a = [a[1], b[0]];
        }
        Self::vector(v)
    }

    #[inline(never)]
    fn store_interleaved(self, to: &mut [V], a: Words, b: Words) {
        let (a, b) = (Self::get(a), Self::get(b));
        let words = a.as_flattened().iter().zip(b.as_flattened());
        for (to, (&a, &b)) in to[..4 * PAIRS].chunks_exact_mut(2).zip(words) {
            to.copy_from_slice(&[a, b]);
        }
    }

    #[inline(never)]
    fn exchange(self, a: Words, b: Words, distance: usize) -> [Words; 2] {
        let (mut a, mut b) = (Self::get(a), Self::get(b));
        let (first, second) = (a.as_flattened_mut(), b.as_flattened_mut());
        for i in (0..2 * PAIRS).filter(|i| i & distance != 0) {
            core::mem::swap(&mut first[i], &mut second[i ^ distance]);
        }
        [Self::vector(a), Self::vector(b)]
    }

    #[inline(never)]
    fn store_split(self, first: &mut [V], second: &mut [V], a: Words) {
        let to = first[..PAIRS].iter_mut().zip(&mut second[..PAIRS]);
        for ((first, second), pair) in to.zip(Self::get(a)) {
            (*first, *second) = (pair[0], pair[1]);
        }
    }
}
