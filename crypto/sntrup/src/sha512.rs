//! SHA-512 (FIPS 180-4): of one message, whose schedule is in vectors and whose rounds are scalar,
//! of two, or of as many messages at once as there are lanes.

use kem_common::wipe;
use lanes::{HashLanes, Kernel, PairLanes, RoundLanes, U64Lanes, scalar};

/// Bytes of a block.
pub(crate) const BLOCK_BYTES: usize = 128;
const BLOCK_WORDS: usize = 16;
const DIGEST_WORDS: usize = 8;
const ROUNDS: usize = 80;
/// The largest number of 64-bit lanes.
pub(crate) const MAX_LANES: usize = 8;

/// A digest, or the state on the way to it.
pub(crate) type Digest = [u64; DIGEST_WORDS];

/// The 64 bits after the point of the root of the given degree of each of the first `N` primes.
const fn roots<const N: usize>(degree: usize) -> [u64; N] {
    /// The integral part of x^degree, x having 64 bits after the point.
    const fn power(x: u128, degree: usize) -> u64 {
        let factor = [x as u64, (x >> 64) as u64];
        let mut power = [factor[0], factor[1], 0, 0, 0];
        let mut k = 1;
        while k < degree {
            let mut product = [0; 5];
            let mut i = 0;
            while i < 3 {
                let low = power[i] as u128 * factor[0] as u128 + product[i] as u128;
                let high =
                    power[i] as u128 * factor[1] as u128 + product[i + 1] as u128 + (low >> 64);
                product[i] = low as u64;
                product[i + 1] = high as u64;
                product[i + 2] = (high >> 64) as u64;
                i += 1;
            }
            power = product;
            k += 1;
        }
        power[degree]
    }

    let mut roots = [0; N];
    let (mut n, mut candidate) = (0, 2);
    while n < N {
        let mut divisor = 2;
        while candidate % divisor != 0 {
            divisor += 1;
        }
        if divisor == candidate {
            let (mut root, mut bit) = (0, 1 << 68);
            while bit > 0 {
                // A prime's root is irrational, so equality does not occur.
                if power(root | bit, degree) < candidate {
                    root |= bit;
                }
                bit >>= 1;
            }
            roots[n] = root as u64;
            n += 1;
        }
        candidate += 1;
    }
    roots
}

pub(crate) const INITIAL: Digest = roots(2);
const CONSTANTS: [u64; ROUNDS] = roots(3);

/// The next word of the schedule, from the first, second, tenth and fifteenth of the latest 16.
#[inline(always)]
fn next_word<L: U64Lanes>(lanes: L, words: [L::U64; 4]) -> L::U64 {
    let [w0, w1, w9, w14] = words;
    let sigma0 = lanes.xor_u64(
        lanes.rotate_u64::<1>(w1),
        lanes.rotate_u64::<8>(w1),
        lanes.shift_u64::<7>(w1),
    );
    let sigma1 = lanes.xor_u64(
        lanes.rotate_u64::<19>(w14),
        lanes.rotate_u64::<61>(w14),
        lanes.shift_u64::<6>(w14),
    );
    lanes.add_u64(lanes.add_u64(lanes.add_u64(w0, w9), sigma0), sigma1)
}

/// Steps that are written out one by one, so that what they index stays in registers.
trait Steps {
    /// A step; the schedule need not go on where it is the `LAST` time.
    fn step<const LAST: bool>(&mut self, i: usize);

    /// Eight steps from `i` on.
    #[inline(always)]
    fn eight<const LAST: bool>(&mut self, i: usize) {
        self.step::<LAST>(i);
        self.step::<LAST>(i + 1);
        self.step::<LAST>(i + 2);
        self.step::<LAST>(i + 3);
        self.step::<LAST>(i + 4);
        self.step::<LAST>(i + 5);
        self.step::<LAST>(i + 6);
        self.step::<LAST>(i + 7);
    }
}

