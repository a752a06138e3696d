//! Points of -x^2 + y^2 = 1 + d x^2 y^2, one at a time, by the formulas of Hisil, Wong, Carter and
//! Dawson (2008), which hold for all points.

use zerocopy::FromZeros;
use zeroize::Zeroize;

use crate::field::{BYTES, Fe};

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
    pub(crate) fn negate(&mut self, mask: u64) {
        Fe::swap(&mut self.sum, &mut self.difference, mask);
        let negative = self.product.neg();
        self.product.assign(&negative, mask);
    }
}

impl Prepared {
    pub(crate) fn negated(&self) -> Self {
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

    /// The point of a public encoding, by OpenSSL's rules: a y of p or more is taken modulo p, and
    /// a sign of x = 0 is no error.
    pub(crate) const fn decode_vartime(bytes: &[u8; BYTES]) -> Option<Point> {
        let y = Fe::from_bytes(bytes);
        let square = y.square();
        // x^2 = u / v, whose root is u v^3 (u v^7)^((p - 5) / 8), times a root of -1 if need be
        // (RFC 8032, section 5.1.3).
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

    /// Twice the point. T is wanted by additions only. A call, as additions are: with all of them
    /// in one place the processor would have more code at hand than it can keep.
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

    /// The point prepared for additions.
    pub(crate) const fn prepared(&self) -> Prepared {
        let affine = Affine {
            sum: self.y.add(self.x),
            difference: self.y.sub(self.x),
            product: self.t.mul(D2),
        };
        Prepared { affine, z2: self.z.add(self.z) }
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
