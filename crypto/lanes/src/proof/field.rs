//! Lanes of [`FieldLanes`] that prove.

#[cfg(test)]
mod tests;

use core::cell::Cell;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops::RangeInclusive;
use core::panic::Location;
use std::hash::DefaultHasher;

use super::ledger;
use crate::field::{FIELD_LANES, SMALL_BITS, Split};
use crate::{FieldLanes, Kernel, Limb, sealed::Sealed};

/// Bits of a factor, and of low halves without signs.
const FACTOR_BITS: u32 = 52;
/// Bits of low halves with signs, beside these.
const SIGNED_BITS: u32 = 51;
/// Bits of products that are split into such halves.
const SIGNED_PRODUCT_BITS: u32 = 103;

/// Integers modulo a prime above 2^104, so that limbs and products of factors are known by them.
/// [`Default`] is zero.
pub trait Residue: Copy + Default + fmt::Debug + Eq + Hash + Send + Sync + 'static {
    /// The residue of an integer modulo the prime.
    fn of(value: u128) -> Self;
    /// The residue that four random words choose; any of them, and all about as likely.
    fn drawn(words: [u64; 4]) -> Self;
    /// Sum.
    fn add(self, other: Self) -> Self;
    /// Difference.
    fn sub(self, other: Self) -> Self;
    /// Product.
    fn mul(self, other: Self) -> Self;
}

/// A symbolic limb: all integers of a range, and a polynomial in the kernel's inputs, modulo a
/// prime.
///
/// Of the polynomial there is its value where all inputs are random residues. If two polynomials of
/// degree d differ, their values are the same with a probability of at most d divided by the prime.
///
/// The upper bits of an integer, and the high half of a product, are no polynomials: they are a
/// further variable, unless the range leaves one number only. The lower bits are the rest. Both are
/// right whatever the number is, and so however it was rounded. That equal integers give equal
/// variables is known by their values: limbs and products that are the same modulo the prime are
/// equal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Symbol<F> {
    low: u64,
    high: u64,
    value: F,
}

impl<F: Residue> Symbol<F> {
    /// A limb of the given range, which must not be empty, and value.
    pub fn new(range: RangeInclusive<u64>, value: F) -> Self {
        let (low, high) = range.into_inner();
        assert!(low <= high);
        Symbol { low, high, value }
    }

    /// The smallest integer that it may be.
    pub fn low(self) -> u64 {
        self.low
    }

    /// The largest integer that it may be.
    pub fn high(self) -> u64 {
        self.high
    }

    /// The value of its polynomial.
    pub fn value(self) -> F {
        self.value
    }

    /// The one integer that it may be, if there is one only.
    pub fn single(self) -> Option<u64> {
        (self.low == self.high).then_some(self.low)
    }

    /// The limb with these bounds, or a violation.
    fn checked(low: Option<u64>, high: Option<u64>, value: F, what: fmt::Arguments<'_>) -> Self {
        if low.is_none() || high.is_none() {
            ledger::violation(format_args!("{what} leaves 64 bits"));
        }
        Symbol { low: low.unwrap_or(0), high: high.unwrap_or(u64::MAX), value }
    }

    fn add(self, other: Self) -> Self {
        let (low, high) = (self.low.checked_add(other.low), self.high.checked_add(other.high));
        Self::checked(low, high, self.value.add(other.value), format_args!("{self} + {other}"))
    }

    fn sub(self, other: Self) -> Self {
        let (low, high) = (self.low.checked_sub(other.high), self.high.checked_sub(other.low));
        Self::checked(low, high, self.value.sub(other.value), format_args!("{self} - {other}"))
    }

    fn mul(self, other: Self) -> Self {
        let (low, high) = (self.low.checked_mul(other.low), self.high.checked_mul(other.high));
        Self::checked(low, high, self.value.mul(other.value), format_args!("{self} * {other}"))
    }

    /// Either of two.
    fn either(self, other: Self) -> Self {
        let value = if self.value == other.value {
            self.value
        } else {
            variable(&("either", self.value, other.value))
        };
        Symbol { low: self.low.min(other.low), high: self.high.max(other.high), value }
    }

