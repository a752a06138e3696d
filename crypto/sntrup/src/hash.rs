//! The scheme's hashes: the first half of SHA-512, with a one-byte prefix (round-3 specification,
//! section 4.2).

use lanes::HashLanes;
use sha2::{Digest as _, Sha512};
use zeroize::Zeroizing;

use crate::params::HASH_BYTES;
use crate::sha512::{
    Digest, HashMany, HashOne, HashTwo, INITIAL, MAX_LANES, Message, MessageState,
};

/// The kind of the hashed data; its value is the prefix byte.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(crate) enum Purpose {
    /// The session key of a rejected ciphertext.
    Rejection = 0,
    /// The session key.
    Session = 1,
    /// The confirmation inside the ciphertext.
    Confirmation = 2,
    /// An encoded Small.
    Small = 3,
    /// A public key.
    PublicKey = 4,
}

/// A hash. Functions write it where it belongs: one that is returned would leave a copy on the
/// stack.
pub(crate) type Hash = [u8; HASH_BYTES];

/// Writes the hash of the concatenation of `parts`.
pub(crate) fn hash<L: HashLanes>(lanes: L, purpose: Purpose, parts: &[&[u8]], to: &mut Hash) {
    hash_prefixed(lanes, purpose as u8, parts, to);
}

/// Writes the hashes of `messages`, all of one length, in the same order.
///
/// # Panics
/// There are more or fewer hashes than messages, or the lengths differ.
pub(crate) fn hash_all<L: HashLanes>(
    lanes: L,
    purpose: Purpose,
    messages: &[&[u8]],
    hashes: &mut [Hash],
) {
    assert_eq!(messages.len(), hashes.len());
    for (group, hashes) in messages.chunks(L::U64S).zip(hashes.chunks_mut(L::U64S)) {
        assert!(group.iter().all(|message| message.len() == messages[0].len()));
        // A block in eight lanes takes as much time as two by themselves and less than three, as
        // one in four lanes does.
        if group.len() <= 2 {
            one_or_two(lanes, purpose, group, hashes);
            continue;
        }
        let mut lane_messages = [group[0]; MAX_LANES];
        lane_messages[..group.len()].copy_from_slice(group);
        let mut digests = Zeroizing::new([Digest::default(); MAX_LANES]);
        lanes.run(HashMany {
            prefix: purpose as u8,
            messages: &lane_messages,
            digests: &mut *digests,
        });
        for (hash, digest) in hashes.iter_mut().zip(&*digests) {
            first_half(digest, hash);
        }
    }
}

fn one_or_two<L: HashLanes>(lanes: L, purpose: Purpose, messages: &[&[u8]], hashes: &mut [Hash]) {
    let ([a, b], [hash_a, hash_b]) = (messages, &mut *hashes) else {
        for (message, to) in messages.iter().zip(hashes) {
            hash(lanes, purpose, &[message], to);
        }
        return;
    };
    let (mut of_a, mut of_b) = (PartialHash::new(), PartialHash::new());
    let blocks = of_a.remaining(purpose, &[a]);
    advance_two(lanes, blocks, (&mut of_a, purpose, &[a]), (&mut of_b, purpose, &[b]));
    finish(lanes, &mut of_a, purpose, &[a], hash_a);
    finish(lanes, &mut of_b, purpose, &[b], hash_b);
}

/// Writes the session key, or the rejection key where `rejected` is all ones; the prefix is a
/// secret.
pub(crate) fn session_hash<L: HashLanes>(lanes: L, rejected: u8, parts: &[&[u8]], to: &mut Hash) {
    let prefix =
        Purpose::Session as u8 ^ (rejected & (Purpose::Session as u8 ^ Purpose::Rejection as u8));
    hash_prefixed(lanes, prefix, parts, to);
}

fn hash_prefixed<L: HashLanes>(lanes: L, prefix: u8, parts: &[&[u8]], to: &mut Hash) {
    if L::U64S > 1 {
        return finish_prefixed(lanes, &mut PartialHash::new(), prefix, parts, to);
    }
    // Without vectors of ours, the crate may know others.
    let mut state = Sha512::new();
    state.update([prefix]);
    for part in parts {
        state.update(part);
    }
    let mut digest = Zeroizing::new([0; 64]);
    // Not by `finalize`, which would move the state and leave a copy.
    state.finalize_into_reset((&mut *digest).into());
    to.copy_from_slice(&digest[..HASH_BYTES]);
}

