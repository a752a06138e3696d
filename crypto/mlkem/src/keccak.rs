//! Keccak-f\[1600\] on lanes, and sponges in them (FIPS 202).

use lanes::{KeccakLanes, STREAMS};
use zerocopy::FromZeros;

use crate::params::SEED;

/// Integers of 64 bits in a state.
pub(crate) const STATE_WORDS: usize = 25;
/// Integers that a block of SHAKE128 has.
pub(crate) const SHAKE128_WORDS: usize = 21;
/// Integers that a block of SHAKE256 or SHA3-256 has.
pub(crate) const SHAKE256_WORDS: usize = 17;
/// Bytes that a block of SHAKE256 or SHA3-256 has.
pub(crate) const SHAKE256_BYTES: usize = 8 * SHAKE256_WORDS;
/// Integers that a block of SHA3-512 has.
pub(crate) const SHA3_512_WORDS: usize = 9;
/// The bits after a message of SHA-3, and the first bit of the padding.
pub(crate) const SHA3_SUFFIX: u8 = 0b110;
/// The bits after a message of SHAKE, and the first bit of the padding.
pub(crate) const SHAKE_SUFFIX: u8 = 0b1_1111;
/// The last bit of the padding, in the last integer of a block.
const LAST_BIT: u64 = 1 << 63;

/// States, one in each lane: integer `i` of all states is row `i`.
#[derive(FromZeros)]
#[repr(C, align(64))]
pub(crate) struct States(pub(crate) [[u64; STREAMS]; STATE_WORDS]);

/// FIPS 202, section 3.2.5.
const ROUND_CONSTANTS: [u64; 24] = {
    // Bit t of the sequence is the lowest bit of a linear feedback shift register after t steps.
    let mut constants = [0; 24];
    let mut register = 1u16;
    let mut round = 0;
    while round < 24 {
        let mut j = 0;
        while j < 7 {
            constants[round] |= ((register & 1) as u64) << ((1 << j) - 1);
            register <<= 1;
            if register >> 8 == 1 {
                register ^= 0b1_0111_0001;
            }
            j += 1;
        }
        round += 1;
    }
    constants
};

/// The five results of chi in a plane.
#[inline(always)]
fn chi<S: KeccakLanes>(lanes: S, b: [S::U64; 5]) -> [S::U64; 5] {
    [
        lanes.chi_u64(b[0], b[1], b[2]),
        lanes.chi_u64(b[1], b[2], b[3]),
        lanes.chi_u64(b[2], b[3], b[4]),
        lanes.chi_u64(b[3], b[4], b[0]),
        lanes.chi_u64(b[4], b[0], b[1]),
    ]
}

/// Word `i` after theta. Computed where it is used: fewer words are then alive at a time.
#[inline(always)]
fn theta<S: KeccakLanes>(
    lanes: S,
    a: &[S::U64; STATE_WORDS],
    parities: &[S::U64; 5],
    i: usize,
) -> S::U64 {
    lanes.xor_two_u64(a[i], parities[i % 5])
}