    fn product(self, other: Self) -> Wide<F> {
        for factor in [self, other] {
            if factor.high >> FACTOR_BITS > 0 {
                ledger::violation(format_args!("{factor} is no factor: it has more than 52 bits"));
            }
        }
        let factor = |x: u64| u128::from(x.min((1 << FACTOR_BITS) - 1));
        Wide {
            low: factor(self.low) * factor(other.low),
            high: factor(self.high) * factor(other.high),
            value: self.value.mul(other.value),
        }
    }

    /// The sum with the low half of a product.
    fn add_low(self, product: Wide<F>, split: Split) -> Self {
        match split {
            Split::Unsigned52 => self.add(product.split(FACTOR_BITS).0),
            Split::Signed51 => {
                let Signed { most, low, .. } = product.split_signed();
                let bounds = (self.low.checked_sub(most), self.high.checked_add(most));
                let what = format_args!("{self} and a number up to {most:#x}, or its negative,");
                Self::checked(bounds.0, bounds.1, self.value.add(low), what)
            }
        }
    }

    /// The sum with the high half of a product.
    fn add_high(self, product: Wide<F>, split: Split) -> Self {
        self.add(match split {
            Split::Unsigned52 => product.split(FACTOR_BITS).1,
            Split::Signed51 => product.split_signed().high,
        })
    }

    fn small_product(self, other: Self) -> Self {
        for factor in [self, other] {
            if factor.high >> SMALL_BITS > 0 {
                ledger::violation(format_args!("{factor} has more than {SMALL_BITS} bits"));
            }
        }
        self.mul(other)
    }

    fn wide(self) -> Wide<F> {
        Wide { low: self.low.into(), high: self.high.into(), value: self.value }
    }

    /// Bits `at` up to `at + bits`.
    fn bits(self, at: u32, bits: u32) -> Self {
        self.wide().split(at).1.wide().split(bits).0
    }
}

impl<F> fmt::Display for Symbol<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:#x}..={:#x})", self.low, self.high)
    }
}

impl<F: Residue> Limb for Symbol<F> {
    fn constant(value: u64) -> Self {
        Symbol { low: value, high: value, value: F::of(value.into()) }
    }
}

/// A limb or a product.
struct Wide<F> {
    low: u128,
    high: u128,
    value: F,
}

impl<F: Residue> Wide<F> {
    /// Splits into the parts below and above the given number of bits: at least 51 for a product.
    fn split(self, bits: u32) -> (Symbol<F>, Symbol<F>) {
        let (least, most) = (self.low >> bits, self.high >> bits);
        let power = 1 << bits;
        let (low, high, above) = if bits == 0 {
            (0, 0, self.value)
        } else if least == most {
            ((self.low % power) as u64, (self.high % power) as u64, F::of(least))
        } else {
            (0, (power - 1) as u64, variable(&(bits, self.value)))
        };
        let value = self.value.sub(above.mul(F::of(power)));
        let below = Symbol { low, high, value };
        (below, Symbol { low: least as u64, high: most as u64, value: above })
    }
}

/// The halves of a product if the low one has a sign: `high`, which is rounded in any direction,
/// and what is left, of absolute value `most` at most.
struct Signed<F> {
    high: Symbol<F>,
    most: u64,
    low: F,
}

impl<F: Residue> Wide<F> {
    fn split_signed(self) -> Signed<F> {
        if self.high >> SIGNED_PRODUCT_BITS > 0 {
            ledger::violation(format_args!(
                "a product up to {:#x} has more than 103 bits",
                self.high
            ));
        }
        let power = 1 << SIGNED_BITS;
        let (least, most) = (self.low >> SIGNED_BITS, self.high.div_ceil(power));
        let value = if least == most { F::of(least) } else { variable(&("signed", self.value)) };
        let high = Symbol { low: least as u64, high: most as u64, value };
        let most = if least == most { 0 } else { power as u64 - 1 };
        Signed { high, most, low: self.value.sub(value.mul(F::of(power))) }
    }
}

/// The value of a variable with the given name.
fn variable<F: Residue>(name: &impl Hash) -> F {
    let mut words = [0; 4];
    for (i, word) in words.iter_mut().enumerate() {
        let mut hasher = DefaultHasher::new();
        i.hash(&mut hasher);
        name.hash(&mut hasher);
        *word = hasher.finish();
    }
    F::drawn(words)
}