/// The message: a byte, then the concatenation of `parts`.
#[derive(Clone, Copy)]
pub(crate) struct Message<'a> {
    prefix: u8,
    parts: &'a [&'a [u8]],
    /// Its bytes, the prefix included.
    len: usize,
    /// Its bytes with the padding: a byte, zeros, and the length in 16 bytes.
    padded_len: usize,
}

impl<'a> Message<'a> {
    #[inline(always)]
    pub(crate) fn new(prefix: u8, parts: &'a [&'a [u8]]) -> Self {
        let mut len = 1;
        for part in parts {
            len += part.len();
        }
        let padded_len = (len + 1 + 16).next_multiple_of(BLOCK_BYTES);
        Message { prefix, parts, len, padded_len }
    }

    /// Blocks of the padded message.
    #[inline(always)]
    pub(crate) fn blocks(&self) -> usize {
        self.padded_len / BLOCK_BYTES
    }

    /// Block number `index`; put together in `space` if it does not lie in one part.
    #[inline(always)]
    fn block<'b>(&self, index: usize, space: &'b mut [u8; BLOCK_BYTES]) -> &'b [u8; BLOCK_BYTES]
    where
        'a: 'b,
    {
        let start = index * BLOCK_BYTES;
        let end = start + BLOCK_BYTES;
        let mut at = 1;
        for &part in self.parts {
            if at <= start && end <= at + part.len() {
                return part[start - at..].first_chunk().unwrap();
            }
            at += part.len();
        }
        self.assemble(start, space);
        space
    }

    /// Fills `space` with the block that begins at byte `start`.
    #[inline(always)]
    fn assemble(&self, start: usize, space: &mut [u8; BLOCK_BYTES]) {
        let end = start + BLOCK_BYTES;
        *space = [0; BLOCK_BYTES];
        if start == 0 {
            space[0] = self.prefix;
        }
        let mut at = 1;
        for part in self.parts {
            let (first, last) = (at.max(start), (at + part.len()).min(end));
            if first < last {
                space[first - start..last - start].copy_from_slice(&part[first - at..last - at]);
            }
            at += part.len();
        }
        if start <= self.len && self.len < end {
            space[self.len - start] = 0x80;
        }
        if end == self.padded_len {
            *space.last_chunk_mut().unwrap() = (8 * self.len as u64).to_be_bytes();
        }
    }
}

/// A message of which the first blocks are hashed.
pub(crate) struct MessageState<'a> {
    pub(crate) message: Message<'a>,
    /// The state, [`INITIAL`] before the first block.
    pub(crate) state: &'a mut Digest,
    /// Blocks that are hashed.
    pub(crate) done: usize,
}

/// Hashes blocks of one message.
pub(crate) struct HashOne<'a> {
    pub(crate) message: MessageState<'a>,
    pub(crate) blocks: usize,
}

impl<L: HashLanes> Kernel<L> for HashOne<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let HashOne { message, blocks } = self;
        let (mut space, mut sums) = ([0; BLOCK_BYTES], [0; BLOCK_WORDS]);
        for i in 0..blocks {
            let block = message.message.block(message.done + i, &mut space);
            compress(lanes.one(), message.state, block, &mut sums);
        }
        wipe(&mut space);
        wipe(&mut sums);
    }
}

/// Hashes the same number of blocks of two messages. A message's rounds wait for each other: those
/// of two take little more time than those of one.
pub(crate) struct HashTwo<'a> {
    pub(crate) messages: [MessageState<'a>; 2],
    pub(crate) blocks: usize,
}

impl<L: HashLanes> Kernel<L> for HashTwo<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let HashTwo { messages: [a, b], blocks } = self;
        let (mut spaces, mut sums) = ([[0; BLOCK_BYTES]; 2], [0; 2 * BLOCK_WORDS]);
        let mut states = [0; 2 * DIGEST_WORDS];
        for i in 0..DIGEST_WORDS {
            [states[2 * i], states[2 * i + 1]] = [a.state[i], b.state[i]];
        }
        for i in 0..blocks {
            let [of_a, of_b] = &mut spaces;
            let both = [a.message.block(a.done + i, of_a), b.message.block(b.done + i, of_b)];
            compress_two(lanes, &mut states, both, &mut sums);
        }
        for i in 0..DIGEST_WORDS {
            [a.state[i], b.state[i]] = [states[2 * i], states[2 * i + 1]];
        }
        wipe(&mut states);
        wipe(spaces.as_flattened_mut());
        wipe(&mut sums);
    }
}

