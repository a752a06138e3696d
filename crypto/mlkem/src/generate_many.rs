//! Key generation for many keys at once: a key in each lane of the hashes, from the seed to the
//! hash of the encapsulation key.

use core::marker::PhantomData;

use kem_common::{Erase, Error, Source, public_bytes, wipe};
use lanes::{Dispatch, Hardware, KeccakLanes, STREAMS, SpongeKernel, U64Lanes};
use secret::Secret;
use zerocopy::{FromZeros, IntoBytes};

use crate::encapsulate::Arithmetic;
use crate::generate::{Generate, PublicPoly, SecretVector};
use crate::keccak::{
    SHA3_512_WORDS, SHA3_SUFFIX, SHAKE128_WORDS, SHAKE256_BYTES, SHAKE256_WORDS, States, clear,
    pad_in_place, padded_bytes, permute, squeeze, start_seeds,
};
use crate::keys::{KeyPair, SEED_BYTES};
use crate::matrix::{self, Order, SampleVartime};
use crate::noise::{self, NOISE_BYTES, Noise};
use crate::params::{MAX_K, POLY_BYTES, ParameterSet, SEED};
use crate::poly::Poly;
use crate::sponge::{SpongeSpace, squeeze_block};

/// Bytes between the encapsulation keys of a group: the longest one in whole blocks, and as much
/// as is read and written beyond.
const KEY_STRIDE: usize = padded_bytes(MAX_K * POLY_BYTES + SEED) + 96;
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
pub struct BatchMemory<P: ParameterSet>(Option<Memory<P>>);

impl<P: ParameterSet> Default for BatchMemory<P> {
    /// No memory yet. The first batch allocates about 90 KB.
    fn default() -> Self {
        BatchMemory(None)
    }
}

struct Memory<P: ParameterSet> {
    secret: Secret<SecretSpace<P>>,
    public: Box<PublicSpace>,
}

/// The secret values of a group of keys.
#[derive(FromZeros)]
#[repr(C)]
struct SecretSpace<P: ParameterSet> {
    states: States,
    derived: [[u64; STREAMS]; DERIVED_WORDS],
    seeds: [[u8; SEED_BYTES]; STREAMS],
    noise: [Noise; STREAMS],
    arithmetic: [Arithmetic<P>; STREAMS],
}

/// The public values of a group of keys.
#[derive(FromZeros)]
#[repr(C)]
struct PublicSpace {
    sponges: SpongeSpace,
    /// A row of each key's matrix.
    rows: [[Poly<i16>; MAX_K]; STREAMS],
    keys: [[u8; KEY_STRIDE]; STREAMS],
    hashes: [[u8; 2 * SEED]; STREAMS],
}

impl<P: ParameterSet> Erase for SecretSpace<P> {
    fn erase(&mut self) {
        wipe(self.states.0.as_flattened_mut());
        wipe(self.derived.as_flattened_mut());
        wipe(self.seeds.as_flattened_mut());
        for Noise(bytes) in &mut self.noise {
            wipe(bytes.as_flattened_mut());
        }
        for Arithmetic { factors, a, b } in &mut self.arithmetic {
            factors.as_mut().iter_mut().for_each(Erase::erase);
            wipe(&mut a.0);
            wipe(&mut b.0);
        }
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
                let (seed, parameter_set) = (&seeds[0], PhantomData);
                keys.push(Generate { seed, parameter_set }.on(lanes));
                continue;
            }
            let first = keys.len();
            keys.extend((0..size).map(|_| KeyPair::blank()));
            let Memory { secret, public } = memory;
            generate_group(lanes, &mut keys[first..], secret, public);
        }
        memory.secret.erase();
        result.map(|()| keys)
    }
}

/// Fills in as many keys as there are lanes, or fewer, from their seeds.
#[inline(always)]
fn generate_group<P: ParameterSet, L: Hardware>(
    lanes: L,
    keys: &mut [KeyPair<P>],
    secret: &mut SecretSpace<P>,
    public: &mut PublicSpace,
) {
    let SecretSpace { states, derived, seeds, noise, arithmetic } = secret;
    lanes.run_many(Derive::<P> { seeds, states, derived, parameter_set: PhantomData });
    // The first half is the seed of the matrix, which is public.
    public_bytes(derived[..SEED / 8].as_bytes());
    let (of_matrix, of_noise) = derived.split_at(SEED / 8);
    for stream in 0..2 * P::K {
        let streams = LaneStreams::noise(of_noise, stream);
        let to = &mut noise.as_mut_bytes()[stream * NOISE_BYTES..];
        lanes.run_many(SqueezeNoise { streams, blocks: noise::blocks(P::ETA1), states, to });
    }
    for ((key, noise), space) in keys.iter_mut().zip(&*noise).zip(&mut *arithmetic) {
        lanes.run(SecretVector { noise, s: key.encodings_mut().1.s, space });
    }

    let PublicSpace { sponges, rows, keys: encodings, hashes } = public;
    for i in 0..P::K {
        for j in 0..P::K {
            let streams = LaneStreams::matrix::<P>(of_matrix, i * P::K + j);
            lanes.run_many(SqueezeMatrix { streams, space: sponges });
            let polys = &mut rows[..keys.len()].as_flattened_mut()[j..];
            lanes.run(SampleVartime { space: sponges, lane: 0, polys, stride: MAX_K });
        }
        for (lane, space) in arithmetic[..keys.len()].iter_mut().enumerate() {
            let row = &rows[lane][..P::K];
            let to = &mut encodings[lane][i * POLY_BYTES..][..POLY_BYTES];
            let noise = &noise[lane].0[P::K + i];
            lanes.run(PublicPoly { row, noise, to: &mut *to, space });
            public_bytes(to);
        }
    }
    let (seeds_of_matrix, states) = (of_matrix, &mut sponges.states);
    lanes.run_many(HashKeys::<P> {
        seeds: seeds_of_matrix,
        states,
        keys: encodings,
        hashes,
        parameter_set: PhantomData,
    });
    for (lane, key) in keys.iter_mut().enumerate() {
        key.encodings_mut().0.copy_from_slice(&encodings[lane][..P::ENCAPSULATION_KEY_BYTES]);
        key.complete(&hashes[lane][..SEED], &seeds[lane]);
    }
}