/// A round. Word x + 5 y is the lane (x, y) of the standard. Rotations are towards the low end.
#[inline(always)]
fn round<S: KeccakLanes>(lanes: S, a: [S::U64; STATE_WORDS], constant: u64) -> [S::U64; 25] {
    let mut columns = [a[0]; 5];
    for x in 0..5 {
        let upper = lanes.xor_u64(a[x], a[x + 5], a[x + 10]);
        columns[x] = lanes.xor_u64(upper, a[x + 15], a[x + 20]);
    }
    let mut parities = columns;
    for x in 0..5 {
        let next = lanes.rotate_u64::<63>(columns[(x + 1) % 5]);
        parities[x] = lanes.xor_two_u64(columns[(x + 4) % 5], next);
    }

    let [e0, e1, e2, e3, e4] = chi(
        lanes,
        [
            theta(lanes, &a, &parities, 0),
            lanes.rotate_u64::<20>(theta(lanes, &a, &parities, 6)),
            lanes.rotate_u64::<21>(theta(lanes, &a, &parities, 12)),
            lanes.rotate_u64::<43>(theta(lanes, &a, &parities, 18)),
            lanes.rotate_u64::<50>(theta(lanes, &a, &parities, 24)),
        ],
    );
    let [e5, e6, e7, e8, e9] = chi(
        lanes,
        [
            lanes.rotate_u64::<36>(theta(lanes, &a, &parities, 3)),
            lanes.rotate_u64::<44>(theta(lanes, &a, &parities, 9)),
            lanes.rotate_u64::<61>(theta(lanes, &a, &parities, 10)),
            lanes.rotate_u64::<19>(theta(lanes, &a, &parities, 16)),
            lanes.rotate_u64::<3>(theta(lanes, &a, &parities, 22)),
        ],
    );
    let [e10, e11, e12, e13, e14] = chi(
        lanes,
        [
            lanes.rotate_u64::<63>(theta(lanes, &a, &parities, 1)),
            lanes.rotate_u64::<58>(theta(lanes, &a, &parities, 7)),
            lanes.rotate_u64::<39>(theta(lanes, &a, &parities, 13)),
            lanes.rotate_u64::<56>(theta(lanes, &a, &parities, 19)),
            lanes.rotate_u64::<46>(theta(lanes, &a, &parities, 20)),
        ],
    );
    let [e15, e16, e17, e18, e19] = chi(
        lanes,
        [
            lanes.rotate_u64::<37>(theta(lanes, &a, &parities, 4)),
            lanes.rotate_u64::<28>(theta(lanes, &a, &parities, 5)),
            lanes.rotate_u64::<54>(theta(lanes, &a, &parities, 11)),
            lanes.rotate_u64::<49>(theta(lanes, &a, &parities, 17)),
            lanes.rotate_u64::<8>(theta(lanes, &a, &parities, 23)),
        ],
    );
    let [e20, e21, e22, e23, e24] = chi(
        lanes,
        [
            lanes.rotate_u64::<2>(theta(lanes, &a, &parities, 2)),
            lanes.rotate_u64::<9>(theta(lanes, &a, &parities, 8)),
            lanes.rotate_u64::<25>(theta(lanes, &a, &parities, 14)),
            lanes.rotate_u64::<23>(theta(lanes, &a, &parities, 15)),
            lanes.rotate_u64::<62>(theta(lanes, &a, &parities, 21)),
        ],
    );
    let e0 = lanes.xor_two_u64(e0, lanes.splat_u64(constant));
    [
        e0, e1, e2, e3, e4, e5, e6, e7, e8, e9, e10, e11, e12, e13, e14, e15, e16, e17, e18, e19,
        e20, e21, e22, e23, e24,
    ]
}

/// Permutes the state of each lane.
#[inline(always)]
pub(crate) fn permute<S: KeccakLanes>(lanes: S, states: &mut States) {
    let mut a = [lanes.splat_u64(0); STATE_WORDS];
    for i in 0..STATE_WORDS {
        a[i] = lanes.load_u64(&states.0[i]);
    }
    for pair in ROUND_CONSTANTS.as_chunks::<2>().0 {
        a = round(lanes, a, pair[0]);
        a = round(lanes, a, pair[1]);
    }
    for i in 0..STATE_WORDS {
        lanes.store_u64(&mut states.0[i], a[i]);
    }
}

/// A block of 32 bytes, up to three more and the padding: the states' row 4 apart from it. The seed
/// may be secret, so it is not copied.
pub(crate) struct SeedBlock<'a> {
    seed: &'a [u8; SEED],
    last_word: usize,
}

impl<'a> SeedBlock<'a> {
    /// The block of a sponge whose blocks have `words` integers.
    pub(crate) fn new(seed: &'a [u8; SEED], words: usize) -> Self {
        SeedBlock { seed, last_word: words - 1 }
    }

