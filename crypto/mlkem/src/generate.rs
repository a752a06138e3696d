//! Key generation for one key (FIPS 203, algorithms 13 and 16).

use core::marker::PhantomData;

use kem_common::{Array, public_bytes};
use lanes::{Dispatch, Hardware, Kernel};
use secret::Secret;
use zerocopy::FromZeros;

use crate::chain::{STEP_BYTES, beside, derive, step};
use crate::code::{encode, sample_binomial};
use crate::encapsulate::{Arithmetic, MAX_MESSAGE_BYTES};
use crate::keccak::{Message512, SHA3_SUFFIX, copy_lane, pad_in_place};
use crate::keys::{KeyPair, SEED_BYTES};
use crate::matrix::{Matrix, Order};
use crate::noise::Noise;
use crate::ntt::ntt;
use crate::params::{POLY_BYTES, ParameterSet, SEED};
use crate::poly::{Poly, add};
use crate::product::{Scale, prepare, row};
use crate::sponge::{Clear, SpongeSpace};

/// Makes the factors of a key from the noise of s, and writes s.
pub(crate) struct SecretVector<'a, P: ParameterSet> {
    pub(crate) noise: &'a Noise,
    pub(crate) s: &'a mut [u8],
    pub(crate) space: &'a mut Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for SecretVector<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Arithmetic { factors, a, .. } = self.space;
        let parts = self.noise.0.iter().zip(self.s.chunks_exact_mut(POLY_BYTES));
        for ((bytes, to), factor) in parts.zip(factors.as_mut()) {
            sample_binomial(lanes, bytes, P::ETA1, a);
            ntt(lanes, a);
            encode(lanes, a, to);
            prepare(lanes, a, Scale::One, factor);
        }
    }
}

/// Writes a polynomial of t: a row of the matrix times s, and noise.
pub(crate) struct PublicPoly<'a, P: ParameterSet> {
    pub(crate) row: &'a [Poly<i16>],
    pub(crate) noise: &'a [u8],
    pub(crate) to: &'a mut [u8],
    pub(crate) space: &'a mut Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for PublicPoly<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Arithmetic { factors, a, b } = self.space;
        row(lanes, self.row, factors.as_ref(), a);
        sample_binomial(lanes, self.noise, P::ETA1, b);
        ntt(lanes, b);
        add(lanes, a, b);
        encode(lanes, a, self.to);
    }
}

/// ML-KEM.KeyGen_internal.
pub(crate) struct Generate<'a, P: ParameterSet> {
    pub(crate) seed: &'a [u8; SEED_BYTES],
    pub(crate) parameter_set: PhantomData<P>,
}

/// The memory of a key generation. Secret.
#[derive(FromZeros)]
#[repr(C)]
struct Space<P: ParameterSet> {
    /// The sponges of the matrix are elsewhere.
    sponges: SpongeSpace,
    of_matrix: SpongeSpace,
    noise: Noise,
    arithmetic: Arithmetic<P>,
    /// The seeds of the matrix and of the noise.
    derived: [u8; 2 * SEED],
}

impl<P: ParameterSet> Dispatch for Generate<'_, P> {
    type Output = KeyPair<P>;

    /// The hash of the encapsulation key begins as soon as its first blocks are known; the rest of
    /// the matrix is sampled beside it.
    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> KeyPair<P> {
        let mut space = Secret::<Space<P>>::zeroed();
        let Space { sponges, of_matrix, noise, arithmetic, derived } = &mut *space;
        let mut pair = KeyPair::<P>::blank();
        let message =
            Message512 { secret: self.seed.first_chunk().unwrap(), public: &[P::K as u8] };
        derive(lanes, message, derived, sponges);
        let (seed, of_noise) = derived.split_first_chunk().unwrap();
        public_bytes(seed);
        noise.fill::<P, _>(lanes, of_noise.first_chunk().unwrap(), 2 * P::K, sponges);
        let (key, secret) = pair.encodings_mut();
        lanes.run(SecretVector { noise, s: secret.s, space: arithmetic });

        let (mut message, mut hash) = ([0; MAX_MESSAGE_BYTES], [0; SEED]);
        message[P::K * POLY_BYTES..][..SEED].copy_from_slice(seed);
        let bytes = pad_in_place(&mut message, P::ENCAPSULATION_KEY_BYTES, SHA3_SUFFIX);
        let mut polys = P::Matrix::filled(Poly::zero());
        let mut matrix = Matrix { seed, order: Order::Rows, polys: polys.as_mut(), done: 0 };
        let mut rows = 0;
        lanes.run_many(Clear(&mut sponges.states));
        for end in (STEP_BYTES..=bytes).step_by(STEP_BYTES) {
            // Nothing is sampled beside a chain that has one lane.
            let needed = match beside::<L::Chain>() {
                0 => P::K,
                _ => end.div_ceil(POLY_BYTES).min(P::K),
            };
            while matrix.done < needed * P::K {
                matrix.sample_next::<P, _>(lanes, of_matrix);
            }
            while rows < matrix.done / P::K {
                let row = &matrix.polys[rows * P::K..][..P::K];
                let to = &mut message[rows * POLY_BYTES..][..POLY_BYTES];
                let noise = &noise.0[P::K + rows];
                lanes.run(PublicPoly { row, noise, to: &mut *to, space: arithmetic });
                public_bytes(to);
                rows += 1;
            }
            let blocks = &message[end - STEP_BYTES..end];
            step::<P, _>(lanes, blocks, 1, sponges, &mut matrix);
        }
        copy_lane(&sponges.states, 0, &mut hash);
        key.copy_from_slice(&message[..P::ENCAPSULATION_KEY_BYTES]);
        pair.complete(&hash, self.seed);
        pair
    }
}