/// The schedules of one message or two, computed two words at a time.
struct Schedule<'a, L: PairLanes> {
    lanes: L,
    /// The latest 16 words.
    words: [L::U64; BLOCK_WORDS / 2],
    /// The words of 16 rounds, each with the round's constant added; those of one round side by
    /// side.
    sums: &'a mut [u64],
}

impl<'a, L: PairLanes> Schedule<'a, L> {
    /// The first 16 words.
    #[inline(always)]
    fn new(lanes: L, blocks: &[&[u8; BLOCK_BYTES]], sums: &'a mut [u64]) -> Self {
        let mut words = [lanes.constants_u64(&[0; 2]); BLOCK_WORDS / 2];
        for i in 0..BLOCK_WORDS / 2 {
            words[i] = lanes.load_big_endian(blocks, 16 * i);
            let sum = lanes.add_u64(words[i], lanes.constants_u64(&CONSTANTS[2 * i..]));
            lanes.store_in_turn(&mut sums[L::U64S * i..], sum);
        }
        Schedule { lanes, words, sums }
    }

    /// Replaces the words 2i and 2i + 1, to which `constants` will belong.
    #[inline(always)]
    fn step(&mut self, i: usize, constants: &[u64]) {
        let lanes = self.lanes;
        let [w0, w2, w4, w6, w8, w10, w12, w14] = self.words;
        let (w1, w9) = (lanes.straddle_u64(w0, w2), lanes.straddle_u64(w8, w10));
        let w16 = next_word(lanes, [w0, w1, w9, w14]);
        self.words = [w2, w4, w6, w8, w10, w12, w14, w16];
        let sum = lanes.add_u64(w16, lanes.constants_u64(&constants[2 * i..]));
        lanes.store_in_turn(&mut self.sums[L::U64S * i..], sum);
    }
}

/// Adds a block to one message's state. The schedule is computed next to the rounds of 16 words
/// before.
#[inline(always)]
fn compress<L: PairLanes>(
    lanes: L,
    state: &mut Digest,
    block: &[u8; BLOCK_BYTES],
    sums: &mut [u64],
) {
    let schedule = Schedule::new(lanes, &[block], sums);
    let mut rounds = ScalarRounds { state: *state, schedule, constants: &CONSTANTS };
    for first in (BLOCK_WORDS..ROUNDS).step_by(BLOCK_WORDS) {
        rounds.constants = &CONSTANTS[first..first + BLOCK_WORDS];
        rounds.eight::<false>(0);
    }
    rounds.eight::<true>(0);
    for i in 0..DIGEST_WORDS {
        state[i] = state[i].wrapping_add(rounds.state[i]);
    }
}

/// 16 rounds of one message, two a step.
struct ScalarRounds<'a, L: PairLanes> {
    state: Digest,
    schedule: Schedule<'a, L>,
    /// The constants of the 16 rounds that follow.
    constants: &'a [u64],
}

impl<L: PairLanes> Steps for ScalarRounds<'_, L> {
    #[inline(always)]
    fn step<const LAST: bool>(&mut self, i: usize) {
        let (first, second) = (self.schedule.sums[2 * i], self.schedule.sums[2 * i + 1]);
        self.state = round(self.state, first);
        if !LAST {
            self.schedule.step(i, self.constants);
        }
        self.state = round(self.state, second);
    }
}

