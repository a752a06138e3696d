//! Words as ranges of integers: proofs that no word overflows.

use core::cell::RefCell;
use core::fmt;
use core::num::NonZeroU8;
use core::ops::RangeInclusive;
use std::collections::HashMap;
use std::thread::LocalKey;

use zerocopy::FromZeros;

use super::{Memory, Value, ledger};
use crate::{Lanes, Modulus, Portable, Word};

/// A range of integers of 16 bits: all values that a word may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromZeros)]
pub struct Interval {
    low: i16,
    high: i16,
    /// For what [`Lanes::prepare`] gives: one more than how many times q goes into the absolute
    /// value of what it was given.
    quotient: Option<NonZeroU8>,
}

impl Word for Interval {
    fn constant(value: i16) -> Self {
        Interval { low: value, high: value, quotient: None }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..={}", self.low, self.high)
    }
}

/// The range of an accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    low: i32,
    high: i32,
}

/// A mask is all ones or zero.
const MASK: Interval = Interval { low: -1, high: 0, quotient: None };
const ANY: Interval = Interval { low: i16::MIN, high: i16::MAX, quotient: None };

impl Interval {
    /// The integers of absolute value at most `bound`.
    pub const fn within(bound: i16) -> Self {
        assert!(bound >= 0);
        Interval { low: -bound, high: bound, quotient: None }
    }

    /// The integers of `range`, which must not be empty.
    pub const fn of(range: RangeInclusive<i16>) -> Self {
        let (low, high) = (*range.start(), *range.end());
        assert!(low <= high);
        Interval { low, high, quotient: None }
    }

    /// The smallest integer in it.
    pub const fn low(self) -> i16 {
        self.low
    }

    /// The largest integer in it.
    pub const fn high(self) -> i16 {
        self.high
    }

    /// The largest absolute value.
    pub const fn bound(self) -> u16 {
        let (low, high) = (self.low.unsigned_abs(), self.high.unsigned_abs());
        if low > high { low } else { high }
    }

    /// Whether all of it lies in `other`.
    pub const fn is_in(self, other: Self) -> bool {
        self.low >= other.low && self.high <= other.high
    }

    /// The smallest interval with both in it.
    pub fn hull(self, other: Self) -> Self {
        let quotient = self.quotient.zip(other.quotient).map(|(a, b)| a.max(b));
        Interval { low: self.low.min(other.low), high: self.high.max(other.high), quotient }
    }

    /// The one integer in it, if there is one only.
    pub const fn single(self) -> Option<i16> {
        if self.low == self.high { Some(self.low) } else { None }
    }

    /// The interval of these bounds, or a violation.
    fn checked(
        low: i32,
        high: i32,
        a: impl fmt::Display,
        sign: &str,
        b: impl fmt::Display,
    ) -> Self {
        if low < i16::MIN.into() || high > i16::MAX.into() {
            ledger::violation(format_args!(
                "({a}) {sign} ({b}) = {low}..={high} leaves {}..={}",
                i16::MIN,
                i16::MAX
            ));
        }
        let saturated = |x: i32| x.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Interval { low: saturated(low), high: saturated(high), quotient: None }
    }

    /// Smallest and largest product.
    fn products(self, other: Self) -> (i32, i32) {
        let product = |a: i16, b: i16| i32::from(a) * i32::from(b);
        let corners = [
            product(self.low, other.low),
            product(self.low, other.high),
            product(self.high, other.low),
            product(self.high, other.high),
        ];
        let [mut low, mut high] = [corners[0]; 2];
        for corner in corners {
            (low, high) = (low.min(corner), high.max(corner));
        }
        (low, high)
    }

    /// The image under a function of one word, by portable lanes on every integer in it.
    fn image(self, operation: Operation, q: Modulus) -> Self {
        thread_local! {
            static IMAGES: RefCell<HashMap<(Operation, i16, Interval), Interval>> = RefCell::default();
        }
        let key = (operation, q.q, self);
        if let Some(image) = IMAGES.with_borrow(|images| images.get(&key).copied()) {
            return image;
        }
        let mut image: Option<Self> = None;
        let mut next = i32::from(self.low);
        while next <= i32::from(self.high) {
            // The last vector repeats the last integer.
            let mut words = [self.high; Portable::WORDS];
            for word in &mut words {
                *word = next.min(self.high.into()) as i16;
                next += 1;
            }
            let words = match operation {
                Operation::Barrett => Portable.barrett(words, q),
                Operation::Freeze => Portable.freeze(words, q),
                Operation::Freeze3 => Portable.freeze3(words),
            };
            for word in words {
                let point = Interval::constant(word);
                image = Some(image.map_or(point, |image| image.hull(point)));
            }
        }
        let image = image.unwrap_or(ANY);
        IMAGES.with_borrow_mut(|images| images.insert(key, image));
        image
    }

    fn expect_mask(self) {
        if !self.is_in(MASK) {
            ledger::violation(format_args!("{self} is not a mask"));
        }
    }
}

/// Functions of one word.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Barrett,
    Freeze,
    Freeze3,
}

impl Value for Interval {
    type Accumulator = Sum;

