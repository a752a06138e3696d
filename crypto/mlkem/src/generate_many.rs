//! Key generation for many keys at once: a key in each lane of the hashes, from the seed to the
//! hash of the encapsulation key.

use kem_common::{Erase, Error, Source, public_bytes, wipe};
use lanes::{Dispatch, Hardware, KeccakLanes, Kernel, STREAMS, U64Lanes};
use secret::Secret;
use zerocopy::FromZeros;

use crate::generate::{Generate, public_poly, secret_vector};
use crate::keccak::{
    SHA3_SUFFIX, SHAKE128_WORDS, SHAKE256_BYTES, SHAKE256_WORDS, States, padded_bytes, permute,
    squeeze, start_seeds,
};
use crate::keys::{KeyPair, SEED_BYTES};
use crate::matrix::{self, BLOCKS, Buffers, Order};
use crate::noise;
use crate::params::{MAX_K, POLY_BYTES, ParameterSet, SEED};
use crate::poly::Poly;
use crate::product::Factor;

/// Bytes between the encapsulation keys of a group: the longest one in whole blocks, and as much
/// as is read and written beyond.
const KEY_STRIDE: usize = padded_bytes(MAX_K * POLY_BYTES + SEED) + 96;
/// Noise polynomials of a key.
const NOISE_STREAMS: usize = 2 * MAX_K;
/// Integers that G gives: the seeds of the matrix and of the noise.
const DERIVED_WORDS: usize = 2 * SEED / 8;

/// Generates key pairs.
pub(crate) struct GenerateBatch<'a, P: ParameterSet> {
    pub(crate) count: usize,
    pub(crate) random: &'a mut Source<'a>,
    pub(crate) memory: &'a mut BatchMemory<P>,
}

/// Memory for batches of keys, to be kept between batches: fresh memory from the system costs time.
/// Between batches it holds no secret.
pub struct BatchMemory<P: ParameterSet>(Option<Memory>, core::marker::PhantomData<P>);

impl<P: ParameterSet> Default for BatchMemory<P> {
    /// No memory yet. The first batch allocates about 90 KB.
    fn default() -> Self {
        BatchMemory(None, core::marker::PhantomData)
    }
}

struct Memory {
    secret: Secret<SecretSpace>,
    public: Box<PublicSpace>,
}

/// The secret values of a group of keys.
#[derive(FromZeros)]
#[repr(C)]
struct SecretSpace {
    states: States,
    derived: [[u64; STREAMS]; DERIVED_WORDS],
    seeds: [[u8; SEED_BYTES]; STREAMS],
    noise: [[[u8; noise::STRIDE]; NOISE_STREAMS]; STREAMS],
    factors: [[Factor<i16>; MAX_K]; STREAMS],
    a: Poly<i16>,
    b: Poly<i16>,
}

/// The public values of a group of keys.
#[derive(FromZeros)]
#[repr(C)]
struct PublicSpace {
    states: States,
    buffers: Buffers<STREAMS>,
    /// A row of each key's matrix.
    rows: [[Poly<i16>; MAX_K]; STREAMS],
    keys: [[u8; KEY_STRIDE]; STREAMS],
    hashes: [[u8; 2 * SEED]; STREAMS],
}

impl Erase for SecretSpace {
    fn erase(&mut self) {
        wipe(self.states.0.as_flattened_mut());
        wipe(self.derived.as_flattened_mut());
        wipe(self.seeds.as_flattened_mut());
        wipe(self.noise.as_flattened_mut().as_flattened_mut());
        for factor in self.factors.as_flattened_mut() {
            factor.erase();
        }
        wipe(&mut self.a.0);
        wipe(&mut self.b.0);
    }
}

impl<P: ParameterSet> Dispatch for GenerateBatch<'_, P> {
    type Output = Result<Vec<KeyPair<P>>, Error>;

    #[inline(never)]
    fn on<L: Hardware>(self, lanes: L) -> Self::Output {
        let many = <L::Many as U64Lanes>::U64S;
        let mut keys = Vec::<KeyPair<P>>::with_capacity(self.count);
        let memory = self.memory.0.get_or_insert_with(|| Memory {
            secret: Secret::zeroed(),
            public: PublicSpace::new_box_zeroed().expect("memory for a group of keys"),
        });
        let mut result = Ok(());
        while keys.len() < self.count {
            let left = self.count - keys.len();
            let size = if left > many / 2 { many.min(left) } else { 1 };
            let seeds = &mut memory.secret.seeds[..size];
            result = seeds.iter_mut().try_for_each(|seed| (self.random)(seed));
            if result.is_err() {
                break;
            }
            if size == 1 && many > 1 {
                let (seed, parameter_set) = (&seeds[0], core::marker::PhantomData);
                keys.push(Generate { seed, parameter_set }.on(lanes));
                continue;
            }
            let first = keys.len();
            keys.extend((0..size).map(|_| KeyPair::blank()));
            let Memory { secret, public } = memory;
            lanes.run(GenerateGroup { keys: &mut keys[first..], secret, public });
        }
        memory.secret.erase();
        result.map(|()| keys)
    }
}

