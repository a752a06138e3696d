//! Words as polynomials modulo q: proofs that kernels compute the right values.

use core::cell::RefCell;
use core::fmt;
use std::thread::LocalKey;

use zerocopy::FromZeros;

use super::{self as proof, Value, ledger};
use crate::{Modulus, Word};

/// A polynomial in a kernel's inputs, modulo the modulus of [`polynomials_modulo`], of degree at
/// most 2: what a word is, if no operation leaves its range. Two are equal if all their
/// coefficients are.
#[derive(Clone, Copy, FromZeros)]
pub struct Polynomial(Form);

#[derive(Clone, Copy, FromZeros)]
#[repr(u8)]
enum Form {
    /// A public constant, which is an integer.
    Constant(i16),
    /// Any other value.
    Variable(Terms),
    /// A value times q^-1 modulo 2^16: of no use but as what [`crate::Lanes::prepare`] makes it
    /// for.
    Prepared(Terms),
}

/// Terms in the memory of [`polynomials_modulo`], in order, without zeros.
#[derive(Clone, Copy, PartialEq, Eq, FromZeros)]
struct Terms {
    start: usize,
    end: usize,
}

/// A product of at most two variables: one more than their numbers, the smaller in the upper half;
/// zero for none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monomial(u32);

impl Monomial {
    /// The empty product.
    pub const ONE: Monomial = Monomial(0);

    /// A variable, numbered below 2^16 - 1.
    pub const fn variable(number: usize) -> Self {
        assert!(number < u16::MAX as usize);
        Monomial(number as u32 + 1)
    }

    /// The product with another, if its degree is at most 2.
    pub const fn times(self, other: Self) -> Option<Self> {
        let (low, high) = if self.0 < other.0 { (self.0, other.0) } else { (other.0, self.0) };
        if low == 0 {
            Some(Monomial(high))
        } else if high >> 16 == 0 {
            Some(Monomial(low << 16 | high))
        } else {
            None
        }
    }
}

impl fmt::Display for Monomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for variable in [self.0 >> 16, self.0 & 0xffff].into_iter().filter(|&variable| variable > 0)
        {
            write!(f, " x{}", variable - 1)?;
        }
        Ok(())
    }
}

#[derive(Default)]
struct Memory {
    /// Zero outside of [`polynomials_modulo`].
    q: u32,
    /// Coefficients are in 0 .. q.
    terms: Vec<(Monomial, u32)>,
    scratch: Vec<(Monomial, u32)>,
}

thread_local! {
    static MEMORY: RefCell<Memory> = RefCell::default();
}

/// Runs `what`, in which polynomials have coefficients modulo `q`. None of them may be used
/// outside, or by another thread.
pub fn polynomials_modulo<T>(q: Modulus, what: impl FnOnce() -> T) -> T {
    struct Session;
    impl Drop for Session {
        fn drop(&mut self) {
            MEMORY.take();
        }
    }

    MEMORY.with_borrow_mut(|memory| {
        assert_eq!(memory.q, 0, "polynomials have one modulus at a time");
        memory.q = q.q as u32;
    });
    let _session = Session;
    what()
}

impl Memory {
    /// The sum of products of a coefficient and terms, and of the products of terms.
    fn sum(&mut self, parts: &[(u32, Terms)], products: &[(Terms, Terms)]) -> Terms {
        assert_ne!(self.q, 0, "polynomials are used inside of polynomials_modulo only");
        let mut terms = core::mem::take(&mut self.scratch);
        for &(factor, part) in parts {
            for &(monomial, coefficient) in &self.terms[part.start..part.end] {
                terms.push((monomial, factor * coefficient % self.q));
            }
        }
        for &(a, b) in products {
            for &(first, x) in &self.terms[a.start..a.end] {
                for &(second, y) in &self.terms[b.start..b.end] {
                    match first.times(second) {
                        Some(monomial) => terms.push((monomial, x * y % self.q)),
                        None => ledger::violation(format_args!("degree above 2:{first}{second}")),
                    }
                }
            }
        }
        terms.sort_by_key(|&(monomial, _)| monomial);
        let start = self.terms.len();
        for of_one in terms.chunk_by(|(a, _), (b, _)| a == b) {
            let sum = of_one.iter().map(|&(_, coefficient)| coefficient).sum::<u32>();
            let coefficient = sum % self.q;
            if coefficient != 0 {
                self.terms.push((of_one[0].0, coefficient));
            }
        }
        terms.clear();
        self.scratch = terms;
        Terms { start, end: self.terms.len() }
    }

