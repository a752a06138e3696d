//! Who owns a slot. Each is free, ready (filled) or in somebody's hands, and two bitmaps say which: whoever clears a slot's bit has it,
//! and sets one to give it away. There is no lock that a thread could hold while another waits or forks.

use core::sync::atomic::{AtomicU64, Ordering};

/// A word that threads share: the processor's, or a model checker's.
pub(crate) trait Word: Send + Sync {
    fn new(bits: u64) -> Self;
    /// What the word holds, or held a moment ago.
    fn peek(&self) -> u64;
    /// A hint for others; nothing follows from it.
    fn hint(&self, bits: u64);
    /// Clears bits and says what there was before. Sees what was done before the bits were set.
    fn clear(&self, bits: u64) -> u64;
    /// Sets bits. Who clears them sees what was done before.
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

/// A set of slots.
pub(crate) struct Set<W> {
    lines: Box<[Line<W>]>,
    words: usize,
    /// Where to look first: behind the slot that was taken last, so that slots take turns and the oldest goes first.
    next: Line<W>,
}

/// What is in other lines of the cache is left in peace.
#[repr(align(64))]
struct Line<W>([W; LINE_WORDS]);

const LINE_WORDS: usize = 8;

impl<W: Word> Set<W> {
    /// All of `count` slots, or none.
    pub(crate) fn new(count: usize, full: bool) -> Self {
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

    /// Takes up to `count` slots out, all of one word, which are then the caller's alone: the word, and their bits in it. The bits are zero
    /// if there are none.
    fn claim(&self, count: usize) -> (usize, u64) {
        let (word, bits) = self.claim_from(self.next.0[0].peek() as usize, count);
        if bits != 0 {
            let behind = BITS * (word + 1) - bits.leading_zeros() as usize;
            self.next.0[0].hint(behind as u64);
        }
        (word, bits)
    }

    fn claim_from(&self, start: usize, count: usize) -> (usize, u64) {
        let start = start % (BITS * self.words);
        // The first word comes twice: first what lies behind the start, in the end what lies before it.
        for i in 0..=self.words {
            let place = (start / BITS + i) % self.words;
            let behind = u64::MAX << (start % BITS);
            let range = match i {
                0 => behind,
                i if i == self.words => !behind,
                _ => u64::MAX,
            };
            loop {
                let wanted = lowest(self.word(place).peek() & range, count);
                if wanted == 0 {
                    break;
                }
                let claimed = self.word(place).clear(wanted) & wanted;
                if claimed != 0 {
                    return (place, claimed);
                }
            }
        }
        (0, 0)
    }

    /// Takes one slot out, if there is one: they take turns.
    pub(crate) fn claim_one(&self) -> Option<Bit> {
        let (word, bit) = self.claim(1);
        (bit != 0).then_some(Bit { word, bit })
    }

    /// Takes the first slot out, if there is one: it is the likeliest to be in the cache.
    pub(crate) fn claim_first(&self) -> Option<Bit> {
        let (word, bit) = self.claim_from(0, 1);
        (bit != 0).then_some(Bit { word, bit })
    }

    /// Puts slots of a word in, which are then the caller's no more.
    fn release_all(&self, word: usize, bits: u64) {
        self.word(word).set(bits);
    }

    /// Puts a slot in, which is then the caller's no more.
    pub(crate) fn release(&self, slot: Bit) {
        self.release_all(slot.word, slot.bit);
    }

    fn len(&self) -> usize {
        (0..self.words).map(|i| self.word(i).peek().count_ones() as usize).sum()
    }
}

/// A slot's place in a set.
#[derive(Clone, Copy)]
pub(crate) struct Bit {
    word: usize,
    bit: u64,
}

impl Bit {
    /// The slot's number.
    pub(crate) fn slot(self) -> usize {
        BITS * self.word + self.bit.trailing_zeros() as usize
    }
}

/// The lowest `count` of some bits.
fn lowest(bits: u64, count: usize) -> u64 {
    let mut rest = bits;
    for _ in 0..count {
        rest &= rest.wrapping_sub(1);
    }
    bits & !rest
}

/// The slots that some bits of a word stand for.
fn slots(word: usize, bits: u64) -> impl Iterator<Item = usize> {
    let is_set = move |bit: &usize| bits >> bit & 1 != 0;
    (0..BITS).filter(is_set).map(move |bit| BITS * word + bit)
}

/// Memory in slots.
///
/// # Safety
/// Slots do not overlap.
pub(crate) unsafe trait Slots {
    /// Lets `work` have a slot.
    ///
    /// # Safety
    /// Nobody else has the slot.
    unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R;
}

/// Slots, and who owns them.
pub(crate) struct Shelf<W, S> {
    ready: Set<W>,
    free: Set<W>,
    slots: S,
}

impl<W: Word, S: Slots> Shelf<W, S> {
    /// A shelf of `count` free slots.
    pub(crate) fn new(slots: S, count: usize) -> Self {
        Shelf { ready: Set::new(count, false), free: Set::new(count, true), slots }
    }

