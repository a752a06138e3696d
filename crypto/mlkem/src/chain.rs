//! A serial chain of permutations, SHA3-256 of an encapsulation key or SHAKE256 of a rejected
//! ciphertext, with other sponges in the lanes beside it: a permutation of several states takes
//! about the time of one.

use core::marker::PhantomData;

use lanes::{Hardware, Kernel, STREAMS, U64Lanes};
use zerocopy::FromZeros;

use crate::keccak::{
    SHAKE128_WORDS, SHAKE256_BYTES, SHAKE256_WORDS, SeedBlock, States, absorb_first, clear,
    copy_lane, permute, set_sha3_512_block,
};
use crate::matrix::{self, Buffers, Order, SampleMatrix};
use crate::noise::{self, MakeNoise, Noise};
use crate::params::{ParameterSet, SEED};
use crate::poly::Poly;

/// Lanes of a chain that has any beside it.
const LANES: usize = 4;

/// Memory for a chain. Secret if its input is.
#[derive(FromZeros)]
#[repr(C)]
pub(crate) struct ChainSpace {
    pub(crate) states: States,
    buffers: Buffers<LANES>,
}

/// Hashes whole blocks and writes the first 32 bytes; samples the matrix beside it, column by
/// column.
pub(crate) struct HashWithMatrix<'a, P: ParameterSet> {
    pub(crate) blocks: &'a [u8],
    pub(crate) hash: &'a mut [u8; SEED],
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) matrix: &'a mut P::Matrix<Poly<i16>>,
    pub(crate) space: &'a mut ChainSpace,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for HashWithMatrix<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let chain = lanes.chain();
        let beside = <L::Chain as U64Lanes>::U64S - 1;
        let ChainSpace { states, buffers } = self.space;
        let seed_block = SeedBlock::new(self.seed, SHAKE128_WORDS);
        clear(chain, states);
        let mut next = 0;
        // Chains have a multiple of three blocks, as many as a polynomial needs.
        for run in self.blocks.chunks_exact(matrix::BLOCKS * SHAKE256_BYTES) {
            let count = beside.min(P::K * P::K - next);
            if count > 0 {
                let mut nonces = [0; STREAMS];
                for lane in 1..=beside {
                    nonces[lane] = matrix::nonce::<P>(Order::Columns, next + lane - 1);
                }
                seed_block.start_beside_first(chain, states, &nonces);
            }
            for (number, block) in run.chunks_exact(SHAKE256_BYTES).enumerate() {
                absorb_first(chain, states, block);
                if count > 0 {
                    buffers.squeeze(chain, states, number);
                }
            }
            for lane in 1..=count {
                let poly = &mut self.matrix.as_mut()[next + lane - 1];
                matrix::sample(lanes, buffers.stream(lane), states, lane, poly);
            }
            next += count;
        }
        copy_lane(states, 0, self.hash);
        let (seed, order) = (self.seed, Order::Columns);
        lanes.run(SampleMatrix::<P> { seed, order, first: next, matrix: self.matrix });
    }
}

/// Hashes a message and a hash by SHA3-512 to a shared secret and the seed of an encryption's
/// noise.
pub(crate) struct Derive<'a> {
    pub(crate) parts: [&'a [u8]; 2],
    pub(crate) to: &'a mut [u8; 2 * SEED],
    pub(crate) states: &'a mut States,
}

impl<L: Hardware> Kernel<L> for Derive<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        set_sha3_512_block(self.states, 0, self.parts);
        permute(lanes.chain(), self.states);
        copy_lane(self.states, 0, self.to);
    }
}

/// Hashes whole blocks and writes the first 32 bytes; does [`Derive`] and makes the noise of an
/// encryption beside it.
pub(crate) struct HashWithNoise<'a, P> {
    pub(crate) blocks: &'a [u8],
    pub(crate) hash: &'a mut [u8; SEED],
    pub(crate) parts: [&'a [u8]; 2],
    pub(crate) derived: &'a mut [u8; 2 * SEED],
    pub(crate) noise: &'a mut Noise,
    pub(crate) space: &'a mut ChainSpace,
    pub(crate) parameter_set: PhantomData<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for HashWithNoise<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let chain = lanes.chain();
        let beside = <L::Chain as U64Lanes>::U64S - 1;
        let ChainSpace { states, buffers } = self.space;
        let streams = 2 * P::K + 1;
        if beside == 0 {
            lanes.run(Derive { parts: self.parts, to: self.derived, states });
            let seed = self.derived.last_chunk().unwrap();
            let parameter_set = PhantomData::<P>;
            lanes.run(MakeNoise { seed, streams, states, noise: self.noise, parameter_set });
        }
        let mut blocks = self.blocks.chunks_exact(SHAKE256_BYTES);
        clear(chain, states);
        if beside > 0 {
            set_sha3_512_block(states, 1, self.parts);
            absorb_first(chain, states, blocks.next().unwrap());
            copy_lane(states, 1, self.derived);
            let seed_block = SeedBlock::new(self.derived.last_chunk().unwrap(), SHAKE256_WORDS);
            let mut next = 0;
            while next < streams {
                let mut nonces = [0; STREAMS];
                for lane in 1..=beside {
                    nonces[lane] = noise::nonce(next + lane - 1);
                }
                seed_block.start_beside_first(chain, states, &nonces);
                for number in 0..noise::blocks(noise::eta::<P>(next, streams)) {
                    absorb_first(chain, states, blocks.next().unwrap());
                    let to = buffers.bytes();
                    noise::squeeze_block(chain, states, number, to, noise::STRIDE);
                }
                let from = buffers.bytes().as_chunks::<{ noise::STRIDE }>().0;
                for lane in 1..=beside.min(streams - next) {
                    self.noise.0[next + lane - 1] = from[lane];
                }
                next += beside;
            }
        }
        for block in blocks {
            absorb_first(chain, states, block);
        }
        copy_lane(states, 0, self.hash);
    }
}

/// Hashes whole blocks and writes the first 32 bytes.
pub(crate) struct HashBlocks<'a> {
    pub(crate) blocks: &'a [u8],
    pub(crate) hash: &'a mut [u8; SEED],
    pub(crate) states: &'a mut States,
}

impl<L: Hardware> Kernel<L> for HashBlocks<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        clear(lanes.chain(), self.states);
        for block in self.blocks.chunks_exact(SHAKE256_BYTES) {
            absorb_first(lanes.chain(), self.states, block);
        }
        copy_lane(self.states, 0, self.hash);
    }
}