/// Fills in as many keys as there are lanes, or fewer, from their seeds.
struct GenerateGroup<'a, P: ParameterSet> {
    keys: &'a mut [KeyPair<P>],
    secret: &'a mut SecretSpace,
    public: &'a mut PublicSpace,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for GenerateGroup<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let GenerateGroup { keys, secret, public } = self;
        let SecretSpace { states, derived, seeds, noise, factors, a, b } = secret;
        let many = lanes.many();
        derive::<P, _>(many, seeds, states, derived);
        let (of_matrix, of_noise) = derived.split_at(SEED / 8);
        make_noise::<P, _>(many, of_noise, states, noise);
        for ((key, noise), factors) in keys.iter_mut().zip(&*noise).zip(&mut *factors) {
            let noise = noise[..P::K].iter().map(|bytes| &bytes[..]);
            let (_, parts) = key.encodings_mut();
            secret_vector(lanes, P::ETA1, noise, parts.s, &mut factors[..P::K], a);
        }

        let PublicSpace { states, buffers, rows, keys: encodings, hashes } = public;
        for i in 0..P::K {
            for j in 0..P::K {
                let nonce = matrix::nonce::<P>(Order::Rows, i * P::K + j);
                start_seeds(many, states, of_matrix, nonce, SHAKE128_WORDS);
                for number in 0..BLOCKS {
                    permute(many, states);
                    buffers.squeeze(many, states, number);
                }
                for lane in 0..keys.len() {
                    matrix::sample(lanes, buffers.stream(lane), states, lane, &mut rows[lane][j]);
                }
            }
            for lane in 0..keys.len() {
                let (row, factors) = (&rows[lane][..P::K], &factors[lane][..P::K]);
                let noise = (&noise[lane][P::K + i][..], P::ETA1);
                let to = &mut encodings[lane][i * POLY_BYTES..][..POLY_BYTES];
                public_poly(lanes, row, factors, noise, [&mut *a, &mut *b], to);
            }
        }
        hash_keys::<P, _>(many, of_matrix, states, encodings, hashes);
        for (lane, key) in keys.iter_mut().enumerate() {
            let (to, _) = key.encodings_mut();
            to.copy_from_slice(&encodings[lane][..P::ENCAPSULATION_KEY_BYTES]);
            public_bytes(to);
            key.complete(&hashes[lane][..SEED], &seeds[lane]);
        }
    }
}

/// G of each seed's first half and k.
#[inline(always)]
fn derive<P: ParameterSet, S: KeccakLanes>(
    lanes: S,
    seeds: &[[u8; SEED_BYTES]; STREAMS],
    states: &mut States,
    derived: &mut [[u64; STREAMS]; DERIVED_WORDS],
) {
    for i in (0..SEED / 8).step_by(S::U64S) {
        lanes.load_streams(&seeds.as_flattened()[8 * i..], SEED_BYTES, &mut derived[i..]);
    }
    let nonce = P::K | usize::from(SHA3_SUFFIX) << 8;
    start_seeds(lanes, states, derived, nonce as u64, 9);
    permute(lanes, states);
    *derived = *states.0.first_chunk().unwrap();
    // The first half is the seed of the matrix, which is public.
    public_bytes(zerocopy::IntoBytes::as_bytes(&derived[..SEED / 8]));
}

/// The bytes of each key's noise.
#[inline(always)]
fn make_noise<P: ParameterSet, S: KeccakLanes>(
    lanes: S,
    seeds: &[[u64; STREAMS]],
    states: &mut States,
    noise: &mut [[[u8; noise::STRIDE]; NOISE_STREAMS]; STREAMS],
) {
    for stream in 0..2 * P::K {
        start_seeds(lanes, states, seeds, noise::nonce(stream), SHAKE256_WORDS);
        for number in 0..noise::blocks(P::ETA1) {
            permute(lanes, states);
            let to = &mut noise.as_flattened_mut().as_flattened_mut()[stream * noise::STRIDE..];
            noise::squeeze_block(lanes, states, number, to, NOISE_STREAMS * noise::STRIDE);
        }
    }
}

/// Completes the encapsulation keys with the seeds of their matrices, and hashes them.
#[inline(always)]
fn hash_keys<P: ParameterSet, S: KeccakLanes>(
    lanes: S,
    seeds: &[[u64; STREAMS]],
    states: &mut States,
    keys: &mut [[u8; KEY_STRIDE]; STREAMS],
    hashes: &mut [[u8; 2 * SEED]; STREAMS],
) {
    let (bytes, blocks) =
        (P::ENCAPSULATION_KEY_BYTES, padded_bytes(P::ENCAPSULATION_KEY_BYTES) / SHAKE256_BYTES);
    // As many integers as vectors have are written: some of them after the key.
    states.0[..SEED / 8].copy_from_slice(seeds);
    squeeze(lanes, states, SEED / 8, &mut keys.as_flattened_mut()[bytes - SEED..], KEY_STRIDE);
    for key in &mut *keys {
        key[bytes..blocks * SHAKE256_BYTES].fill(0);
        key[bytes] = SHA3_SUFFIX;
        key[blocks * SHAKE256_BYTES - 1] |= 1 << 7;
    }
    crate::keccak::clear(lanes, states);
    for block in 0..blocks {
        let mut rows = [[0; STREAMS]; SHAKE256_WORDS.next_multiple_of(STREAMS)];
        for i in (0..SHAKE256_WORDS).step_by(S::U64S) {
            let from = &keys.as_flattened()[block * SHAKE256_BYTES + 8 * i..];
            lanes.load_streams(from, KEY_STRIDE, &mut rows[i..]);
        }
        for i in 0..SHAKE256_WORDS {
            let row = lanes.xor_two_u64(lanes.load_u64(&states.0[i]), lanes.load_u64(&rows[i]));
            lanes.store_u64(&mut states.0[i], row);
        }
        permute(lanes, states);
    }
    squeeze(lanes, states, SEED / 8, hashes.as_flattened_mut(), 2 * SEED);
}