    /// Lets `read` have what is in some filled slot, then erases it. `None` if no slot is filled.
    pub(crate) fn take<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let slot = self.ready.claim_one()?;
        let read_and_erase = |bytes: &mut [u8]| {
            let result = read(bytes);
            erase(bytes);
            result
        };
        // SAFETY: the slot was claimed.
        let result = unsafe { self.slots.with(slot.slot(), read_and_erase) };
        self.free.release(slot);
        Some(result)
    }

    /// Erases what `keep` says no to, and says how much that was. Others may find nothing while the last item is looked at.
    pub(crate) fn sweep(&self, keep: impl Fn(&[u8]) -> bool) -> usize {
        let keep_or_erase = |bytes: &mut [u8]| {
            let kept = keep(bytes);
            if !kept {
                erase(bytes);
            }
            kept
        };
        let mut erased = 0;
        for _ in 0..self.stock() {
            let Some(slot) = self.ready.claim_one() else { break };
            // SAFETY: the slot was claimed.
            if unsafe { self.slots.with(slot.slot(), keep_or_erase) } {
                self.ready.release(slot);
            } else {
                self.free.release(slot);
                erased += 1;
            }
        }
        erased
    }

    /// Lets `write` fill free slots with up to `count` items, the first being number 0, and says how many there was room for. Those of a
    /// word are given away together: who takes meanwhile is hardly disturbed.
    pub(crate) fn put(&self, count: usize, mut write: impl FnMut(usize, &mut [u8])) -> usize {
        let mut done = 0;
        while done < count {
            let (word, bits) = self.free.claim(count - done);
            if bits == 0 {
                break;
            }
            for slot in slots(word, bits) {
                // SAFETY: the slot was claimed.
                unsafe { self.slots.with(slot, |bytes| write(done, bytes)) };
                done += 1;
            }
            self.ready.release_all(word, bits);
        }
        done
    }

    /// Filled slots, or how many there were a moment ago.
    pub(crate) fn stock(&self) -> usize {
        self.ready.len()
    }
}

/// Overwrites bytes with zeros so that the compiler cannot leave it out.
pub(crate) fn erase(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    use super::*;

    type Slot = [u8; 8];

    struct Plain(Vec<UnsafeCell<Slot>>);

    // SAFETY: slots are shared as `Slots::with` demands.
    unsafe impl Sync for Plain {}

    // SAFETY: each is a cell of its own.
    unsafe impl Slots for Plain {
        unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
            // SAFETY: by the caller's promise.
            work(unsafe { &mut *self.0[slot].get() })
        }
    }

    fn shelf(count: usize) -> Shelf<AtomicU64, Plain> {
        Shelf::new(Plain((0..count).map(|_| UnsafeCell::default()).collect()), count)
    }

    fn put<W: Word, S: Slots>(shelf: &Shelf<W, S>, number: u64) -> bool {
        put_from(shelf, number, 1) == 1
    }

    fn put_from<W: Word, S: Slots>(shelf: &Shelf<W, S>, first: u64, count: usize) -> usize {
        shelf.put(count, |i, bytes| bytes.copy_from_slice(&(first + i as u64).to_le_bytes()))
    }

