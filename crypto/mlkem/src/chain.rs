//! A serial chain of permutations, SHA3-256 of an encapsulation key or SHAKE256 of a rejected
//! ciphertext, with other sponges in the lanes beside it: a permutation of several states takes
//! about the time of one.

use lanes::{Hardware, KeccakLanes};

use crate::keccak::{Message512, SHAKE256_BYTES, copy_lane};
use crate::matrix::{self, Matrix};
use crate::noise::{self, Noise};
use crate::params::{ParameterSet, SEED};
use crate::sponge::{Absorb, Clear, Hash512, Hash512Beside, SpongeSpace};

/// Blocks of a chain beside which polynomials of the matrix are sampled, one in each lane: as many
/// as those need. All chains have a multiple of them.
pub(crate) const STEP_BYTES: usize = matrix::BLOCKS * SHAKE256_BYTES;

/// Lanes beside a chain.
pub(crate) const fn beside<S: KeccakLanes>() -> usize {
    S::U64S - 1
}

/// Absorbs [`STEP_BYTES`] in the first lane; samples polynomials in the others, if any are left. It
/// takes more lanes, and more time, if the chain's lanes in `steps` steps would not be enough.
#[inline(always)]
pub(crate) fn step<P: ParameterSet, L: Hardware>(
    lanes: L,
    blocks: &[u8],
    steps: usize,
    space: &mut SpongeSpace,
    matrix: &mut Matrix<'_>,
) {
    let (many, few) = (beside::<L::Many>(), beside::<L::Chain>());
    let left = matrix.polys.len() - matrix.done;
    let streams = (left > 0 && few > 0).then(|| matrix.streams::<P>(1));
    if many > few && left > steps * few {
        lanes.run_many(Absorb { blocks, beside: streams, space });
        matrix.sample(lanes, space, 1, many);
    } else {
        lanes.run_chain(Absorb { blocks, beside: streams, space });
        matrix.sample(lanes, space, 1, few);
    }
}

/// Hashes whole blocks, and returns the first 32 bytes in `hash`; samples the matrix beside it.
#[inline(always)]
pub(crate) fn hash_with_matrix<P: ParameterSet, L: Hardware>(
    lanes: L,
    blocks: &[u8],
    hash: &mut [u8; SEED],
    matrix: &mut Matrix<'_>,
    space: &mut SpongeSpace,
) {
    lanes.run_many(Clear(&mut space.states));
    let steps = blocks.len() / STEP_BYTES;
    for (i, blocks) in blocks.chunks_exact(STEP_BYTES).enumerate() {
        step::<P, _>(lanes, blocks, steps - i, space, matrix);
    }
    copy_lane(&space.states, 0, hash);
    matrix.sample_rest::<P, _>(lanes, space);
}

/// Hashes whole blocks, and returns the first 32 bytes in `hash`.
#[inline(always)]
pub(crate) fn hash_blocks<L: Hardware>(
    lanes: L,
    blocks: &[u8],
    hash: &mut [u8; SEED],
    space: &mut SpongeSpace,
) {
    lanes.run_many(Clear(&mut space.states));
    lanes.run_chain(Absorb { blocks, beside: None, space });
    copy_lane(&space.states, 0, hash);
}

/// Hashes a message by SHA3-512: to a shared secret and the seed of the noise, or to
/// the two seeds of a key.
#[inline(always)]
pub(crate) fn derive<L: Hardware>(
    lanes: L,
    message: Message512<'_>,
    to: &mut [u8; 2 * SEED],
    space: &mut SpongeSpace,
) {
    lanes.run_chain(Hash512 { message, states: &mut space.states });
    copy_lane(&space.states, 0, to);
}

/// Hashes whole blocks, and returns the first 32 bytes in `hash`; does [`derive`] and makes the
/// noise of an encryption beside it.
#[inline(always)]
pub(crate) fn hash_with_noise<P: ParameterSet, L: Hardware>(
    lanes: L,
    blocks: &[u8],
    hash: &mut [u8; SEED],
    message: Message512<'_>,
    derived: &mut [u8; 2 * SEED],
    noise: &mut Noise,
    space: &mut SpongeSpace,
) {
    let (beside, streams) = (beside::<L::Chain>(), 2 * P::K + 1);
    if beside == 0 {
        derive(lanes, message, derived, space);
        noise.fill::<P, _>(lanes, derived.last_chunk().unwrap(), streams, space);
        return hash_blocks(lanes, blocks, hash, space);
    }
    let (block, mut rest) = blocks.split_at(SHAKE256_BYTES);
    lanes.run_chain(Hash512Beside { message, block, states: &mut space.states });
    copy_lane(&space.states, 1, derived);
    let seed = derived.last_chunk().unwrap();
    let mut next = 0;
    while next < streams {
        let count = noise::blocks(noise::eta::<P>(next, streams));
        let (blocks, others) = rest.split_at(count * SHAKE256_BYTES);
        let beside_it = Some(noise::streams(seed, next, 1));
        lanes.run_chain(Absorb { blocks, beside: beside_it, space });
        next = noise.copy(space, [next, streams], 1, beside);
        rest = others;
    }
    lanes.run_chain(Absorb { blocks: rest, beside: None, space });
    copy_lane(&space.states, 0, hash);
}