    fn get(&self, terms: Terms) -> &[(Monomial, u32)] {
        &self.terms[terms.start..terms.end]
    }
}

/// [`Memory::sum`] in the thread's memory.
fn sum(parts: &[(u32, Terms)], products: &[(Terms, Terms)]) -> Terms {
    MEMORY.with_borrow_mut(|memory| memory.sum(parts, products))
}

fn difference(a: Terms, b: Terms) -> Terms {
    let minus = MEMORY.with_borrow(|memory| memory.q) - 1;
    sum(&[(1, a), (minus, b)], &[])
}

/// `terms / 2^16`.
fn divide(terms: Terms) -> Terms {
    // Times 1/2, sixteen times.
    let half = MEMORY.with_borrow(|memory| memory.q / 2 + 1);
    let mut inverse = 1;
    for _ in 0..16 {
        inverse = inverse * half % (2 * half - 1);
    }
    sum(&[(inverse, terms)], &[])
}

impl Polynomial {
    /// The sum of the given terms.
    pub fn of(terms: &[(Monomial, i64)]) -> Self {
        let terms = MEMORY.with_borrow_mut(|memory| {
            let q = i64::from(memory.q);
            let start = memory.terms.len();
            memory
                .terms
                .extend(terms.iter().map(|&(monomial, x)| (monomial, x.rem_euclid(q) as u32)));
            let end = memory.terms.len();
            memory.sum(&[(1, Terms { start, end })], &[])
        });
        Polynomial(Form::Variable(terms))
    }

    /// A variable.
    pub fn variable(number: usize) -> Self {
        Self::of(&[(Monomial::variable(number), 1)])
    }

    /// Its terms.
    fn terms(self) -> Terms {
        match self.0 {
            Form::Constant(value) => Self::of(&[(Monomial::ONE, value.into())]).terms(),
            Form::Variable(terms) => terms,
            Form::Prepared(terms) => {
                ledger::violation(format_args!("a prepared factor is used as a value"));
                terms
            }
        }
    }

    /// The constant, or a violation and zero.
    fn expect_constant(self) -> i16 {
        if let Form::Constant(value) = self.0 {
            return value;
        }
        ledger::violation(format_args!("{self:?} is no constant: this is no polynomial"));
        0
    }

    fn expect_modulus(q: Modulus) {
        let own = MEMORY.with_borrow(|memory| memory.q);
        if own != q.q as u32 {
            ledger::violation(format_args!("modulus {} among polynomials modulo {own}", q.q));
        }
    }
}

impl Default for Polynomial {
    fn default() -> Self {
        Polynomial(Form::Constant(0))
    }
}

impl Word for Polynomial {
    fn constant(value: i16) -> Self {
        Polynomial(Form::Constant(value))
    }
}

impl PartialEq for Polynomial {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (self.terms(), other.terms());
        MEMORY.with_borrow(|memory| memory.get(a) == memory.get(b))
    }
}

impl Eq for Polynomial {}