    fn take<W: Word, S: Slots>(shelf: &Shelf<W, S>) -> Option<u64> {
        shelf.take(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
    }

    #[test]
    fn holds_as_many_as_it_has_slots_and_gives_the_oldest_first() {
        for count in [1, 2, 63, 64, 65, 128, 200] {
            let shelf = shelf(count);
            assert_eq!(take(&shelf), None);
            let mut next = 0;
            for round in 0..5 {
                let first = next;
                while let filled @ 1.. = put_from(&shelf, next, 1 + round * 30) {
                    next += filled as u64;
                }
                assert_eq!(shelf.stock(), count, "round {round}");
                let half = count.div_ceil(2) as u64;
                let taken: Vec<_> = (0..half).map(|_| take(&shelf).unwrap()).collect();
                assert_eq!(taken, (next - count as u64..).take(half as usize).collect::<Vec<_>>());
                assert!(next >= first);
            }
        }
    }

    #[test]
    fn slots_are_erased() {
        let shelf = shelf(3);
        for i in 0..3 {
            assert!(put(&shelf, u64::MAX - i));
        }
        while take(&shelf).is_some() {}
        assert!(shelf.slots.0.into_iter().all(|slot| slot.into_inner() == [0; 8]));
    }

    #[test]
    fn a_sweep_leaves_what_is_to_be_kept() {
        let shelf = shelf(100);
        assert!((0..90).all(|number| put(&shelf, number)));
        assert_eq!(shelf.sweep(|bytes| bytes[0] % 3 == 0), 60);
        let mut left: Vec<_> = std::iter::from_fn(|| take(&shelf)).collect();
        left.sort_unstable();
        assert_eq!(left, (0..90).step_by(3).collect::<Vec<_>>());
        assert_eq!((0..200).filter(|&number| put(&shelf, number)).count(), 100);
    }

    #[test]
    fn threads_take_each_item_once() {
        const ITEMS: u64 = 100_000;
        let shelf = &shelf(130);
        let all = &Mutex::new(BTreeSet::new());
        std::thread::scope(|scope| {
            for filler in 0..2 {
                scope.spawn(move || {
                    for number in (0..ITEMS).filter(|number| number % 2 == filler) {
                        while !put(shelf, number) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            for _ in 0..4 {
                scope.spawn(move || {
                    while all.lock().unwrap().len() < ITEMS as usize {
                        let taken: Vec<_> = std::iter::from_fn(|| take(shelf)).take(100).collect();
                        let mut all = all.lock().unwrap();
                        for number in taken {
                            assert!(all.insert(number), "{number} was taken twice");
                        }
                    }
                });
            }
        });
    }

    /// Interleavings of threads, and every value that the memory model lets one see.
    mod model {
        use loom::cell::UnsafeCell;
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicU64;

        use super::super::{Ordering, Shelf, Slots, Word};
        use super::{Slot, put, put_from, take};

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

        /// Cells that notice two threads in one of them.
        struct Watched(Vec<UnsafeCell<Slot>>);

        // SAFETY: each is a cell of its own.
        unsafe impl Slots for Watched {
            unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
                // SAFETY: the model fails where the caller's promise does not hold.
                self.0[slot].with_mut(|bytes| work(unsafe { &mut *bytes }))
            }
        }

        // SAFETY: as above.
        unsafe impl Sync for Watched {}
        // SAFETY: as above.
        unsafe impl Send for Watched {}

        fn shelf(count: usize) -> Arc<Shelf<AtomicU64, Watched>> {
            let slots = (0..count).map(|_| UnsafeCell::new([0; 8])).collect();
            Arc::new(Shelf::new(Watched(slots), count))
        }

        /// Threads are interrupted so often at most: enough for every race that is known of in such code, and seconds instead of hours.
        const INTERRUPTIONS: usize = 3;

        fn check(of: impl Fn() + Send + Sync + 'static) {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = Some(INTERRUPTIONS);
            model.check(of);
        }

        #[test]
        fn two_takers_and_a_filler() {
            check(|| {
                let shelf = shelf(2);
                assert!(put(&shelf, 1));
                let takers: Vec<_> = (0..2)
                    .map(|_| {
                        let shelf = shelf.clone();
                        loom::thread::spawn(move || take(&shelf))
                    })
                    .collect();
                let second = put(&shelf, 2);
                let mut taken: Vec<_> =
                    takers.into_iter().filter_map(|taker| taker.join().unwrap()).collect();
                taken.extend(core::iter::from_fn(|| take(&shelf)));
                taken.sort_unstable();
                assert!(second);
                assert_eq!(taken, [1, 2]);
            });
        }

        #[test]
        fn a_taker_and_a_filler_of_several() {
            check(|| {
                let shelf = shelf(3);
                assert_eq!(put_from(&shelf, 1, 2), 2);
                let taker = {
                    let shelf = shelf.clone();
                    loom::thread::spawn(move || [take(&shelf), take(&shelf)])
                };
                let filled = put_from(&shelf, 3, 3) as u64;
                let mut taken: Vec<_> = taker.join().unwrap().into_iter().flatten().collect();
                taken.extend(core::iter::from_fn(|| take(&shelf)));
                taken.sort_unstable();
                assert!(filled >= 1);
                assert_eq!(taken, (1..3 + filled).collect::<Vec<_>>());
            });
        }

        #[test]
        fn two_fillers_and_a_taker_share_a_slot() {
            check(|| {
                let shelf = shelf(1);
                let fillers: Vec<_> = (1..3)
                    .map(|number| {
                        let shelf = shelf.clone();
                        loom::thread::spawn(move || put(&shelf, number).then_some(number))
                    })
                    .collect();
                let mut taken: Vec<_> = take(&shelf).into_iter().collect();
                let mut filled: Vec<_> =
                    fillers.into_iter().filter_map(|filler| filler.join().unwrap()).collect();
                taken.extend(core::iter::from_fn(|| take(&shelf)));
                taken.sort_unstable();
                filled.sort_unstable();
                assert_eq!(taken, filled);
            });
        }
    }
}
