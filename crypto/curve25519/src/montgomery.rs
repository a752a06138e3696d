//! The Montgomery ladder of RFC 7748, section 5, one at a time.

use zerocopy::FromZeros;
use zeroize::{Zeroize, Zeroizing};

use crate::field::{BYTES, Fe};
use crate::scalar::clamp;

/// (486662 - 2) / 4, so that Z' = E (AA + 121665 E).
pub(crate) const A24: u32 = 121_665;

/// A u-coordinate X/Z.
#[derive(Clone, Copy, Default, FromZeros)]
pub(crate) struct Projective {
    pub(crate) x: Fe,
    pub(crate) z: Fe,
}

impl Zeroize for Projective {
    fn zeroize(&mut self) {
        self.x.zeroize();
        self.z.zeroize();
    }
}

/// The multiple of the point with coordinate `u` by a secret scalar, which is clamped.
pub(crate) fn ladder(scalar: &[u8; BYTES], u: &[u8; BYTES]) -> Projective {
    let scalar = Zeroizing::new(clamp(scalar));
    let u = Fe::from_bytes(u);
    let mut a = Zeroizing::new(Projective { x: Fe::ONE, z: Fe::ZERO });
    let mut b = Zeroizing::new(Projective { x: u, z: Fe::ONE });
    let mut before = 0;
    for i in (0..255).rev() {
        let bit = u64::from(scalar[i / 8] >> (i % 8) & 1).wrapping_neg();
        swap(&mut a, &mut b, bit ^ before);
        before = bit;
        step(&mut a, &mut b, u);
    }
    swap(&mut a, &mut b, before);
    *a
}

#[inline(always)]
fn swap(a: &mut Projective, b: &mut Projective, mask: u64) {
    Fe::swap(&mut a.x, &mut b.x, mask);
    Fe::swap(&mut a.z, &mut b.z, mask);
}

/// Doubles `a` and adds it to `b`, from which it differs by a point with coordinate `u`.
#[inline(always)]
fn step(a: &mut Projective, b: &mut Projective, u: Fe) {
    let (sum_a, difference_a) = (a.x.add(a.z), a.x.sub(a.z));
    let (sum_b, difference_b) = (b.x.add(b.z), b.x.sub(b.z));
    let (da, cb) = (difference_b.mul(sum_a), sum_b.mul(difference_a));
    let (aa, bb) = (sum_a.square(), difference_a.square());
    let e = aa.sub(bb);
    b.x = da.add(cb).square();
    b.z = da.sub(cb).square().mul(u);
    a.x = aa.mul(bb);
    a.z = e.mul(aa.add(e.mul_small(A24)));
}
