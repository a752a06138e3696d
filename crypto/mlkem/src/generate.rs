//! Key generation for one key (FIPS 203, algorithms 13 and 16).

use core::marker::PhantomData;

use kem_common::{Array, public_bytes};
use lanes::{Dispatch, Hardware, Kernel};
use secret::Secret;
use zerocopy::FromZeros;

use crate::chain::{Derive, HashBlocks};
use crate::code::{encode, sample_binomial};
use crate::encapsulate::{Arithmetic, MAX_MESSAGE_BYTES};
use crate::keccak::{SHA3_SUFFIX, States, pad};
use crate::keys::{KeyPair, SEED_BYTES};
use crate::matrix::{Order, SampleMatrix};
use crate::noise::{MakeNoise, Noise};
use crate::ntt::ntt;
use crate::params::{POLY_BYTES, ParameterSet, SEED};
use crate::poly::{Poly, add};
use crate::product::{Factor, Scale, prepare, row};

/// Makes the factors of a key from its noise, and writes s.
#[inline(always)]
pub(crate) fn secret_vector<'a, L: Hardware>(
    lanes: L,
    eta: usize,
    noise: impl Iterator<Item = &'a [u8]>,
    s: &mut [u8],
    factors: &mut [Factor<i16>],
    a: &mut Poly<i16>,
) {
    for ((bytes, to), factor) in noise.zip(s.chunks_exact_mut(POLY_BYTES)).zip(factors) {
        sample_binomial(lanes, bytes, eta, a);
        ntt(lanes, a);
        encode(lanes, a, to);
        prepare(lanes, a, Scale::One, factor);
    }
}

/// Writes a polynomial of t: a row of the matrix times s, and noise.
#[inline(always)]
pub(crate) fn public_poly<L: Hardware>(
    lanes: L,
    matrix_row: &[Poly<i16>],
    factors: &[Factor<i16>],
    (noise, eta): (&[u8], usize),
    [a, b]: [&mut Poly<i16>; 2],
    to: &mut [u8],
) {
    row(lanes, matrix_row, factors, a);
    sample_binomial(lanes, noise, eta, b);
    ntt(lanes, b);
    add(lanes, a, b);
    encode(lanes, a, to);
}

/// s and t of a key from its noise and its matrix.
struct Keys<'a, P: ParameterSet> {
    matrix: &'a P::Matrix<Poly<i16>>,
    noise: &'a Noise,
    s: &'a mut [u8],
    t: &'a mut [u8],
    space: &'a mut Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Keys<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let Arithmetic { factors, a, b } = self.space;
        let (of_s, of_e) = self.noise.0.split_at(P::K);
        let of_s = of_s.iter().map(|bytes| &bytes[..]);
        secret_vector(lanes, P::ETA1, of_s, self.s, factors.as_mut(), a);
        let rows = self.matrix.as_ref().chunks_exact(P::K);
        for ((row, noise), to) in rows.zip(of_e).zip(self.t.chunks_exact_mut(POLY_BYTES)) {
            public_poly(lanes, row, factors.as_ref(), (noise, P::ETA1), [&mut *a, &mut *b], to);
        }
    }
}

/// ML-KEM.KeyGen_internal.
pub(crate) struct Generate<'a, P: ParameterSet> {
    pub(crate) seed: &'a [u8; SEED_BYTES],
    pub(crate) parameter_set: PhantomData<P>,
}

/// The memory of a key generation.
#[derive(FromZeros)]
#[repr(C)]
struct Space<P: ParameterSet> {
    states: States,
    noise: Noise,
    arithmetic: Arithmetic<P>,
    /// The seeds of the matrix and of the noise.
    derived: [u8; 2 * SEED],
}

impl<P: ParameterSet> Dispatch for Generate<'_, P> {
    type Output = KeyPair<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> KeyPair<P> {
        let mut space = Secret::<Space<P>>::zeroed();
        let Space { states, noise, arithmetic, derived } = &mut *space;
        let mut pair = KeyPair::<P>::blank();
        let parts = [&self.seed[..SEED], &[P::K as u8]];
        lanes.run(Derive { parts, to: derived, states });
        let (of_matrix, of_noise) = derived.split_first_chunk().unwrap();
        public_bytes(of_matrix);

        let mut matrix = P::Matrix::filled(Poly::zero());
        let (seed, to) = (of_matrix, &mut matrix);
        lanes.run(SampleMatrix::<P> { seed, order: Order::Rows, first: 0, matrix: to });
        let (seed, streams) = (of_noise.first_chunk().unwrap(), 2 * P::K);
        lanes.run(MakeNoise::<P> { seed, streams, states, noise, parameter_set: PhantomData });
        let (key, secret) = pair.encodings_mut();
        let (t, rho) = key.split_at_mut(POLY_BYTES * P::K);
        lanes.run(Keys::<P> { matrix: &matrix, noise, s: secret.s, t, space: arithmetic });
        rho.copy_from_slice(of_matrix);
        public_bytes(key);

        let mut message = [0; MAX_MESSAGE_BYTES];
        let blocks = pad(&mut message, &[key], SHA3_SUFFIX);
        let mut hash = [0; SEED];
        lanes.run(HashBlocks { blocks, hash: &mut hash, states });
        pair.complete(&hash, self.seed);
        pair
    }
}