    /// Row `i` of the states, where `nonces` is row 4: the bytes after the seed and the suffix.
    #[inline(always)]
    fn row<S: KeccakLanes>(&self, lanes: S, nonces: &[u64; STREAMS], i: usize) -> S::U64 {
        match i {
            0..4 => lanes.splat_u64(u64::from_le_bytes(self.seed.as_chunks().0[i])),
            4 => lanes.load_u64(nonces),
            _ if i == self.last_word => lanes.splat_u64(LAST_BIT),
            _ => lanes.splat_u64(0),
        }
    }

    /// Starts a sponge in each lane.
    #[inline(always)]
    pub(crate) fn start<S: KeccakLanes>(
        &self,
        lanes: S,
        states: &mut States,
        nonces: &[u64; STREAMS],
    ) {
        for i in 0..STATE_WORDS {
            lanes.store_u64(&mut states.0[i], self.row(lanes, nonces, i));
        }
    }

    /// Starts a sponge in each lane but the first, whose state stays.
    #[inline(always)]
    pub(crate) fn start_beside_first<S: KeccakLanes>(
        &self,
        lanes: S,
        states: &mut States,
        nonces: &[u64; STREAMS],
    ) {
        for i in 0..STATE_WORDS {
            let first = lanes.load_u64(&states.0[i]);
            let row = lanes.beside_first_u64(first, self.row(lanes, nonces, i));
            lanes.store_u64(&mut states.0[i], row);
        }
    }
}

/// Starts a sponge in each lane with the seed in the lane's first four `seeds`, the same bytes
/// after it, and blocks of `words` integers.
#[inline(always)]
pub(crate) fn start_seeds<S: KeccakLanes>(
    lanes: S,
    states: &mut States,
    seeds: &[[u64; STREAMS]],
    nonce: u64,
    words: usize,
) {
    for i in 0..STATE_WORDS {
        let row = match i {
            0..4 => lanes.load_u64(&seeds[i]),
            4 => lanes.splat_u64(nonce),
            _ if i == words - 1 => lanes.splat_u64(LAST_BIT),
            _ => lanes.splat_u64(0),
        };
        lanes.store_u64(&mut states.0[i], row);
    }
}

/// Makes all states zero.
#[inline(always)]
pub(crate) fn clear<S: KeccakLanes>(lanes: S, states: &mut States) {
    for i in 0..STATE_WORDS {
        lanes.store_u64(&mut states.0[i], lanes.splat_u64(0));
    }
}

/// Writes the first `words` integers of each lane's state, `stride` bytes apart; up to 56 bytes
/// after them are overwritten.
#[inline(always)]
pub(crate) fn squeeze<S: KeccakLanes>(
    lanes: S,
    states: &States,
    words: usize,
    to: &mut [u8],
    stride: usize,
) {
    for i in (0..words).step_by(S::U64S) {
        lanes.store_streams(&states.0[i..], &mut to[8 * i..], stride);
    }
}

/// Absorbs a block of SHAKE256 or SHA3-256 in the first lane, and permutes all.
#[inline(always)]
pub(crate) fn absorb_first<S: KeccakLanes>(lanes: S, states: &mut States, block: &[u8]) {
    let (words, _) = block.as_chunks();
    for i in 0..SHAKE256_WORDS {
        let word = lanes.first_u64(u64::from_le_bytes(words[i]));
        let row = lanes.xor_two_u64(lanes.load_u64(&states.0[i]), word);
        lanes.store_u64(&mut states.0[i], row);
    }
    permute(lanes, states);
}

/// The one block of SHA3-512 that is a message of 32 secret bytes and 1 or 32 public ones.
#[derive(Clone, Copy)]
pub(crate) struct Message512<'a> {
    pub(crate) secret: &'a [u8; SEED],
    pub(crate) public: &'a [u8],
}

