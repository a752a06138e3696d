//! A pool of memory slots. Each slot is free, ready (filled) or owned by a thread, which two sets
//! record: a thread that claims a slot from a set owns it, and gives it away by releasing it into a
//! set. There is no lock that a thread could hold while another one waits or forks.

use secret::{Arena, Set, Word, erase};

/// Memory that is divided into slots.
///
/// # Safety
/// Slots do not overlap.
pub(crate) unsafe trait Slots {
    /// Calls `work` with the memory of a slot.
    ///
    /// # Safety
    /// No other thread has the slot.
    unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R;
}

// SAFETY: slots of an arena do not overlap.
unsafe impl Slots for Arena {
    unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
        // SAFETY: the memory is initialised, and the caller's alone by its promise.
        work(unsafe { self.slot(slot).as_mut() })
    }
}

/// Slots and the sets that record their state.
pub(crate) struct SlotPool<W, S> {
    ready: Set<W>,
    free: Set<W>,
    slots: S,
}

impl<W: Word, S: Slots> SlotPool<W, S> {
    /// A pool of `count` free slots.
    pub(crate) fn new(slots: S, count: usize) -> Self {
        SlotPool { ready: Set::new(count, false), free: Set::new(count, true), slots }
    }

    /// Calls `read` with the contents of a filled slot, then erases it. `None` if no slot is
    /// filled.
    pub(crate) fn take<R>(&self, read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let slot = self.ready.claim_one()?;
        let read_and_erase = |bytes: &mut [u8]| {
            let result = read(bytes);
            erase(bytes);
            result
        };
        // SAFETY: the slot was claimed.
        let result = unsafe { self.slots.with(slot, read_and_erase) };
        self.free.release(slot);
        Some(result)
    }