/// A hash whose first blocks may be computed already.
pub(crate) struct PartialHash {
    state: Zeroizing<Digest>,
    blocks: usize,
}

impl PartialHash {
    pub(crate) fn new() -> Self {
        PartialHash { state: Zeroizing::new(INITIAL), blocks: 0 }
    }

    fn message_state<'a>(
        &'a mut self,
        purpose: Purpose,
        parts: &'a [&'a [u8]],
    ) -> MessageState<'a> {
        let message = Message::new(purpose as u8, parts);
        MessageState { message, state: &mut self.state, done: self.blocks }
    }

    /// Blocks that remain to be computed of a message.
    pub(crate) fn remaining(&self, purpose: Purpose, parts: &[&[u8]]) -> usize {
        Message::new(purpose as u8, parts).blocks() - self.blocks
    }
}

/// Computes the next `blocks` blocks of two hashes, where that is faster than one after another.
/// The messages need not be known beyond these blocks, but their lengths must be.
pub(crate) fn advance_two<L: HashLanes>(
    lanes: L,
    blocks: usize,
    a: (&mut PartialHash, Purpose, &[&[u8]]),
    b: (&mut PartialHash, Purpose, &[&[u8]]),
) {
    if L::FASTER_IN_TWO {
        lanes.run(HashTwo {
            messages: [a.0.message_state(a.1, a.2), b.0.message_state(b.1, b.2)],
            blocks,
        });
        a.0.blocks += blocks;
        b.0.blocks += blocks;
    }
}

/// Writes the hash that was partial.
pub(crate) fn finish<L: HashLanes>(
    lanes: L,
    partial: &mut PartialHash,
    purpose: Purpose,
    parts: &[&[u8]],
    to: &mut Hash,
) {
    if partial.blocks == 0 {
        return hash(lanes, purpose, parts, to);
    }
    finish_prefixed(lanes, partial, purpose as u8, parts, to);
}

fn finish_prefixed<L: HashLanes>(
    lanes: L,
    partial: &mut PartialHash,
    prefix: u8,
    parts: &[&[u8]],
    to: &mut Hash,
) {
    let message = Message::new(prefix, parts);
    let blocks = message.blocks() - partial.blocks;
    lanes.run(HashOne {
        message: MessageState { message, state: &mut partial.state, done: partial.blocks },
        blocks,
    });
    first_half(&partial.state, to);
}

fn first_half(digest: &Digest, to: &mut Hash) {
    for (bytes, word) in to.chunks_exact_mut(8).zip(digest) {
        bytes.copy_from_slice(&word.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};

    use super::*;

    fn expected(prefix: u8, message: &[u8]) -> Vec<u8> {
        Sha512::new().chain_update([prefix]).chain_update(message).finalize()[..HASH_BYTES].into()
    }

    /// Batches of every size around the numbers of lanes, of messages with every number of blocks
    /// that the scheme's have.
    struct Batches;

    impl Dispatch for Batches {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            for len in [0, 110, 111, 191, 320, 994, 1158, 1505, 2067] {
                for count in 0..=17 {
                    let messages: Vec<Vec<u8>> = (0..count)
                        .map(|j| (0..len).map(|i| (i * 31 + j * 7 + i / 256) as u8).collect())
                        .collect();
                    let slices: Vec<&[u8]> = messages.iter().map(|message| &message[..]).collect();
                    let mut hashes = vec![Hash::default(); count];
                    hash_all(lanes, Purpose::Small, &slices, &mut hashes);
                    for (hash, message) in hashes.iter().zip(&messages) {
                        assert_eq!(hash[..], expected(3, message), "{count} of {len} bytes");
                    }
                }
            }
        }
    }

    #[test]
    fn batches_are_single_hashes() {
        Backend::available().for_each(|backend| backend.run(Batches));
    }

    struct SessionKeys;

    impl Dispatch for SessionKeys {
        type Output = ();

        fn on<L: Hardware>(self, lanes: L) {
            let (first, second) = ([5; HASH_BYTES], [6; 1039]);
            let all = [&first[..], &second].concat();
            for (rejected, prefix) in [(0, 1), (0xff, 0)] {
                let mut key = Hash::default();
                session_hash(lanes, rejected, &[&first, &second], &mut key);
                assert_eq!(key[..], expected(prefix, &all));
            }
        }
    }

    #[test]
    fn rejection_changes_the_prefix() {
        Backend::available().for_each(|backend| backend.run(SessionKeys));
    }
}