/// A bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bit {
    /// Zero.
    Zero,
    /// One.
    One,
    /// Both are possible.
    Either,
}

/// Lanes of symbols: with halves of products as they are split with AVX-512, or, if `SIGNED`, with
/// AVX2 ([`Split`]).
#[derive(Clone, Copy, Debug)]
pub struct Symbols<F, const SIGNED: bool = false>(PhantomData<F>);

impl<F, const SIGNED: bool> Default for Symbols<F, SIGNED> {
    fn default() -> Self {
        Symbols(PhantomData)
    }
}

thread_local! {
    /// The number of right operations before the wrong one, and whether that one was reached.
    static FAULT: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs `what` with operation number `number` on [`Symbols`] giving one more than it should, in all
/// lanes, if there is such an operation; then returns what it returned. Proofs use it to show that
/// they notice.
pub fn with_fault<T>(number: u64, what: impl FnOnce() -> T) -> Option<T> {
    /// Forgets the fault, also when `what` panics.
    struct Session;
    impl Drop for Session {
        fn drop(&mut self) {
            FAULT.set(None);
        }
    }

    FAULT.set(Some(number));
    let _session = Session;
    let result = what();
    FAULT.get().is_none().then_some(result)
}

type Vector<F> = [Symbol<F>; FIELD_LANES];

/// The result of an operation, unless it is the one with the fault.
fn result<F: Residue>(mut v: Vector<F>) -> Vector<F> {
    if let Some(number) = FAULT.get() {
        if number == 0 {
            v = v.map(|x| Symbol { value: x.value.add(F::of(1)), ..x });
        }
        FAULT.set(number.checked_sub(1));
    }
    v
}

/// Applies a function of one limb to all.
#[track_caller]
fn map<F: Residue>(
    operation: &'static str,
    a: Vector<F>,
    f: impl Fn(Symbol<F>) -> Symbol<F>,
) -> Vector<F> {
    ledger::enter(operation, Location::caller());
    result(a.map(f))
}

/// Applies a function of two limbs to all.
#[track_caller]
fn map2<F: Residue>(
    operation: &'static str,
    a: Vector<F>,
    b: Vector<F>,
    f: impl Fn(Symbol<F>, Symbol<F>) -> Symbol<F>,
) -> Vector<F> {
    ledger::enter(operation, Location::caller());
    result(core::array::from_fn(|i| f(a[i], b[i])))
}

/// Applies a function of three limbs to all.
#[track_caller]
fn map3<F: Residue>(
    operation: &'static str,
    [a, b, c]: [Vector<F>; 3],
    f: impl Fn(Symbol<F>, Symbol<F>, Symbol<F>) -> Symbol<F>,
) -> Vector<F> {
    ledger::enter(operation, Location::caller());
    result(core::array::from_fn(|i| f(a[i], b[i], c[i])))
}

impl<F, const SIGNED: bool> Sealed for Symbols<F, SIGNED> {}

// Not inlined: speed is of no matter here.
impl<F: Residue, const SIGNED: bool> FieldLanes for Symbols<F, SIGNED> {
    type Limb = Symbol<F>;
    type Limbs = Vector<F>;
    type Bits = [Bit; FIELD_LANES];

    const SPLIT: Split = if SIGNED { Split::Signed51 } else { Split::Unsigned52 };
    const IS_WHOLE: bool = !SIGNED;

    #[inline(never)]
    fn run_field<K: Kernel<Self>>(self, kernel: K) -> K::Output {
        let _kernel = ledger::within(core::any::type_name::<K>());
        kernel.run(self)
    }

    #[inline(never)]
    fn load_limbs(self, from: &Vector<F>) -> Vector<F> {
        *from
    }

    #[inline(never)]
    fn store_limbs(self, to: &mut Vector<F>, v: Vector<F>) {
        *to = v;
    }

    #[inline(never)]
    fn constant_limbs(self, from: &[u64; FIELD_LANES]) -> Vector<F> {
        from.map(Symbol::constant)
    }

    #[inline(never)]
    fn splat_limb(self, value: u64) -> Vector<F> {
        [Symbol::constant(value); FIELD_LANES]
    }

    #[inline(never)]
    #[track_caller]
    fn add_limbs(self, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        map2("add_limbs", a, b, Symbol::add)
    }

    #[inline(never)]
    #[track_caller]
    fn sub_limbs(self, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        map2("sub_limbs", a, b, Symbol::sub)
    }

    #[inline(never)]
    #[track_caller]
    fn low_bits<const BITS: u32>(self, a: Vector<F>) -> Vector<F> {
        map("low_bits", a, |a| a.wide().split(BITS).0)
    }

    #[inline(never)]
    #[track_caller]
    fn high_bits<const BITS: u32>(self, a: Vector<F>) -> Vector<F> {
        map("high_bits", a, |a| a.wide().split(BITS).1)
    }

    #[inline(never)]
    #[track_caller]
    fn times<const FACTOR: u64>(self, a: Vector<F>) -> Vector<F> {
        map("times", a, |a| a.mul(Symbol::constant(FACTOR)))
    }

    #[inline(never)]
    #[track_caller]
    fn mul_add_small(self, sum: Vector<F>, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        map3("mul_add_small", [sum, a, b], |sum, a, b| sum.add(a.small_product(b)))
    }

    #[inline(never)]
    #[track_caller]
    fn mul_add_low(self, sum: Vector<F>, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        map3("mul_add_low", [sum, a, b], |sum, a, b| sum.add_low(a.product(b), Self::SPLIT))
    }

    #[inline(never)]
    #[track_caller]
    fn mul_add_high(self, sum: Vector<F>, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        map3("mul_add_high", [sum, a, b], |sum, a, b| sum.add_high(a.product(b), Self::SPLIT))
    }

    #[inline(never)]
    fn blend_limbs(self, lanes: u8, a: Vector<F>, b: Vector<F>) -> Vector<F> {
        core::array::from_fn(|i| if lanes >> i & 1 == 1 { b[i] } else { a[i] })
    }

    #[inline(never)]
    #[track_caller]
    fn permute_limbs(self, a: Vector<F>, order: &[u64; FIELD_LANES]) -> Vector<F> {
        ledger::enter("permute_limbs", Location::caller());
        let half = |lane: u64| lane as usize / (FIELD_LANES / 2);
        if !Self::IS_WHOLE && (0..).zip(order).any(|(to, &from)| half(to) != half(from)) {
            ledger::violation(format_args!("the order {order:?} leaves a half"));
        }
        order.map(|lane| a[lane as usize])
    }

    #[inline(never)]
    fn swap_limbs(self, a: Vector<F>) -> Vector<F> {
        core::array::from_fn(|i| a[i ^ 1])
    }

    #[inline(never)]
    fn bit(self, a: Vector<F>, bit: u32) -> [Bit; FIELD_LANES] {
        a.map(|a| match a.bits(bit, 1).single() {
            Some(0) => Bit::Zero,
            Some(_) => Bit::One,
            None => Bit::Either,
        })
    }

    #[inline(never)]
    fn select_limbs(self, bits: [Bit; FIELD_LANES], a: Vector<F>, b: Vector<F>) -> Vector<F> {
        core::array::from_fn(|i| match bits[i] {
            Bit::One => a[i],
            Bit::Zero => b[i],
            Bit::Either => a[i].either(b[i]),
        })
    }

    #[inline(never)]
    #[track_caller]
    fn permute_either(
        self,
        bits: [Bit; FIELD_LANES],
        a: Vector<F>,
        one: &[u64; FIELD_LANES],
        zero: &[u64; FIELD_LANES],
    ) -> Vector<F> {
        let one = self.permute_limbs(a, one);
        self.select_limbs(bits, one, self.permute_limbs(a, zero))
    }

    #[inline(never)]
    #[track_caller]
    fn nibble(self, a: Vector<F>, at: u32) -> Vector<F> {
        map("nibble", a, |a| a.bits(at, 4))
    }

    #[inline(never)]
    #[track_caller]
    fn look_up(self, table: &[u64; FIELD_LANES], index: Vector<F>) -> Vector<F> {
        map("look_up", index, |index| match index.bits(0, 3).single() {
            Some(index) => Symbol::constant(table[index as usize]),
            None => {
                let entries = table.map(Symbol::constant);
                entries[1..].iter().fold(entries[0], |all, &entry| all.either(entry))
            }
        })
    }
}