/// Adds a block to the state of each of two messages, as [`compress`]; `states` has the messages'
/// words in turn.
#[inline(always)]
fn compress_two<L: HashLanes>(
    lanes: L,
    states: &mut [u64; 2 * DIGEST_WORDS],
    blocks: [&[u8; BLOCK_BYTES]; 2],
    sums: &mut [u64],
) {
    let schedule = Schedule::new(lanes.two(), &blocks, sums);
    let lanes = lanes.couple();
    let mut state = [lanes.load_u64(&*states); DIGEST_WORDS];
    for i in 1..DIGEST_WORDS {
        state[i] = lanes.load_u64(&states[2 * i..]);
    }
    let mut rounds = CoupleRounds { lanes, state, schedule, constants: &CONSTANTS };
    for first in (BLOCK_WORDS..ROUNDS).step_by(BLOCK_WORDS) {
        rounds.constants = &CONSTANTS[first..first + BLOCK_WORDS];
        rounds.eight::<false>(0);
    }
    rounds.eight::<true>(0);
    for i in 0..DIGEST_WORDS {
        let sum = lanes.add_u64(rounds.state[i], lanes.load_u64(&states[2 * i..]));
        lanes.store_u64(&mut states[2 * i..], sum);
    }
}

/// 16 rounds of two messages, two a step.
struct CoupleRounds<'a, L: RoundLanes, S: PairLanes> {
    lanes: L,
    state: [L::U64; DIGEST_WORDS],
    schedule: Schedule<'a, S>,
    /// The constants of the 16 rounds that follow.
    constants: &'a [u64],
}

impl<L: RoundLanes, S: PairLanes> Steps for CoupleRounds<'_, L, S> {
    #[inline(always)]
    fn step<const LAST: bool>(&mut self, i: usize) {
        let lanes = self.lanes;
        let sums = &self.schedule.sums[4 * i..4 * i + 4];
        let (first, second) = (lanes.load_u64(&sums[..2]), lanes.load_u64(&sums[2..]));
        self.state = vector_round(lanes, self.state, first);
        if !LAST {
            self.schedule.step(i, self.constants);
        }
        self.state = vector_round(lanes, self.state, second);
    }
}

/// A round of one message; `sum` is the round's word and constant.
#[inline(always)]
fn round(state: Digest, sum: u64) -> Digest {
    let [a, b, c, d, e, f, g, h] = state;
    let choice = g ^ (e & (f ^ g));
    let majority = b ^ ((a ^ b) & (b ^ c));
    let t = h.wrapping_add(sum).wrapping_add(choice);
    // Without `scalar` compilers rotate e and a in one vector.
    let t = scalar(t.wrapping_add(e.rotate_right(14) ^ e.rotate_right(18) ^ e.rotate_right(41)));
    let u = t.wrapping_add(majority);
    let u = u.wrapping_add(a.rotate_right(28) ^ a.rotate_right(34) ^ a.rotate_right(39));
    [u, a, b, c, d.wrapping_add(t), e, f, g]
}

/// The digests of as many messages as there are lanes. All have the same length.
pub(crate) struct HashMany<'a> {
    pub(crate) prefix: u8,
    pub(crate) messages: &'a [&'a [u8]],
    pub(crate) digests: &'a mut [Digest],
}

impl<L: HashLanes> Kernel<L> for HashMany<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let (messages, digests) = (&self.messages[..L::U64S], &mut self.digests[..L::U64S]);
        let len = messages[0].len();
        let padded_len = Message::new(self.prefix, &messages[..1]).padded_len;
        let mut spaces = [[0; BLOCK_BYTES]; MAX_LANES];
        let mut words = [0; MAX_LANES * BLOCK_WORDS];
        let mut state = [0; MAX_LANES * DIGEST_WORDS];
        for i in 0..DIGEST_WORDS {
            lanes.store_u64(&mut state[i * L::U64S..], lanes.splat_u64(INITIAL[i]));
        }
        for start in (0..padded_len).step_by(BLOCK_BYTES) {
            let mut blocks = [&[0; BLOCK_BYTES]; MAX_LANES];
            // The prefix comes before the message's first byte.
            if start > 0 && start - 1 + BLOCK_BYTES <= len {
                for j in 0..L::U64S {
                    blocks[j] = messages[j][start - 1..].first_chunk().unwrap();
                }
            } else {
                for j in 0..L::U64S {
                    Message::new(self.prefix, &messages[j..=j]).assemble(start, &mut spaces[j]);
                }
                for j in 0..L::U64S {
                    blocks[j] = &spaces[j];
                }
            }
            lanes.transpose_blocks(&blocks, &mut words);
            compress_many(lanes, &mut state, &mut words);
        }
        for i in 0..DIGEST_WORDS {
            for j in 0..L::U64S {
                digests[j][i] = state[i * L::U64S + j];
            }
        }
        wipe(spaces.as_flattened_mut());
        wipe(&mut words);
        wipe(&mut state);
    }
}