impl fmt::Debug for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        let terms = self.terms();
        MEMORY.with_borrow(|memory| {
            let terms = memory.get(terms);
            for (i, (monomial, coefficient)) in terms.iter().take(SHOWN).enumerate() {
                write!(f, "{}{coefficient}{monomial}", if i > 0 { " + " } else { "" })?;
            }
            match terms.len() {
                0 => f.write_str("0"),
                1..=SHOWN => Ok(()),
                more => write!(f, " + {} more", more - SHOWN),
            }
        })
    }
}

impl Value for Polynomial {
    type Accumulator = Polynomial;

    fn vectors() -> &'static LocalKey<proof::Memory<Self>> {
        thread_local! {
            static VECTORS: proof::Memory<Polynomial> = RefCell::default();
        }
        &VECTORS
    }

    fn add(self, other: Self) -> Self {
        if let (Form::Constant(a), Form::Constant(b)) = (self.0, other.0) {
            return Self::constant(a.wrapping_add(b));
        }
        Polynomial(Form::Variable(sum(&[(1, self.terms()), (1, other.terms())], &[])))
    }

    fn sub(self, other: Self) -> Self {
        if let (Form::Constant(a), Form::Constant(b)) = (self.0, other.0) {
            return Self::constant(a.wrapping_sub(b));
        }
        Polynomial(Form::Variable(difference(self.terms(), other.terms())))
    }

    fn select(mask: Self, a: Self, b: Self) -> Self {
        match mask.expect_constant() {
            -1 => a,
            0 => b,
            other => {
                ledger::violation(format_args!("{other} is not a mask"));
                b
            }
        }
    }

    fn and(self, other: Self) -> Self {
        let is_mask = matches!(self.0, Form::Constant(-1 | 0));
        let (mask, word) = if is_mask { (self, other) } else { (other, self) };
        Self::select(mask, word, Self::constant(0))
    }

    fn nonzero(self) -> Self {
        Self::constant(-i16::from(self.expect_constant() != 0))
    }

    fn negative(self) -> Self {
        Self::constant(-i16::from(self.expect_constant() < 0))
    }

    fn no_multiple(self) -> Self {
        Self::constant(-i16::from(self.expect_constant().unsigned_abs() > 1))
    }

    fn positive(self) -> Self {
        Self::constant(-i16::from(self.expect_constant() > 0))
    }

    fn montgomery(self, b: Self, b_q: Self, q: Modulus) -> Self {
        Self::expect_modulus(q);
        let right = match (b.0, b_q.0) {
            (Form::Constant(b), Form::Constant(b_q)) => b_q == b.wrapping_mul(q.inverse),
            (Form::Variable(b), Form::Prepared(of)) => b == of,
            _ => false,
        };
        if !right {
            ledger::violation(format_args!("the second factor was not prepared, or another was"));
        }
        Polynomial(Form::Variable(divide(sum(&[], &[(self.terms(), b.terms())]))))
    }

    fn prepare(self, q: Modulus) -> Self {
        Self::expect_modulus(q);
        Polynomial(match self.0 {
            Form::Constant(value) => Form::Constant(value.wrapping_mul(q.inverse)),
            _ => Form::Prepared(self.terms()),
        })
    }

    fn barrett(self, q: Modulus) -> Self {
        Self::expect_modulus(q);
        Polynomial(Form::Variable(self.terms()))
    }

    fn freeze(self, q: Modulus) -> Self {
        self.barrett(q)
    }

    fn freeze3(self) -> Self {
        ledger::violation(format_args!("{self:?} modulo 3 is no polynomial modulo q"));
        self
    }

    fn zero() -> Self {
        Self::default()
    }

    fn dot(acc: Self, a: [Self; 2], b: [Self; 2]) -> Self {
        let products = [(a[0].terms(), b[0].terms()), (a[1].terms(), b[1].terms())];
        Polynomial(Form::Variable(sum(&[(1, acc.terms())], &products)))
    }

    fn reduce(acc: Self, q: Modulus) -> Self {
        Self::expect_modulus(q);
        Polynomial(Form::Variable(divide(acc.terms())))
    }
}
