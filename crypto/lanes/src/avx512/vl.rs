//! AVX-512 VL on its own: rotations and functions of three operands in vectors of 256 bits, for
//! processors without the other extensions that [`Avx512`] needs (Skylake-X, Cascade
//! Lake).

use super::Avx512;
use super::hash::Half;
use crate::{Avx2, SpongeKernel};

/// The token of a processor with AVX-512 F and VL, and AVX2.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vl(Half);

impl Vl {
    /// The token, if this processor has what it stands for.
    #[inline]
    pub(crate) fn detect() -> Option<Self> {
        if !(is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512vl")) {
            return None;
        }
        Avx2::detect().map(|wide| Vl(Half::of(wide)))
    }

    /// The token where AVX2 lanes are the best that a processor has for other kernels: it has VL,
    /// but not all that [`Avx512`] needs. Where it has, these lanes stay without AVX-512.
    #[inline]
    pub(crate) fn instead_of_avx2() -> Option<Self> {
        Self::detect().filter(|_| Avx512::detect().is_none())
    }

    /// Runs `kernel` compiled for this instruction set.
    #[inline(always)]
    pub(crate) fn run<K: SpongeKernel>(self, kernel: K) -> K::Output {
        // SAFETY: the token is proof that the processor has the instructions.
        unsafe { run(self, kernel) }
    }
}

/// The boundary: `kernel`, and all that is inlined into it, is compiled for AVX-512 VL.
#[target_feature(enable = "avx512f,avx512vl,bmi1,bmi2,popcnt,lzcnt")]
#[inline(never)]
fn run<K: SpongeKernel>(lanes: Vl, kernel: K) -> K::Output {
    kernel.run(lanes.0)
}