/// Adds a block of each message to the messages' states.
#[inline(always)]
fn compress_many<L: HashLanes>(lanes: L, states: &mut [u64], words: &mut [u64]) {
    let mut state = [lanes.splat_u64(0); DIGEST_WORDS];
    for i in 0..DIGEST_WORDS {
        state[i] = lanes.load_u64(&states[i * L::U64S..]);
    }
    let mut rounds = VectorRounds { lanes, state, words, constants: &CONSTANTS };
    for first in (0..ROUNDS - BLOCK_WORDS).step_by(BLOCK_WORDS) {
        rounds.constants = &CONSTANTS[first..first + BLOCK_WORDS];
        rounds.eight::<false>(0);
        rounds.eight::<false>(8);
    }
    rounds.constants = &CONSTANTS[ROUNDS - BLOCK_WORDS..];
    rounds.eight::<true>(0);
    rounds.eight::<true>(8);
    for i in 0..DIGEST_WORDS {
        let sum = lanes.add_u64(rounds.state[i], lanes.load_u64(&states[i * L::U64S..]));
        lanes.store_u64(&mut states[i * L::U64S..], sum);
    }
}

/// 16 rounds of several messages, one a step.
struct VectorRounds<'a, L: HashLanes> {
    lanes: L,
    state: [L::U64; DIGEST_WORDS],
    /// The latest 16 words of the schedules.
    words: &'a mut [u64],
    /// The rounds' constants.
    constants: &'a [u64],
}

impl<L: HashLanes> VectorRounds<'_, L> {
    #[inline(always)]
    fn word(&self, i: usize) -> L::U64 {
        self.lanes.load_u64(&self.words[i % BLOCK_WORDS * L::U64S..])
    }
}

impl<L: HashLanes> Steps for VectorRounds<'_, L> {
    #[inline(always)]
    fn step<const LAST: bool>(&mut self, i: usize) {
        let (lanes, w0) = (self.lanes, self.word(i));
        let sum = lanes.add_u64(w0, lanes.splat_u64(self.constants[i]));
        if !LAST {
            let words = [w0, self.word(i + 1), self.word(i + 9), self.word(i + 14)];
            lanes.store_u64(&mut self.words[i * L::U64S..], next_word(lanes, words));
        }
        self.state = vector_round(lanes, self.state, sum);
    }
}

