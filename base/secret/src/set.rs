//! Sets of slot numbers that threads share without a lock.

use core::sync::atomic::{AtomicU64, Ordering};

/// A word that threads share: an atomic, or a model checker's stand-in for one.
pub trait Word: Send + Sync {
    /// A word with these bits set.
    fn new(bits: u64) -> Self;
    /// The bits that are set, or were a moment ago (relaxed).
    fn peek(&self) -> u64;
    /// Stores a word that other threads may use as a hint only (relaxed).
    fn hint(&self, bits: u64);
    /// Clears bits and returns the previous word. Synchronizes with the [`Word::set`] of these bits
    /// (acquire).
    fn clear(&self, bits: u64) -> u64;
    /// Sets bits. The thread that clears them sees all earlier writes of this thread (release).
    fn set(&self, bits: u64);
}

impl Word for AtomicU64 {
    fn new(bits: u64) -> Self {
        AtomicU64::new(bits)
    }

    fn peek(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    fn hint(&self, bits: u64) {
        self.store(bits, Ordering::Relaxed);
    }

    fn clear(&self, bits: u64) -> u64 {
        self.fetch_and(!bits, Ordering::Acquire)
    }

    fn set(&self, bits: u64) {
        self.fetch_or(bits, Ordering::Release);
    }
}

const BITS: usize = u64::BITS as usize;

/// A set of slot numbers, one bit each. A thread that claims a slot owns it until it releases the
/// slot into a set. No operation waits.
pub struct Set<W> {
    lines: Box<[Line<W>]>,
    words: usize,
    /// Start of the next search: behind the slot that was claimed last, so that the oldest goes
    /// first.
    next: Line<W>,
}

/// Aligned to cache lines against false sharing.
#[repr(align(64))]
struct Line<W>([W; LINE_WORDS]);

const LINE_WORDS: usize = 8;

impl<W: Word> Set<W> {
    /// A set of all slots from 0 to `count` - 1, or an empty set for that many.
    pub fn new(count: usize, full: bool) -> Self {
        let word = |i: usize| match count.saturating_sub(BITS * i) {
            _ if !full => W::new(0),
            BITS.. => W::new(u64::MAX),
            rest => W::new((1 << rest) - 1),
        };
        let words = count.div_ceil(BITS);
        let line = |i: usize| Line(core::array::from_fn(|j| word(LINE_WORDS * i + j)));
        let lines = (0..words.div_ceil(LINE_WORDS)).map(line).collect();
        Set { lines, words, next: Line(core::array::from_fn(|_| W::new(0))) }
    }

    fn word(&self, i: usize) -> &W {
        &self.lines[i / LINE_WORDS].0[i % LINE_WORDS]
    }

    /// Claims up to `count` slots, all in one 64-bit word. Empty if the set is.
    pub fn claim(&self, count: usize) -> Bits {
        let claimed = self.claim_from(self.next.0[0].peek() as usize, count);
        if claimed.bits != 0 {
            let behind = BITS * (claimed.word + 1) - claimed.bits.leading_zeros() as usize;
            self.next.0[0].hint(behind as u64);
        }
        claimed
    }

    fn claim_from(&self, start: usize, count: usize) -> Bits {
        let start = start % (BITS * self.words);
        // The first word is searched twice: at first behind `start`, at last before it.
        for i in 0..=self.words {
            let word = (start / BITS + i) % self.words;
            let behind = u64::MAX << (start % BITS);
            let range = match i {
                0 => behind,
                i if i == self.words => !behind,
                _ => u64::MAX,
            };
            loop {
                let wanted = lowest(self.word(word).peek() & range, count);
                if wanted == 0 {
                    break;
                }
                let bits = self.word(word).clear(wanted) & wanted;
                if bits != 0 {
                    return Bits { word, bits };
                }
            }
        }
        Bits { word: 0, bits: 0 }
    }

    /// Claims one slot, if there is one; slots take turns.
    pub fn claim_one(&self) -> Option<usize> {
        self.claim(1).slots().next()
    }

    /// Claims the first slot, if there is one: it is the likeliest to be in the cache.
    pub fn claim_first(&self) -> Option<usize> {
        self.claim_from(0, 1).slots().next()
    }

    /// Releases slots into the set; they no longer belong to the caller.
    pub fn release_all(&self, slots: Bits) {
        self.word(slots.word).set(slots.bits);
    }

    /// Releases a slot into the set; it no longer belongs to the caller.
    pub fn release(&self, slot: usize) {
        self.word(slot / BITS).set(1 << (slot % BITS));
    }

    /// Number of slots in the set, or a moment ago.
    pub fn count(&self) -> usize {
        (0..self.words).map(|i| self.word(i).peek().count_ones() as usize).sum()
    }
}

/// Some slots of one word.
#[derive(Clone, Copy)]
pub struct Bits {
    word: usize,
    bits: u64,
}

impl Bits {
    /// Whether there are no slots.
    pub fn is_empty(self) -> bool {
        self.bits == 0
    }

    /// The slot numbers in ascending order.
    pub fn slots(self) -> impl Iterator<Item = usize> {
        let mut rest = self.bits;
        core::iter::from_fn(move || {
            let slot = (rest != 0).then(|| BITS * self.word + rest.trailing_zeros() as usize);
            rest &= rest.wrapping_sub(1);
            slot
        })
    }
}

/// The lowest `count` bits of `bits`.
fn lowest(bits: u64, count: usize) -> u64 {
    let mut rest = bits;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    bits & !rest
}