/// G of each seed's first half and k.
struct Derive<'a, P> {
    seeds: &'a [[u8; SEED_BYTES]; STREAMS],
    states: &'a mut States,
    derived: &'a mut [[u64; STREAMS]; DERIVED_WORDS],
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> SpongeKernel for Derive<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        let Derive { seeds, states, derived, .. } = self;
        for i in (0..SEED / 8).step_by(S::U64S) {
            lanes.load_streams(&seeds.as_flattened()[8 * i..], SEED_BYTES, &mut derived[i..]);
        }
        let nonce = P::K | usize::from(SHA3_SUFFIX) << 8;
        start_seeds(lanes, states, derived, nonce as u64, SHA3_512_WORDS);
        permute(lanes, states);
        *derived = *states.0.first_chunk().unwrap();
    }
}

/// Sponges that are started with another seed in each lane, and the same bytes after it.
struct LaneStreams<'a> {
    seeds: &'a [[u64; STREAMS]],
    nonce: u64,
    words: usize,
}

impl<'a> LaneStreams<'a> {
    /// Those of a noise polynomial.
    fn noise(seeds: &'a [[u64; STREAMS]], stream: usize) -> Self {
        LaneStreams { seeds, nonce: noise::nonce(stream), words: SHAKE256_WORDS }
    }

    /// Those of the matrix's polynomial in a place.
    fn matrix<P: ParameterSet>(seeds: &'a [[u64; STREAMS]], place: usize) -> Self {
        let nonce = matrix::nonce::<P>(Order::Rows, place);
        LaneStreams { seeds, nonce, words: SHAKE128_WORDS }
    }

    #[inline(always)]
    fn start<S: KeccakLanes>(&self, lanes: S, states: &mut States) {
        start_seeds(lanes, states, self.seeds, self.nonce, self.words);
    }
}

/// Squeezes the bytes of a noise polynomial of each key; `to` begins with the first key's.
struct SqueezeNoise<'a> {
    streams: LaneStreams<'a>,
    blocks: usize,
    states: &'a mut States,
    to: &'a mut [u8],
}

impl SpongeKernel for SqueezeNoise<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        self.streams.start(lanes, self.states);
        for number in 0..self.blocks {
            permute(lanes, self.states);
            // All of the first block, or the bytes for eta = 2; the rest of those for eta = 3.
            let words = match (self.blocks, number) {
                (1, _) => 16,
                (_, 0) => SHAKE256_WORDS,
                _ => NOISE_BYTES / 8 - SHAKE256_WORDS,
            };
            let to = &mut self.to[number * SHAKE256_BYTES..];
            squeeze(lanes, self.states, words, to, size_of::<Noise>());
        }
    }
}

/// Squeezes the blocks of a polynomial of each key's matrix.
struct SqueezeMatrix<'a> {
    streams: LaneStreams<'a>,
    space: &'a mut SpongeSpace,
}

impl SpongeKernel for SqueezeMatrix<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        self.streams.start(lanes, &mut self.space.states);
        for number in 0..matrix::BLOCKS {
            permute(lanes, &mut self.space.states);
            squeeze_block(lanes, self.space, number, self.streams.words);
        }
    }
}

/// Completes the encapsulation keys with the seeds of their matrices, and hashes them.
struct HashKeys<'a, P> {
    seeds: &'a [[u64; STREAMS]],
    states: &'a mut States,
    keys: &'a mut [[u8; KEY_STRIDE]; STREAMS],
    hashes: &'a mut [[u8; 2 * SEED]; STREAMS],
    parameter_set: PhantomData<P>,
}

impl<P: ParameterSet> SpongeKernel for HashKeys<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        let HashKeys { seeds, states, keys, hashes, .. } = self;
        let bytes = P::ENCAPSULATION_KEY_BYTES;
        let padded = padded_bytes(bytes);
        // As many integers as vectors have are written: some of them after the key.
        states.0[..SEED / 8].copy_from_slice(seeds);
        squeeze(lanes, states, SEED / 8, &mut keys.as_flattened_mut()[bytes - SEED..], KEY_STRIDE);
        for key in &mut *keys {
            key[bytes..padded].fill(0);
            pad_in_place(key, bytes, SHA3_SUFFIX);
        }
        clear(lanes, states);
        for block in (0..padded).step_by(SHAKE256_BYTES) {
            let mut rows = [[0; STREAMS]; SHAKE256_WORDS.next_multiple_of(STREAMS)];
            for i in (0..SHAKE256_WORDS).step_by(S::U64S) {
                let from = &keys.as_flattened()[block + 8 * i..];
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
}
