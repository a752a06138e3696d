//! The matrix, sampled from its public seed (FIPS 203, algorithm 7).

use lanes::{Hardware, KeccakLanes, Kernel, SLACK_WORDS, STREAMS, U64Lanes};
use zerocopy::FromZeros;

use crate::keccak::{
    SHAKE_SUFFIX, SHAKE128_WORDS, STATE_WORDS, SeedBlock, States, copy_lane, permute, squeeze,
};
use crate::params::{N, ParameterSet, Q, SEED};
use crate::poly::Poly;

/// Blocks of SHAKE128 from which nearly all polynomials can be sampled: all but 0.7 %.
pub(crate) const BLOCKS: usize = 3;
/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 8 * SHAKE128_WORDS;
/// Bytes between the streams in a buffer: the blocks, and as much as [`squeeze`] writes beyond.
pub(crate) const STRIDE: usize = BLOCKS * BLOCK_BYTES + 72;

/// The order of the matrix's polynomials.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// As key generation takes them: row by row.
    Rows,
    /// As encryption takes them: column by column.
    Columns,
}

/// The bytes after the seed, and the suffix, of the polynomial in place `i` of an order.
#[inline(always)]
pub(crate) fn nonce<P: ParameterSet>(order: Order, i: usize) -> u64 {
    let (major, minor) = (i / P::K, i % P::K);
    let [first, second] = match order {
        Order::Rows => [minor, major],
        Order::Columns => [major, minor],
    };
    (first | second << 8 | usize::from(SHAKE_SUFFIX) << 16) as u64
}

/// Streams of SHAKE128, of which lane `i` belongs to polynomial `first + i`.
#[inline(always)]
pub(crate) fn nonces<P: ParameterSet>(order: Order, first: usize) -> [u64; STREAMS] {
    let mut nonces = [0; STREAMS];
    for i in 0..STREAMS {
        nonces[i] = nonce::<P>(order, first + i);
    }
    nonces
}

/// SampleNTT of a stream's first blocks, in `bytes`. `lane` of `states` is the sponge that they
/// come from.
#[inline(always)]
pub(crate) fn sample<L: Hardware>(
    lanes: L,
    bytes: &[u8],
    states: &States,
    lane: usize,
    to: &mut Poly<i16>,
) {
    let mut words = [0; N + SLACK_WORDS];
    let bytes = &bytes[..BLOCKS * BLOCK_BYTES];
    let count = lanes.append_below_vartime(bytes, Q, &mut words, 0);
    if count < N {
        // Public: the seed of the matrix and all that comes from it.
        lanes.run(More { states, lane, words: &mut words, count });
    }
    to.0.copy_from_slice(&words[..N]);
}

/// Completes a polynomial from further blocks of a stream.
struct More<'a> {
    states: &'a States,
    lane: usize,
    words: &'a mut [i16],
    count: usize,
}

impl<L: Hardware> Kernel<L> for More<'_> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, lanes: L) {
        let mut states = States([[0; STREAMS]; STATE_WORDS]);
        for i in 0..STATE_WORDS {
            states.0[i][0] = self.states.0[i][self.lane]; // Public: a lane's number.
        }
        while self.count < N {
            permute(lanes.chain(), &mut states);
            let mut block = [0; BLOCK_BYTES];
            copy_lane(&states, 0, &mut block);
            self.count = lanes.append_below_vartime(&block, Q, self.words, self.count);
        }
    }
}

/// Memory for streams of SHAKE128.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct Buffers<const LANES: usize>([[u8; STRIDE]; LANES]);

impl<const LANES: usize> Buffers<LANES> {
    /// The blocks of a stream.
    #[inline(always)]
    pub(crate) fn stream(&self, lane: usize) -> &[u8] {
        &self.0[lane]
    }

    /// The memory, for other streams.
    #[inline(always)]
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        self.0.as_flattened_mut()
    }

    /// Writes block `block` of each stream.
    #[inline(always)]
    pub(crate) fn squeeze<S: KeccakLanes>(&mut self, lanes: S, states: &States, block: usize) {
        let to = &mut self.0.as_flattened_mut()[block * BLOCK_BYTES..];
        squeeze(lanes, states, SHAKE128_WORDS, to, STRIDE);
    }
}

/// Memory for sampling several polynomials. Public.
#[derive(FromZeros)]
#[repr(C)]
pub(crate) struct MatrixSpace {
    states: States,
    buffers: Buffers<STREAMS>,
}

impl MatrixSpace {
    /// Memory of zeros.
    #[inline(always)]
    pub(crate) fn zero() -> Self {
        MatrixSpace {
            states: States([[0; STREAMS]; STATE_WORDS]),
            buffers: Buffers([[0; STRIDE]; STREAMS]),
        }
    }
}

/// Samples the matrix's polynomials from number `first` on.
pub(crate) struct SampleMatrix<'a, P: ParameterSet> {
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) order: Order,
    pub(crate) first: usize,
    pub(crate) matrix: &'a mut P::Matrix<Poly<i16>>,
}

impl<P: ParameterSet, L: Hardware> Kernel<L> for SampleMatrix<'_, P> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let block = SeedBlock::new(self.seed, SHAKE128_WORDS);
        let (mut space, polys) = (MatrixSpace::zero(), self.matrix.as_mut());
        let mut next = self.first;
        while next < polys.len() {
            next += sample_some::<P, _>(lanes, &block, self.order, next, &mut space, polys);
        }
    }
}

/// Samples as many polynomials as there are lanes, from number `first` on, and returns their
/// number.
#[inline(always)]
pub(crate) fn sample_some<P: ParameterSet, L: Hardware>(
    lanes: L,
    block: &SeedBlock,
    order: Order,
    first: usize,
    space: &mut MatrixSpace,
    polys: &mut [Poly<i16>],
) -> usize {
    let nonces = nonces::<P>(order, first);
    let to = &mut polys[first..];
    if L::Many::U64S > L::Chain::U64S && to.len() > L::Chain::U64S {
        streams(lanes, lanes.many(), block, &nonces, space, to)
    } else {
        streams(lanes, lanes.chain(), block, &nonces, space, to)
    }
}

/// [`sample_some`] in given lanes.
#[inline(always)]
fn streams<L: Hardware, S: KeccakLanes>(
    lanes: L,
    sponges: S,
    block: &SeedBlock,
    nonces: &[u64; STREAMS],
    space: &mut MatrixSpace,
    to: &mut [Poly<i16>],
) -> usize {
    let MatrixSpace { states, buffers } = space;
    block.start(sponges, states, nonces);
    for number in 0..BLOCKS {
        permute(sponges, states);
        buffers.squeeze(sponges, states, number);
    }
    let count = to.len().min(S::U64S);
    for (lane, poly) in to[..count].iter_mut().enumerate() {
        sample(lanes, buffers.stream(lane), states, lane, poly);
    }
    count
}