    /// Erases the slots for which `keep` returns false, and returns their number. While the last
    /// item is examined, other threads may find the pool empty.
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
            if unsafe { self.slots.with(slot, keep_or_erase) } {
                self.ready.release(slot);
            } else {
                self.free.release(slot);
                erased += 1;
            }
        }
        erased
    }

    /// Fills free slots with up to `count` items, calling `write` with the number of each item from
    /// 0, and returns for how many there was room. Slots of one word become ready together, which
    /// hardly disturbs other threads.
    pub(crate) fn put(&self, count: usize, mut write: impl FnMut(usize, &mut [u8])) -> usize {
        let mut done = 0;
        while done < count {
            let claimed = self.free.claim(count - done);
            if claimed.is_empty() {
                break;
            }
            for slot in claimed.slots() {
                // SAFETY: the slot was claimed.
                unsafe { self.slots.with(slot, |bytes| write(done, bytes)) };
                done += 1;
            }
            self.ready.release_all(claimed);
        }
        done
    }

    /// Number of filled slots, or a moment ago.
    pub(crate) fn stock(&self) -> usize {
        self.ready.count()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::UnsafeCell;
    use std::collections::BTreeSet;
    use std::sync::Mutex;
    use std::sync::atomic::AtomicU64;

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

    fn pool(count: usize) -> SlotPool<AtomicU64, Plain> {
        SlotPool::new(Plain((0..count).map(|_| UnsafeCell::default()).collect()), count)
    }

    fn put<W: Word, S: Slots>(pool: &SlotPool<W, S>, number: u64) -> bool {
        put_from(pool, number, 1) == 1
    }

    fn put_from<W: Word, S: Slots>(pool: &SlotPool<W, S>, first: u64, count: usize) -> usize {
        pool.put(count, |i, bytes| bytes.copy_from_slice(&(first + i as u64).to_le_bytes()))
    }

    fn take<W: Word, S: Slots>(pool: &SlotPool<W, S>) -> Option<u64> {
        pool.take(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()))
    }

    #[test]
    fn holds_as_many_as_it_has_slots_and_gives_the_oldest_first() {
        for count in [1, 2, 63, 64, 65, 128, 200] {
            let pool = pool(count);
            assert_eq!(take(&pool), None);
            let mut next = 0;
            for round in 0..5 {
                let first = next;
                while let filled @ 1.. = put_from(&pool, next, 1 + round * 30) {
                    next += filled as u64;
                }
                assert_eq!(pool.stock(), count, "round {round}");
                let half = count.div_ceil(2) as u64;
                let taken: Vec<_> = (0..half).map(|_| take(&pool).unwrap()).collect();
                assert_eq!(taken, (next - count as u64..).take(half as usize).collect::<Vec<_>>());
                assert!(next >= first);
            }
        }
    }

    #[test]
    fn slots_are_erased() {
        let pool = pool(3);
        for i in 0..3 {
            assert!(put(&pool, u64::MAX - i));
        }
        while take(&pool).is_some() {}
        assert!(pool.slots.0.into_iter().all(|slot| slot.into_inner() == [0; 8]));
    }

    #[test]
    fn a_sweep_leaves_what_is_to_be_kept() {
        let pool = pool(100);
        assert!((0..90).all(|number| put(&pool, number)));
        assert_eq!(pool.sweep(|bytes| bytes[0] % 3 == 0), 60);
        let mut left: Vec<_> = std::iter::from_fn(|| take(&pool)).collect();
        left.sort_unstable();
        assert_eq!(left, (0..90).step_by(3).collect::<Vec<_>>());
        assert_eq!((0..200).filter(|&number| put(&pool, number)).count(), 100);
    }

    #[test]
    fn threads_take_each_item_once() {
        const ITEMS: u64 = 100_000;
        let pool = &pool(130);
        let all = &Mutex::new(BTreeSet::new());
        std::thread::scope(|scope| {
            for filler in 0..2 {
                scope.spawn(move || {
                    for number in (0..ITEMS).filter(|number| number % 2 == filler) {
                        while !put(pool, number) {
                            std::thread::yield_now();
                        }
                    }
                });
            }
            for _ in 0..4 {
                scope.spawn(move || {
                    while all.lock().unwrap().len() < ITEMS as usize {
                        let taken: Vec<_> = std::iter::from_fn(|| take(pool)).take(100).collect();
                        let mut all = all.lock().unwrap();
                        for number in taken {
                            assert!(all.insert(number), "{number} was taken twice");
                        }
                    }
                });
            }
        });
    }

    /// All interleavings of threads, with every value that the memory model allows.
    mod model {
        use loom::cell::UnsafeCell;
        use loom::sync::Arc;
        use loom::sync::atomic::AtomicU64;

        use loom::sync::atomic::Ordering;

        use super::super::{SlotPool, Slots, Word};
        use super::{Slot, put, put_from, take};

        /// A word of the model checker.
        struct Modelled(AtomicU64);

        impl Word for Modelled {
            fn new(bits: u64) -> Self {
                Modelled(AtomicU64::new(bits))
            }

            fn peek(&self) -> u64 {
                self.0.load(Ordering::Relaxed)
            }

            fn hint(&self, bits: u64) {
                self.0.store(bits, Ordering::Relaxed);
            }

            fn clear(&self, bits: u64) -> u64 {
                self.0.fetch_and(!bits, Ordering::Acquire)
            }

            fn set(&self, bits: u64) {
                self.0.fetch_or(bits, Ordering::Release);
            }
        }

        /// Cells that detect two threads in one of them.
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

        fn pool(count: usize) -> Arc<SlotPool<Modelled, Watched>> {
            let slots = (0..count).map(|_| UnsafeCell::new([0; 8])).collect();
            Arc::new(SlotPool::new(Watched(slots), count))
        }

        /// Number of preemptions per run: enough for every known kind of race in such code, and
        /// seconds instead of hours.
        const INTERRUPTIONS: usize = 3;

        fn check(of: impl Fn() + Send + Sync + 'static) {
            let mut model = loom::model::Builder::new();
            model.preemption_bound = Some(INTERRUPTIONS);
            model.check(of);
        }

        #[test]
        fn two_takers_and_a_filler() {
            check(|| {
                let pool = pool(2);
                assert!(put(&pool, 1));
                let takers: Vec<_> = (0..2)
                    .map(|_| {
                        let pool = pool.clone();
                        loom::thread::spawn(move || take(&pool))
                    })
                    .collect();
                let second = put(&pool, 2);
                let mut taken: Vec<_> =
                    takers.into_iter().filter_map(|taker| taker.join().unwrap()).collect();
                taken.extend(core::iter::from_fn(|| take(&pool)));
                taken.sort_unstable();
                assert!(second);
                assert_eq!(taken, [1, 2]);
            });
        }

        #[test]
        fn a_taker_and_a_filler_of_several() {
            check(|| {
                let pool = pool(3);
                assert_eq!(put_from(&pool, 1, 2), 2);
                let taker = {
                    let pool = pool.clone();
                    loom::thread::spawn(move || [take(&pool), take(&pool)])
                };
                let filled = put_from(&pool, 3, 3) as u64;
                let mut taken: Vec<_> = taker.join().unwrap().into_iter().flatten().collect();
                taken.extend(core::iter::from_fn(|| take(&pool)));
                taken.sort_unstable();
                assert!(filled >= 1);
                assert_eq!(taken, (1..3 + filled).collect::<Vec<_>>());
            });
        }

        #[test]
        fn two_fillers_and_a_taker_share_a_slot() {
            check(|| {
                let pool = pool(1);
                let fillers: Vec<_> = (1..3)
                    .map(|number| {
                        let pool = pool.clone();
                        loom::thread::spawn(move || put(&pool, number).then_some(number))
                    })
                    .collect();
                let mut taken: Vec<_> = take(&pool).into_iter().collect();
                let mut filled: Vec<_> =
                    fillers.into_iter().filter_map(|filler| filler.join().unwrap()).collect();
                taken.extend(core::iter::from_fn(|| take(&pool)));
                taken.sort_unstable();
                filled.sort_unstable();
                assert_eq!(taken, filled);
            });
        }
    }
}