impl Message512<'_> {
    /// Bytes of the block after the secret ones.
    const REST: usize = 8 * SHA3_512_WORDS - SEED;

    /// Makes all lanes the block. With `chain`, the first lane is zero instead.
    #[inline(always)]
    pub(crate) fn start<S: KeccakLanes>(self, lanes: S, states: &mut States, chain: bool) {
        let Message512 { secret, public } = self;
        let mut rest = [0; Self::REST];
        rest[..public.len()].copy_from_slice(public);
        rest[public.len()] = SHA3_SUFFIX;
        rest[Self::REST - 1] |= 1 << 7;
        // Secret bytes are read where they are, so that no copy is left.
        let (secret, rest) = (secret.as_chunks().0, rest.as_chunks().0);
        for i in 0..STATE_WORDS {
            let word = match i {
                0..4 => u64::from_le_bytes(secret[i]),
                4..SHA3_512_WORDS => u64::from_le_bytes(rest[i - 4]),
                _ => 0,
            };
            let row = lanes.splat_u64(word);
            let row = if chain { lanes.beside_first_u64(lanes.splat_u64(0), row) } else { row };
            lanes.store_u64(&mut states.0[i], row);
        }
    }
}

/// Writes the first bytes of a lane's state.
#[inline(always)]
pub(crate) fn copy_lane(states: &States, lane: usize, to: &mut [u8]) {
    for (bytes, row) in to.chunks_exact_mut(8).zip(&states.0) {
        bytes.copy_from_slice(&row[lane].to_le_bytes());
    }
}

/// Copies the parts of a message and its padding into whole blocks of SHAKE256 or SHA3-256, and
/// returns them. The rest of `to` must be zero.
pub(crate) fn pad<'a>(to: &'a mut [u8], parts: &[&[u8]], suffix: u8) -> &'a [u8] {
    let mut length = 0;
    for part in parts {
        to[length..length + part.len()].copy_from_slice(part);
        length += part.len();
    }
    let padded = pad_in_place(to, length, suffix);
    &to[..padded]
}

/// Completes a message of `length` bytes, after which there are zeros, to whole blocks of SHAKE256
/// or SHA3-256, and returns their bytes.
pub(crate) fn pad_in_place(message: &mut [u8], length: usize, suffix: u8) -> usize {
    let padded = padded_bytes(length);
    message[length] |= suffix;
    message[padded - 1] |= 1 << 7;
    padded
}

/// Bytes of whole blocks of SHAKE256 or SHA3-256 for a message.
pub(crate) const fn padded_bytes(message: usize) -> usize {
    (message / SHAKE256_BYTES + 1) * SHAKE256_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanes::{Backend, Dispatch, Hardware, SpongeKernel};

    /// A message and the suffix of its hash.
    struct Hash<'a>(&'a [u8], u8);

    impl SpongeKernel for Hash<'_> {
        type Output = [u8; 200];

        #[inline(always)]
        fn run<S: KeccakLanes>(self, lanes: S) -> [u8; 200] {
            let mut space = [0; 2000];
            let mut states = States([[0; STREAMS]; STATE_WORDS]);
            for block in pad(&mut space, &[self.0], self.1).chunks_exact(SHAKE256_BYTES) {
                absorb_first(lanes, &mut states, block);
            }
            let mut out = [0; 200];
            copy_lane(&states, 0, &mut out);
            out
        }
    }

    struct Check;

    impl Dispatch for Check {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            // SHA3-256 of no bytes and of 200 bytes 0xa3 (NIST's examples); the begin of
            // SHAKE256 of no bytes.
            for (message, suffix, expected) in [
                (&[][..], SHA3_SUFFIX, 0xa7ff_c6f8_bf1e_d766_u64),
                (&[0xa3; 200][..], SHA3_SUFFIX, 0x79f3_8ade_c5c2_0307),
                (&[][..], SHAKE_SUFFIX, 0x46b9_dd2b_0ba8_8d13),
            ] {
                let hash = || Hash(message, suffix);
                for state in [lanes.run_many(hash()), lanes.run_chain(hash())] {
                    assert_eq!(u64::from_be_bytes(*state.first_chunk().unwrap()), expected);
                }
            }
        }
    }

    #[test]
    fn hashes_are_those_of_the_standard() {
        Backend::available().for_each(|backend| backend.run(Check));
    }
}
