//! The noise, sampled from a secret seed by SHAKE256 (FIPS 203, section 4.3).

use lanes::{Hardware, KeccakLanes, Kernel, STREAMS, U64Lanes};
use zerocopy::FromZeros;

use crate::keccak::{
    SHAKE_SUFFIX, SHAKE256_BYTES, SHAKE256_WORDS, SeedBlock, States, permute, squeeze,
};
use crate::params::{ETA2, MAX_K, ParameterSet, SEED};

/// Bytes between streams: the bytes for eta = 3, and as much as [`squeeze`] writes beyond.
pub(crate) const STRIDE: usize = 256;
/// Streams of an encryption, filled up to whole vectors of lanes.
pub(crate) const NOISE_STREAMS: usize = (2 * MAX_K + 1).next_multiple_of(4);

/// The bytes of noise polynomials. Secret.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Noise(pub(crate) [[u8; STRIDE]; NOISE_STREAMS]);

/// eta of stream `i` of a key's or an encryption's noise.
pub(crate) const fn eta<P: ParameterSet>(i: usize, streams: usize) -> usize {
    // A key has 2 k streams, all of eta1; an encryption has one more, and k of eta1.
    if streams == 2 * P::K || i < P::K { P::ETA1 } else { ETA2 }
}

/// Blocks of SHAKE256 for a polynomial.
pub(crate) const fn blocks(eta: usize) -> usize {
    (64 * eta).div_ceil(SHAKE256_BYTES)
}

/// The byte after the seed, and the suffix, of streams from `first` on.
#[inline(always)]
pub(crate) fn nonces(first: usize) -> [u64; STREAMS] {
    let mut nonces = [0; STREAMS];
    for i in 0..STREAMS {
        nonces[i] = nonce(first + i);
    }
    nonces
}

/// The byte after the seed, and the suffix.
#[inline(always)]
pub(crate) fn nonce(stream: usize) -> u64 {
    (stream | usize::from(SHAKE_SUFFIX) << 8) as u64
}

/// Writes block `block` of each stream.
#[inline(always)]
pub(crate) fn squeeze_block<S: KeccakLanes>(
    lanes: S,
    states: &States,
    block: usize,
    to: &mut [u8],
    stride: usize,
) {
    // The second block is needed up to byte 192.
    let words = if block == 0 { SHAKE256_WORDS } else { 7 };
    squeeze(lanes, states, words, &mut to[block * SHAKE256_BYTES..], stride);
}

/// Makes the bytes of `streams` polynomials.
pub(crate) struct MakeNoise<'a, P> {
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) streams: usize,
    pub(crate) states: &'a mut States,
    pub(crate) noise: &'a mut Noise,
    pub(crate) parameter_set: core::marker::PhantomData<P>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for MakeNoise<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let block = SeedBlock::new(self.seed, SHAKE256_WORDS);
        let mut next = 0;
        while next < self.streams {
            let blocks = blocks(eta::<P>(next, self.streams));
            let to = self.noise.0[next..].as_flattened_mut();
            next += if self.streams - next <= <L::Chain as U64Lanes>::U64S {
                fill(lanes.chain(), &block, next, blocks, self.states, to)
            } else {
                fill(lanes.many(), &block, next, blocks, self.states, to)
            };
        }
    }
}

/// Makes the bytes of as many streams as there are lanes, and returns their number.
#[inline(always)]
fn fill<S: KeccakLanes>(
    lanes: S,
    block: &SeedBlock,
    first: usize,
    blocks: usize,
    states: &mut States,
    to: &mut [u8],
) -> usize {
    block.start(lanes, states, &nonces(first));
    for number in 0..blocks {
        permute(lanes, states);
        squeeze_block(lanes, states, number, to, STRIDE);
    }
    S::U64S
}