    fn vectors() -> &'static LocalKey<Memory<Self>> {
        thread_local! {
            static VECTORS: Memory<Interval> = RefCell::default();
        }
        &VECTORS
    }

    fn add(self, other: Self) -> Self {
        let low = i32::from(self.low) + i32::from(other.low);
        let high = i32::from(self.high) + i32::from(other.high);
        Self::checked(low, high, self, "+", other)
    }

    fn sub(self, other: Self) -> Self {
        let low = i32::from(self.low) - i32::from(other.high);
        let high = i32::from(self.high) - i32::from(other.low);
        Self::checked(low, high, self, "-", other)
    }

    fn select(mask: Self, a: Self, b: Self) -> Self {
        mask.expect_mask();
        match mask.single() {
            Some(-1) => a,
            Some(0) => b,
            _ => a.hull(b),
        }
    }

    fn and(self, other: Self) -> Self {
        let (mask, word) = if self.is_in(MASK) { (self, other) } else { (other, self) };
        Self::select(mask, word, Self::constant(0))
    }

    fn nonzero(self) -> Self {
        match self {
            Interval { low: 0, high: 0, .. } => Self::constant(0),
            Interval { low: ..=0, high: 0.., .. } => MASK,
            _ => Self::constant(-1),
        }
    }

    fn negative(self) -> Self {
        match self {
            Interval { high: ..=-1, .. } => Self::constant(-1),
            Interval { low: 0.., .. } => Self::constant(0),
            _ => MASK,
        }
    }

    fn no_multiple(self) -> Self {
        if self.quotient.is_none_or(|more| more.get() > 2) {
            ledger::violation(format_args!("this was not prepared from a word below 2q"));
        }
        self.single().map_or(MASK, |a_q| Self::constant(-i16::from(a_q.unsigned_abs() > 1)))
    }

    fn positive(self) -> Self {
        match self {
            Interval { high: ..=0, .. } => Self::constant(0),
            Interval { low: 1.., .. } => Self::constant(-1),
            _ => MASK,
        }
    }

    /// Sound for any `b_q`: the low halves of the two products it subtracts are left out, whatever
    /// they are.
    fn montgomery(self, b: Self, b_q: Self, q: Modulus) -> Self {
        if let (Some(a), Some(b), Some(b_q)) = (self.single(), b.single(), b_q.single()) {
            let words = |x| [x; Portable::WORDS];
            return Self::constant(Portable.montgomery(words(a), words(b), words(b_q), q)[0]);
        }
        let (low, high) = self.products(b);
        let modulus = i32::from(q.q);
        let (least, most) =
            ((i32::from(i16::MIN) * modulus) >> 16, (i32::from(i16::MAX) * modulus) >> 16);
        Self::checked((low >> 16) - most, (high >> 16) - least, self, "*", b)
    }

    fn prepare(self, q: Modulus) -> Self {
        let quotient = u8::try_from(self.bound() / q.q.unsigned_abs());
        let quotient = quotient.ok().and_then(|quotient| NonZeroU8::MIN.checked_add(quotient));
        let product = self.single().map_or(ANY, |a| Self::constant(a.wrapping_mul(q.inverse)));
        Interval { quotient, ..product }
    }

    fn barrett(self, q: Modulus) -> Self {
        self.image(Operation::Barrett, q)
    }

    fn freeze(self, q: Modulus) -> Self {
        self.image(Operation::Freeze, q)
    }

    fn freeze3(self) -> Self {
        if self.bound() >= 1 << 14 {
            ledger::violation(format_args!("{self} leaves -2^14+1..=2^14-1"));
        }
        self.image(Operation::Freeze3, Modulus::new(3))
    }

    fn zero() -> Sum {
        Sum { low: 0, high: 0 }
    }

    fn dot(sum: Sum, a: [Self; 2], b: [Self; 2]) -> Sum {
        let (first, second) = (a[0].products(b[0]), a[1].products(b[1]));
        let low = i64::from(first.0) + i64::from(second.0);
        let high = i64::from(first.1) + i64::from(second.1);
        let [[a0, a1], [b0, b1]] = [a, b];
        // Two products are added before the accumulator is.
        let pair = checked_sum(low, high, format_args!("({a0}) * ({b0}) + ({a1}) * ({b1})"));
        let (low, high) =
            (i64::from(sum.low) + i64::from(pair.low), i64::from(sum.high) + i64::from(pair.high));
        checked_sum(
            low,
            high,
            format_args!("({}..={}) + ({a0}) * ({b0}) + ({a1}) * ({b1})", sum.low, sum.high),
        )
    }

    fn reduce(sum: Sum, q: Modulus) -> Self {
        let modulus = i64::from(q.q);
        let value =
            |sum: i32, t: i16| (i64::from(sum) - i64::from(t) * modulus).div_euclid(1 << 16) as i32;
        let (low, high) = if sum.low == sum.high {
            let exact = value(sum.low, (sum.low as i16).wrapping_mul(q.inverse));
            (exact, exact)
        } else {
            // t is whatever makes the difference a multiple of 2^16, so the lower bound is rounded
            // up.
            let low = i64::from(sum.low) - i64::from(i16::MAX) * modulus;
            (-((-low).div_euclid(1 << 16)) as i32, value(sum.high, i16::MIN))
        };
        Self::checked(low, high, format_args!("{}..={}", sum.low, sum.high), "/", "2^16")
    }
}

/// The accumulator of these bounds, or a violation.
fn checked_sum(low: i64, high: i64, what: fmt::Arguments<'_>) -> Sum {
    if low < i32::MIN.into() || high > i32::MAX.into() {
        ledger::violation(format_args!(
            "{what} = {low}..={high} leaves {}..={}",
            i32::MIN,
            i32::MAX
        ));
    }
    let saturated = |x: i64| x.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
    Sum { low: saturated(low), high: saturated(high) }
}
