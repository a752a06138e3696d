//! Key generation for one key (FIPS 203, algorithms 13 and 16).

use core::marker::PhantomData;

use kem_common::{Array, public_bytes};
use lanes::{Dispatch, Hardware, Kernel};
use secret::Secret;
use zerocopy::FromZeros;

use crate::chain::{ChainSpace, Derive, MatrixBeside, STEP_BYTES, beside, step};
use crate::code::{encode, sample_binomial};
use crate::encapsulate::{Arithmetic, MAX_MESSAGE_BYTES};
use crate::keccak::{SHA3_SUFFIX, SHAKE128_WORDS, SeedBlock, clear, copy_lane, pad_in_place};
use crate::keys::{KeyPair, SEED_BYTES};
use crate::matrix::{MatrixSpace, Order, sample_some};
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

/// A key and the hash of its encapsulation key, from the noise and the seed of the matrix. The
/// hash begins as soon as its first blocks are known; the rest of the matrix is sampled beside it.
struct Keys<'a, P: ParameterSet> {
    seed: &'a [u8; SEED],
    noise: &'a Noise,
    s: &'a mut [u8],
    /// The encapsulation key, and after it zeros.
    message: &'a mut [u8; MAX_MESSAGE_BYTES],
    hash: &'a mut [u8; SEED],
    space: &'a mut KeysSpace<P>,
}

/// The memory for a key. Secret.
#[derive(FromZeros)]
#[repr(C)]
struct KeysSpace<P: ParameterSet> {
    chain: ChainSpace,
    arithmetic: Arithmetic<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for Keys<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let KeysSpace { chain, arithmetic: Arithmetic { factors, a, b } } = self.space;
        let (of_s, of_e) = self.noise.0.split_at(P::K);
        let of_s = of_s.iter().map(|bytes| &bytes[..]);
        secret_vector(lanes, P::ETA1, of_s, self.s, factors.as_mut(), a);

        let mut polys = P::Matrix::filled(Poly::zero());
        let (mut space, mut rows) = (MatrixSpace::zero(), 0);
        let seed = SeedBlock::new(self.seed, SHAKE128_WORDS);
        let (order, polys) = (Order::Rows, polys.as_mut());
        let mut matrix = MatrixBeside { seed, order, polys, done: 0 };
        self.message[P::K * POLY_BYTES..][..SEED].copy_from_slice(self.seed);
        let bytes = pad_in_place(self.message, P::ENCAPSULATION_KEY_BYTES, SHA3_SUFFIX);
        clear(lanes.many(), &mut chain.states);
        for end in (STEP_BYTES..=bytes).step_by(STEP_BYTES) {
            // Nothing is sampled beside a chain that has one lane.
            let needed = match beside::<L::Chain>() {
                0 => P::K,
                _ => end.div_ceil(POLY_BYTES).min(P::K),
            };
            while matrix.done < needed * P::K {
                let MatrixBeside { seed, polys, done, .. } = &mut matrix;
                *done += sample_some::<P, _>(lanes, seed, order, *done, &mut space, polys);
            }
            while rows < matrix.done / P::K {
                let row = &matrix.polys[rows * P::K..][..P::K];
                let to = &mut self.message[rows * POLY_BYTES..][..POLY_BYTES];
                let noise = (&of_e[rows][..], P::ETA1);
                public_poly(lanes, row, factors.as_ref(), noise, [&mut *a, &mut *b], to);
                public_bytes(to);
                rows += 1;
            }
            let blocks = &self.message[end - STEP_BYTES..end];
            step::<P, _>(lanes, blocks, 1, chain, &mut matrix);
        }
        copy_lane(&chain.states, 0, self.hash);
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
    noise: Noise,
    keys: KeysSpace<P>,
    /// The seeds of the matrix and of the noise.
    derived: [u8; 2 * SEED],
}

impl<P: ParameterSet> Dispatch for Generate<'_, P> {
    type Output = KeyPair<P>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> KeyPair<P> {
        let mut space = Secret::<Space<P>>::zeroed();
        let Space { noise, keys, derived } = &mut *space;
        let mut pair = KeyPair::<P>::blank();
        let (parts, states) = ([&self.seed[..SEED], &[P::K as u8]], &mut keys.chain.states);
        lanes.run(Derive { parts, to: derived, states });
        let (of_matrix, of_noise) = derived.split_first_chunk().unwrap();
        public_bytes(of_matrix);

        let (seed, streams) = (of_noise.first_chunk().unwrap(), 2 * P::K);
        lanes.run(MakeNoise::<P> { seed, streams, states, noise, parameter_set: PhantomData });
        let (key, secret) = pair.encodings_mut();
        let (mut message, mut hash) = ([0; MAX_MESSAGE_BYTES], [0; SEED]);
        lanes.run(Keys::<P> {
            seed: of_matrix,
            noise,
            s: secret.s,
            message: &mut message,
            hash: &mut hash,
            space: keys,
        });
        key.copy_from_slice(&message[..P::ENCAPSULATION_KEY_BYTES]);
        pair.complete(&hash, self.seed);
        pair
    }
}