/// [`round`] for instructions with a latency of two cycles: t and d + t are computed apart, so that
/// from one e to the next, and from one a, there are six cycles. Compilers would undo that.
#[inline(always)]
fn vector_round<L: RoundLanes>(
    lanes: L,
    state: [L::U64; DIGEST_WORDS],
    sum: L::U64,
) -> [L::U64; DIGEST_WORDS] {
    let [a, b, c, d, e, f, g, h] = state;
    let choice = lanes.choose_u64(e, f, g);
    let sigma1 = lanes.xor_u64(
        lanes.rotate_u64::<14>(e),
        lanes.rotate_u64::<18>(e),
        lanes.rotate_u64::<41>(e),
    );
    let sigma0 = lanes.xor_u64(
        lanes.rotate_u64::<28>(a),
        lanes.rotate_u64::<34>(a),
        lanes.rotate_u64::<39>(a),
    );
    let t = lanes.pin_u64(lanes.add_u64(h, sum));
    let dt = lanes.pin_u64(lanes.add_u64(t, d));
    let dt = lanes.pin_u64(lanes.add_u64(dt, choice));
    let t = lanes.pin_u64(lanes.add_u64(t, choice));
    let t = lanes.pin_u64(lanes.add_u64(t, sigma1));
    let u = lanes.pin_u64(lanes.add_u64(t, lanes.majority_u64(a, b, c)));
    [lanes.add_u64(u, sigma0), a, b, c, lanes.add_u64(dt, sigma1), e, f, g]
}

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};
    use sha2::Digest as _;

    use super::*;

    fn bytes(digest: &Digest) -> Vec<u8> {
        digest.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    fn hex(digest: &Digest) -> String {
        digest.iter().map(|word| format!("{word:016x}")).collect()
    }

    fn single<L: HashLanes>(lanes: L, prefix: u8, parts: &[&[u8]]) -> Digest {
        let (message, mut state) = (Message::new(prefix, parts), INITIAL);
        let message = MessageState { message, state: &mut state, done: 0 };
        lanes.run(HashOne { blocks: message.message.blocks(), message });
        state
    }

    fn several<L: HashLanes>(lanes: L, prefix: u8, messages: &[&[u8]]) -> Vec<Digest> {
        let mut digests = vec![Digest::default(); L::U64S];
        lanes.run(HashMany { prefix, messages, digests: &mut digests });
        digests
    }

    /// The examples of FIPS 180-4 that NIST publishes; the first byte is the prefix.
    struct Examples;

    impl Dispatch for Examples {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let two_blocks = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn\
                              hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
            let million = "a".repeat(1_000_000);
            let examples = [
                (
                    "abc",
                    "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a\
                     2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
                ),
                (
                    two_blocks,
                    "8e959b75dae313da8cf4f72814fc143f8f7779c6eb9f7fa17299aeadb6889018\
                     501d289e4900f7e4331b99dec4b5433ac7d329eeb6dd26545e96e55b874be909",
                ),
                (
                    &million,
                    "e718483d0ce769644e2e42c7bc15b4638e1f98b13b2044285632a803afa973eb\
                     de0ff244877ea60a4cb0432ce577c31beb009c5c2c49aa2e4eadb217ad8cc09b",
                ),
            ];
            for (message, expected) in examples {
                let (prefix, rest) = message.as_bytes().split_first().unwrap();
                assert_eq!(hex(&single(lanes, *prefix, &[rest])), expected);
                for digest in several(lanes, *prefix, &[rest; MAX_LANES]) {
                    assert_eq!(hex(&digest), expected);
                }
            }
        }
    }

    #[test]
    fn examples_of_the_standard() {
        Backend::available().for_each(|backend| backend.run(Examples));
    }

    /// All lengths up to 300 bytes and those that the scheme hashes, in one part, in two, and in
    /// lanes.
    struct Lengths;

    impl Dispatch for Lengths {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let scheme = [994, 1007, 1039, 1071, 1158, 1322, 1505, 1847, 1879, 2067];
            for len in (0..=300).chain(scheme) {
                let messages: Vec<Vec<u8>> = (0..MAX_LANES)
                    .map(|j| (0..len).map(|i| (i * 37 + j * 11 + i / 256) as u8).collect())
                    .collect();
                let slices: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
                let digests = several(lanes, 2, &slices);
                for (digest, message) in digests.iter().zip(&messages) {
                    let expected = sha2::Sha512::new().chain_update([2]).chain_update(message);
                    let expected = expected.finalize();
                    assert_eq!(bytes(digest), expected[..], "{len} bytes in lanes");
                    assert_eq!(bytes(&single(lanes, 2, &[message])), expected[..], "{len} bytes");
                    for cut in [0, 32.min(len), len / 2] {
                        let (a, b) = message.split_at(cut);
                        let digest = single(lanes, 2, &[a, &[], b]);
                        assert_eq!(bytes(&digest), expected[..], "{cut} of {len} bytes first");
                    }
                }
            }
        }
    }

    #[test]
    fn every_length() {
        Backend::available().for_each(|backend| backend.run(Lengths));
    }
}
