//! The noise, sampled from a secret seed by SHAKE256 (FIPS 203, section 4.3).

use lanes::{Hardware, U64Lanes};
use zerocopy::{FromBytes, IntoBytes};

use crate::keccak::{SHAKE_SUFFIX, SHAKE256_BYTES, SHAKE256_WORDS};
use crate::params::{ETA2, MAX_K, ParameterSet, SEED};
use crate::sponge::{SpongeSpace, Squeeze, Streams};

/// Bytes of a polynomial's noise, for eta = 3.
pub(crate) const NOISE_BYTES: usize = 64 * 3;

/// The bytes of noise polynomials. Secret.
#[derive(FromBytes, IntoBytes)]
#[repr(C, align(64))]
pub(crate) struct Noise(pub(crate) [[u8; NOISE_BYTES]; 2 * MAX_K + 1]);

/// eta of stream `i` of a key's or an encryption's noise.
pub(crate) const fn eta<P: ParameterSet>(i: usize, streams: usize) -> usize {
    // A key has 2 k streams, all of eta1; an encryption has one more, and k of eta1.
    if streams == 2 * P::K || i < P::K { P::ETA1 } else { ETA2 }
}

/// Blocks of SHAKE256 for a polynomial.
pub(crate) const fn blocks(eta: usize) -> usize {
    (64 * eta).div_ceil(SHAKE256_BYTES)
}

/// The byte after the seed, and the suffix.
#[inline(always)]
pub(crate) fn nonce(stream: usize) -> u64 {
    (stream | usize::from(SHAKE_SUFFIX) << 8) as u64
}

/// The streams of polynomials from number `first` on, which is in lane `lane`.
#[inline(always)]
pub(crate) fn streams(seed: &[u8; SEED], first: usize, lane: usize) -> Streams<'_> {
    Streams::new(seed, lane, SHAKE256_WORDS, |i| nonce(first + i))
}

impl Noise {
    /// Copies the bytes of up to `count` of `streams` polynomials, from number `first` on, out of
    /// the lanes from `lane` on. Returns the number of the next one.
    #[inline(always)]
    pub(crate) fn copy(
        &mut self,
        space: &SpongeSpace,
        [first, streams]: [usize; 2],
        lane: usize,
        count: usize,
    ) -> usize {
        let end = streams.min(first + count);
        for (i, to) in self.0[first..end].iter_mut().enumerate() {
            to.copy_from_slice(&space.stream(lane + i)[..NOISE_BYTES]);
        }
        end
    }

    /// Makes the bytes of `streams` polynomials.
    #[inline(always)]
    pub(crate) fn fill<P: ParameterSet, L: Hardware>(
        &mut self,
        lanes: L,
        seed: &[u8; SEED],
        streams: usize,
        space: &mut SpongeSpace,
    ) {
        let (many, few) = (L::Many::U64S, L::Chain::U64S);
        let mut next = 0;
        while next < streams {
            let blocks = blocks(eta::<P>(next, streams));
            let of_lanes = self::streams(seed, next, 0);
            let count = if many > few && streams - next > few {
                lanes.run_many(Squeeze { streams: of_lanes, blocks, space });
                many
            } else {
                lanes.run_chain(Squeeze { streams: of_lanes, blocks, space });
                few
            };
            next = self.copy(space, [next, streams], 0, count);
        }
    }
}
