//! Points of -x^2 + y^2 = 1 + d x^2 y^2, one at a time, by the formulas of Hisil, Wong, Carter and Dawson (2008), which hold for
//! all points.

use zerocopy::FromZeros;
use zeroize::{Zeroize, Zeroizing};

use crate::base::{self, ENTRIES, TABLES};
use crate::field::{BYTES, Fe};
use crate::scalar::{self, DIGITS, Recoded, Words};

/// d = -121665 / 121666.
pub(crate) const D: Fe = Fe::small(121_665).neg().mul(Fe::small(121_666).invert());
/// 2d.
pub(crate) const D2: Fe = D.add(D).carried();
/// A square root of -1: 2^((p - 1) / 4).
pub(crate) const ROOT: Fe = Fe::small(2).power_for_root().square().mul(Fe::small(2));

/// A point (X/Z, Y/Z), and T = XY/Z.
#[derive(Clone, Copy, FromZeros)]
pub(crate) struct Point {
    pub(crate) x: Fe,
    pub(crate) y: Fe,
    pub(crate) z: Fe,
    pub(crate) t: Fe,
}

/// A point that is to be added: Y + X, Y - X, 2dT, and Z is 1.
#[derive(Clone, Copy, Default)]
pub(crate) struct Affine {
    pub(crate) sum: Fe,
    pub(crate) difference: Fe,
    pub(crate) product: Fe,
}

/// A point that is to be added: Y + X, Y - X, 2dT, 2Z.
#[derive(Clone, Copy)]
pub(crate) struct Prepared {
    affine: Affine,
    z2: Fe,
}

impl Zeroize for Point {
    fn zeroize(&mut self) {
        for fe in [&mut self.x, &mut self.y, &mut self.z, &mut self.t] {
            fe.zeroize();
        }
    }
}

impl Zeroize for Affine {
    fn zeroize(&mut self) {
        for fe in [&mut self.sum, &mut self.difference, &mut self.product] {
            fe.zeroize();
        }
    }
}

impl Affine {
    /// The negative where `mask` is all ones.
    fn negate(&mut self, mask: u64) {
        Fe::swap(&mut self.sum, &mut self.difference, mask);
        let negative = self.product.neg();
        self.product.assign(&negative, mask);
    }
}

impl Prepared {
    fn negated(&self) -> Self {
        let Affine { sum, difference, product } = self.affine;
        let affine = Affine { sum: difference, difference: sum, product: product.neg() };
        Prepared { affine, z2: self.z2 }
    }
}

impl Point {
    pub(crate) const IDENTITY: Point = Point { x: Fe::ZERO, y: Fe::ONE, z: Fe::ONE, t: Fe::ZERO };

    /// The point whose y is 4/5 and whose x is even.
    pub(crate) const BASE: Point = {
        let y = Fe::small(4).mul(Fe::small(5).invert());
        match Point::decode_vartime(&y.to_bytes()) {
            Some(point) => point,
            None => panic!("no point"),
        }
    };

    /// The point of a public encoding, by OpenSSL's rules: a y of p or more is taken modulo p, and a sign of x = 0 is no error.
    pub(crate) const fn decode_vartime(bytes: &[u8; BYTES]) -> Option<Point> {
        let y = Fe::from_bytes(bytes);
        let square = y.square();
        // x^2 = u / v, whose root is u v^3 (u v^7)^((p - 5) / 8), times a root of -1 if need be (RFC 8032, section 5.1.3).
        let (u, v) = (square.sub(Fe::ONE).carried(), square.mul(D).add(Fe::ONE));
        let v3 = v.square().mul(v);
        let v7 = v3.square().mul(v);
        let mut x = u.mul(v7).power_for_root().mul(v3).mul(u);
        let check = x.square().mul(v);
        if !is_zero_vartime(check.sub(u)) {
            if !is_zero_vartime(check.add(u)) {
                return None;
            }
            x = x.mul(ROOT);
        }
        if x.is_odd() != (bytes[BYTES - 1] >> 7 == 1) {
            x = x.neg().carried();
        }
        Some(Point { x, y, z: Fe::ONE, t: x.mul(y) })
    }

    /// The encoding, given 1/Z.
    pub(crate) fn encode(&self, inverse: Fe) -> [u8; BYTES] {
        let mut bytes = self.y.mul(inverse).to_bytes();
        let odd = self.x.mul(inverse).is_odd();
        bytes[BYTES - 1] |= u8::from(odd) << 7;
        bytes
    }

