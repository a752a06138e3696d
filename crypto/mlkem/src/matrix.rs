//! The matrix, sampled from its public seed (FIPS 203, algorithm 7).
//!
//! Sampling takes a time that depends on the seed. Its kernels end in `Vartime`; they read the
//! lanes of public streams only.

use lanes::{Hardware, Kernel, SLACK_WORDS, STREAMS, U64Lanes};

use crate::keccak::{SHAKE_SUFFIX, SHAKE128_WORDS, STATE_WORDS, States, copy_lane, permute};
use crate::params::{N, ParameterSet, Q, SEED};
use crate::poly::Poly;
use crate::sponge::{SpongeSpace, Squeeze, Streams};

/// Blocks of SHAKE128 from which nearly all polynomials can be sampled: all but 0.7 %.
pub(crate) const BLOCKS: usize = 3;
/// Bytes of a block.
const BLOCK_BYTES: usize = 8 * SHAKE128_WORDS;

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

/// A matrix, of which some polynomials are sampled.
pub(crate) struct Matrix<'a> {
    pub(crate) seed: &'a [u8; SEED],
    pub(crate) order: Order,
    pub(crate) polys: &'a mut [Poly<i16>],
    /// The number of polynomials that are sampled.
    pub(crate) done: usize,
}

impl Matrix<'_> {
    /// The streams of the next polynomials: of the first one in lane `lane`.
    #[inline(always)]
    pub(crate) fn streams<P: ParameterSet>(&self, lane: usize) -> Streams<'_> {
        let nonce = |i| nonce::<P>(self.order, self.done + i);
        Streams::new(self.seed, lane, SHAKE128_WORDS, nonce)
    }

    /// Samples up to `count` polynomials from the blocks of streams, the first one in lane `lane`.
    #[inline(always)]
    pub(crate) fn sample<L: Hardware>(
        &mut self,
        lanes: L,
        space: &SpongeSpace,
        lane: usize,
        count: usize,
    ) {
        let count = count.min(self.polys.len() - self.done);
        let polys = &mut self.polys[self.done..self.done + count];
        lanes.run(SampleVartime { space, lane, polys, stride: 1 });
        self.done += count;
    }

    /// Samples as many polynomials as there are lanes.
    #[inline(always)]
    pub(crate) fn sample_next<P: ParameterSet, L: Hardware>(
        &mut self,
        lanes: L,
        space: &mut SpongeSpace,
    ) {
        let streams = self.streams::<P>(0);
        let (many, few) = (L::Many::U64S, L::Chain::U64S);
        let count = if many > few && self.polys.len() - self.done > few {
            lanes.run_many(Squeeze { streams, blocks: BLOCKS, space });
            many
        } else {
            lanes.run_chain(Squeeze { streams, blocks: BLOCKS, space });
            few
        };
        self.sample(lanes, space, 0, count);
    }

    /// Samples the rest of the matrix.
    #[inline(always)]
    pub(crate) fn sample_rest<P: ParameterSet, L: Hardware>(
        &mut self,
        lanes: L,
        space: &mut SpongeSpace,
    ) {
        while self.done < self.polys.len() {
            self.sample_next::<P, _>(lanes, space);
        }
    }
}

/// SampleNTT of streams of which the first blocks are squeezed, from lane `lane` on: to every
/// `stride`th polynomial. Variable-time: the streams must be public.
pub(crate) struct SampleVartime<'a> {
    pub(crate) space: &'a SpongeSpace,
    pub(crate) lane: usize,
    pub(crate) polys: &'a mut [Poly<i16>],
    pub(crate) stride: usize,
}

impl<L: Hardware> Kernel<L> for SampleVartime<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let mut words = [0; N + SLACK_WORDS];
        for (i, poly) in self.polys.iter_mut().step_by(self.stride).enumerate() {
            let lane = self.lane + i;
            let bytes = &self.space.stream(lane)[..BLOCKS * BLOCK_BYTES];
            let count = lanes.append_below_vartime(bytes, Q, &mut words, 0);
            if count < N {
                let states = &self.space.states;
                lanes.run(SampleMoreVartime { states, lane, words: &mut words, count });
            }
            for at in (0..N).step_by(L::WORDS) {
                lanes.store(&mut poly.0[at..], lanes.load(&words[at..]));
            }
        }
    }
}

/// Completes a polynomial from further blocks of a stream.
struct SampleMoreVartime<'a> {
    states: &'a States,
    lane: usize,
    words: &'a mut [i16],
    count: usize,
}

impl<L: Hardware> Kernel<L> for SampleMoreVartime<'_> {
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
