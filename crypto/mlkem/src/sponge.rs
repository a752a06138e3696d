//! Kernels that run sponges in lanes. None depends on the parameter set.

use lanes::{KeccakLanes, STREAMS, SpongeKernel};
use zerocopy::FromZeros;

use crate::keccak::{
    Message512, SHAKE128_WORDS, SHAKE256_BYTES, SeedBlock, States, absorb_first, clear, permute,
    squeeze,
};
use crate::params::SEED;

/// Bytes between the streams in a buffer: three blocks of SHAKE128, and as much as [`squeeze`]
/// writes beyond.
pub(crate) const STRIDE: usize = 3 * 8 * SHAKE128_WORDS + 72;

/// Sponges and the bytes squeezed from them. Secret if one of them is.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct SpongeSpace {
    pub(crate) states: States,
    buffers: [[u8; STRIDE]; STREAMS],
}

impl SpongeSpace {
    /// The bytes squeezed in a lane.
    #[inline(always)]
    pub(crate) fn stream(&self, lane: usize) -> &[u8; STRIDE] {
        &self.buffers[lane]
    }
}

/// Sponges that are started with the same seed: their first blocks, and how many integers a block
/// has.
pub(crate) struct Streams<'a> {
    pub(crate) seed: &'a [u8; SEED],
    /// The bytes after the seed and the suffix, of each lane.
    pub(crate) nonces: [u64; STREAMS],
    pub(crate) words: usize,
}

impl<'a> Streams<'a> {
    /// Streams in the lanes from `lane` on. `nonce` gives the bytes after the seed and the suffix,
    /// by the number of the stream.
    #[inline(always)]
    pub(crate) fn new(
        seed: &'a [u8; SEED],
        lane: usize,
        words: usize,
        nonce: impl Fn(usize) -> u64,
    ) -> Self {
        let mut nonces = [0; STREAMS];
        for (i, to) in nonces[lane..].iter_mut().enumerate() {
            *to = nonce(i);
        }
        Streams { seed, nonces, words }
    }
}

/// Writes block `number` of each stream, of `words` integers.
#[inline(always)]
pub(crate) fn squeeze_block<S: KeccakLanes>(
    lanes: S,
    space: &mut SpongeSpace,
    number: usize,
    words: usize,
) {
    let to = &mut space.buffers.as_flattened_mut()[8 * words * number..];
    squeeze(lanes, &space.states, words, to, STRIDE);
}

/// Squeezes blocks from streams in all lanes.
pub(crate) struct Squeeze<'a> {
    pub(crate) streams: Streams<'a>,
    pub(crate) blocks: usize,
    pub(crate) space: &'a mut SpongeSpace,
}

impl SpongeKernel for Squeeze<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        let Streams { seed, nonces, words } = &self.streams;
        SeedBlock::new(seed, *words).start(lanes, &mut self.space.states, nonces);
        for number in 0..self.blocks {
            permute(lanes, &mut self.space.states);
            squeeze_block(lanes, self.space, number, *words);
        }
    }
}

/// Absorbs whole blocks of SHAKE256 or SHA3-256 in the first lane. After each block, squeezes one
/// from the streams in the other lanes, if there are any.
pub(crate) struct Absorb<'a> {
    pub(crate) blocks: &'a [u8],
    pub(crate) beside: Option<Streams<'a>>,
    pub(crate) space: &'a mut SpongeSpace,
}

impl SpongeKernel for Absorb<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        if let Some(Streams { seed, nonces, words }) = &self.beside {
            let block = SeedBlock::new(seed, *words);
            block.start_beside_first(lanes, &mut self.space.states, nonces);
        }
        for (number, block) in self.blocks.chunks_exact(SHAKE256_BYTES).enumerate() {
            absorb_first(lanes, &mut self.space.states, block);
            if let Some(Streams { words, .. }) = &self.beside {
                squeeze_block(lanes, self.space, number, *words);
            }
        }
    }
}

/// Makes all states zero.
pub(crate) struct Clear<'a>(pub(crate) &'a mut States);

impl SpongeKernel for Clear<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        clear(lanes, self.0);
    }
}

/// Hashes a message by SHA3-512 in all lanes.
pub(crate) struct Hash512<'a> {
    pub(crate) message: Message512<'a>,
    pub(crate) states: &'a mut States,
}

impl SpongeKernel for Hash512<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        self.message.start(lanes, self.states, false);
        permute(lanes, self.states);
    }
}

/// [`Hash512`] in all lanes but the first, where a block of SHAKE256 or SHA3-256 is absorbed in an
/// empty state.
pub(crate) struct Hash512Beside<'a> {
    pub(crate) message: Message512<'a>,
    pub(crate) block: &'a [u8],
    pub(crate) states: &'a mut States,
}

impl SpongeKernel for Hash512Beside<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: KeccakLanes>(self, lanes: S) {
        self.message.start(lanes, self.states, true);
        absorb_first(lanes, self.states, self.block);
    }
}
