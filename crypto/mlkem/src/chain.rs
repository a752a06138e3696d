//! A serial chain of permutations, SHA3-256 of an encapsulation key or SHAKE256 of a rejected
//! ciphertext, with other sponges in the lanes beside it: a permutation of several states takes
//! about the time of one.

use core::marker::PhantomData;

use lanes::{Hardware, KeccakLanes, Kernel, STREAMS};
use zerocopy::FromZeros;

use crate::keccak::{
    SHAKE128_WORDS, SHAKE256_BYTES, SHAKE256_WORDS, SeedBlock, States, absorb_first, clear,
    copy_lane, permute, start_sha3_512,
};
use crate::matrix::{self, Buffers, Order, SampleMatrix};
use crate::noise::{self, MakeNoise, Noise};
use crate::params::{ParameterSet, SEED};
use crate::poly::Poly;

/// Memory for a chain. Secret if its input is.
#[derive(FromZeros)]
#[repr(C)]
pub(crate) struct ChainSpace {
    pub(crate) states: States,
    buffers: Buffers<STREAMS>,
}

/// Blocks of a chain beside which polynomials of the matrix are sampled, one in each lane: as many
/// as those need. All chains have a multiple of them.
pub(crate) const STEP_BYTES: usize = matrix::BLOCKS * SHAKE256_BYTES;

/// A matrix that is sampled beside a chain.
pub(crate) struct MatrixBeside<'a> {
    pub(crate) seed: SeedBlock,
    pub(crate) order: Order,
    pub(crate) polys: &'a mut [Poly<i16>],
    /// The number of polynomials that are sampled already.
    pub(crate) done: usize,
}

/// Lanes beside a chain.
pub(crate) const fn beside<S: KeccakLanes>() -> usize {
    S::U64S - 1
}

/// Absorbs [`STEP_BYTES`] in the first lane; samples polynomials in the others, if any are left.
#[inline(always)]
fn step_in<P: ParameterSet, L: Hardware, S: KeccakLanes>(
    lanes: L,
    sponges: S,
    blocks: &[u8],
    space: &mut ChainSpace,
    matrix: &mut MatrixBeside<'_>,
) {
    let ChainSpace { states, buffers } = space;
    let count = beside::<S>().min(matrix.polys.len() - matrix.done);
    if count > 0 {
        let mut nonces = [0; STREAMS];
        for lane in 1..S::U64S {
            nonces[lane] = matrix::nonce::<P>(matrix.order, matrix.done + lane - 1);
        }
        matrix.seed.start_beside_first(sponges, states, &nonces);
    }
    for (number, block) in blocks.chunks_exact(SHAKE256_BYTES).enumerate() {
        absorb_first(sponges, states, block);
        if count > 0 {
            buffers.squeeze(sponges, states, number);
        }
    }
    for (i, poly) in matrix.polys[matrix.done..][..count].iter_mut().enumerate() {
        matrix::sample(lanes, buffers.stream(i + 1), states, i + 1, poly);
    }
    matrix.done += count;
}

/// [`step_in`] a chain's lanes, or in more lanes, which takes longer, if those of `steps` steps
/// would not be enough.
#[inline(always)]
pub(crate) fn step<P: ParameterSet, L: Hardware>(
    lanes: L,
    blocks: &[u8],
    steps: usize,
    space: &mut ChainSpace,
    matrix: &mut MatrixBeside<'_>,
) {
    let left = matrix.polys.len() - matrix.done;
    if beside::<L::Many>() > beside::<L::Chain>() && left > steps * beside::<L::Chain>() {
        step_in::<P, _, _>(lanes, lanes.many(), blocks, space, matrix);
    } else {
        step_in::<P, _, _>(lanes, lanes.chain(), blocks, space, matrix);
    }
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
        let (seed, order) = (self.seed, Order::Columns);
        let mut matrix = MatrixBeside {
            seed: SeedBlock::new(seed, SHAKE128_WORDS),
            order,
            polys: self.matrix.as_mut(),
            done: 0,
        };
        clear(lanes.many(), &mut self.space.states);
        let steps = self.blocks.len() / STEP_BYTES;
        for (i, blocks) in self.blocks.chunks_exact(STEP_BYTES).enumerate() {
            step::<P, _>(lanes, blocks, steps - i, self.space, &mut matrix);
        }
        let first = matrix.done;
        copy_lane(&self.space.states, 0, self.hash);
        if first < P::K * P::K {
            lanes.run(SampleMatrix::<P> { seed, order, first, matrix: self.matrix });
        }
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
        start_sha3_512(lanes.chain(), self.states, self.parts, false);
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
        let beside = beside::<L::Chain>();
        let ChainSpace { states, buffers } = self.space;
        let streams = 2 * P::K + 1;
        if beside == 0 {
            lanes.run(Derive { parts: self.parts, to: self.derived, states });
            let seed = self.derived.last_chunk().unwrap();
            let parameter_set = PhantomData::<P>;
            lanes.run(MakeNoise { seed, streams, states, noise: self.noise, parameter_set });
        }
        let mut blocks = self.blocks.chunks_exact(SHAKE256_BYTES);
        if beside > 0 {
            start_sha3_512(chain, states, self.parts, true);
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
        } else {
            clear(chain, states);
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