    /// The negative.
    pub(crate) fn negated(&self) -> Point {
        Point { x: self.x.neg().carried(), t: self.t.neg().carried(), ..*self }
    }

    /// Twice the point. T is wanted by additions only. A call, as additions are: with all of them in one place the processor would
    /// have more code at hand than it can keep.
    #[inline(never)]
    pub(crate) const fn double(&self, wants_t: bool) -> Point {
        let (a, b) = (self.x.square(), self.y.square());
        let z = self.z.square();
        let h = a.add(b);
        let e = h.sub(self.x.add(self.y).square());
        let g = a.sub(b);
        let f = z.add(z).add(g);
        let t = if wants_t { e.mul(h) } else { Fe::ZERO };
        Point { x: e.mul(f), y: g.mul(h), z: f.mul(g), t }
    }

    #[inline(never)]
    const fn add_with(&self, other: &Affine, z2: Fe) -> Point {
        let a = self.y.sub(self.x).mul(other.difference);
        let b = self.y.add(self.x).mul(other.sum);
        let c = self.t.mul(other.product);
        let (e, f, g, h) = (b.sub(a), z2.sub(c), z2.add(c), b.add(a));
        Point { x: e.mul(f), y: g.mul(h), z: f.mul(g), t: e.mul(h) }
    }

    /// Sum with a point whose Z is 1.
    #[inline(always)]
    pub(crate) const fn add_affine(&self, other: &Affine) -> Point {
        self.add_with(other, self.z.add(self.z))
    }

    /// Sum.
    #[inline(always)]
    pub(crate) const fn add(&self, other: &Prepared) -> Point {
        self.add_with(&other.affine, self.z.mul(other.z2))
    }

    /// What additions of the point want.
    pub(crate) const fn prepared(&self) -> Prepared {
        let affine = Affine {
            sum: self.y.add(self.x),
            difference: self.y.sub(self.x),
            product: self.t.mul(D2),
        };
        Prepared { affine, z2: self.z.add(self.z) }
    }

    /// A secret multiple of the base point.
    pub(crate) fn multiple_of_base(digits: &Recoded) -> Point {
        let mut sum = Point::IDENTITY;
        let mut term = Zeroizing::new(Affine::default());
        for odd in [1, 0] {
            for table in 0..TABLES {
                let digit = scalar::digit(digits, 2 * table + odd);
                // All ones for digits below 8, which are negative.
                let negative = (digit >> 3).wrapping_sub(1);
                base::look_up(table, (digit ^ negative) % ENTRIES as u64, &mut term);
                term.negate(negative);
                sum = sum.add_affine(&term);
            }
            if odd == 1 {
                for i in 0..4 {
                    sum = sum.double(i == 3);
                }
            }
        }
        sum
    }

    /// `a * point + b * base`, for public scalars below L; T is not valid. The point may have any order.
    pub(crate) fn double_multiple_vartime(a: &Words, point: &Point, b: &Words) -> Point {
        let (digits, b_digits) = (scalar::recode_odd(&scalar::odd(a)), scalar::recode(b));
        let double = point.double(true).prepared();
        let mut multiples = [point.prepared(); ENTRIES];
        let mut multiple = *point;
        for entry in &mut multiples[1..] {
            multiple = multiple.add(&double);
            *entry = multiple.prepared();
        }
        let mut sum = Point::IDENTITY;
        for i in (0..DIGITS).rev() {
            let a = scalar::digit(&digits, i) as usize;
            let b = scalar::digit(&b_digits, i) as usize;
            for i in 0..4 {
                sum = sum.double(i == 3);
            }
            let term = if a < 8 { multiples[7 - a].negated() } else { multiples[a - 8] };
            sum = sum.add(&term);
            let mut term = base::entry(0, if b < 8 { 7 - b } else { b - 8 });
            if b < 8 {
                term.negate(u64::MAX);
            }
            sum = sum.add_affine(&term);
        }
        if scalar::is_even_vartime(a) { sum.add(&multiples[0].negated()) } else { sum }
    }

    /// Whether eight times the point is the identity.
    pub(crate) fn has_small_order_vartime(&self) -> bool {
        let multiple = self.double(false).double(false).double(false);
        is_zero_vartime(multiple.x) && is_zero_vartime(multiple.y.sub(multiple.z))
    }
}

const fn is_zero_vartime(f: Fe) -> bool {
    let bytes = f.to_bytes();
    let mut i = 0;
    while i < BYTES {
        if bytes[i] != 0 {
            return false;
        }
        i += 1;
    }
    true
}
