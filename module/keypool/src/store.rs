//! The part of a pool that belongs to one process: its stock and counters.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::clock::Time;
use crate::growth::Growth;
use crate::slot_pool::SlotPool;
use crate::statistics::{Counted, Counter};
use fork::Process;
use secret::{Arena, OnFork};

/// The part of a pool that belongs to one process.
pub(crate) struct Store<M> {
    pub(crate) process: Process,
    /// `None` if the process may not keep a stock.
    slots: Option<SlotPool<AtomicU64, Arena>>,
    pub(crate) growth: Growth,
    pub(crate) counters: Counted,
    /// Working memory of batches. Locked with `try_lock` only: no thread waits for it.
    memory: Mutex<M>,
    /// Number of requests that found no item, since the background thread last looked.
    misses: AtomicU32,
    /// Number of items handed out when the background thread last erased expired ones.
    pub(crate) served_at_expiry: AtomicU64,
}

/// A slot holds the time when its item was made, then the item.
const TIME_BYTES: usize = size_of::<u64>();

impl<M: Default> Store<M> {
    /// A store with room for `slots` items of `item_bytes` each.
    pub(crate) fn new(
        process: Process,
        slots: usize,
        item_bytes: usize,
        growth: Growth,
        counters: Counted,
    ) -> Self {
        let arena = match process {
            Process::Known(_) if slots > 0 => {
                Arena::new(slots, TIME_BYTES + item_bytes, OnFork::Wipe)
            }
            _ => None,
        };
        // Pages are locked when they are first used, and most never are.
        if arena.as_ref().is_some_and(|arena| !arena.lock(slots)) {
            counters.add(Counter::Unlocked, 1);
        }
        let slots = arena.map(|arena| SlotPool::new(arena, slots));
        let (memory, misses) = (Mutex::default(), AtomicU32::new(0));
        let served_at_expiry = AtomicU64::new(0);
        Store { process, slots, growth, counters, memory, misses, served_at_expiry }
    }

    pub(crate) fn can_keep(&self) -> bool {
        self.slots.is_some()
    }

    pub(crate) fn stock(&self) -> usize {
        self.slots.as_ref().map_or(0, SlotPool::stock)
    }

    /// Takes an item: calls `read` with its bytes and the time when it was made, which is `None` if
    /// a fork has wiped it. Returns `None` if there is no item.
    pub(crate) fn take<R>(&self, read: impl FnOnce(Option<Time>, &[u8]) -> R) -> Option<R> {
        self.slots.as_ref()?.take(|bytes| {
            let (time, item) = split(bytes);
            read(time, item)
        })
    }

    /// Erases the items for which `keep` returns false, and returns their number.
    pub(crate) fn sweep(&self, keep: impl Fn(Option<Time>) -> bool) -> usize {
        self.slots.as_ref().map_or(0, |slots| slots.sweep(|bytes| keep(split(bytes).0)))
    }

    /// Stores up to `count` items, which `write` writes, and returns for how many there was room.
    pub(crate) fn put(
        &self,
        made: Time,
        count: usize,
        mut write: impl FnMut(usize, &mut [u8]),
    ) -> usize {
        self.slots.as_ref().map_or(0, |slots| {
            slots.put(count, |i, bytes| {
                let (time, item) = bytes.split_at_mut(TIME_BYTES);
                time.copy_from_slice(&made.to_bits().to_ne_bytes());
                write(i, item);
            })
        })
    }

    /// The right to fill the store, with working memory, for one thread at a time. `None` if
    /// another thread has it.
    pub(crate) fn try_batch_memory(&self) -> Option<MutexGuard<'_, M>> {
        match self.memory.try_lock() {
            Ok(memory) => Some(memory),
            Err(TryLockError::Poisoned(memory)) => Some(memory.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Counts a request that found no item; returns the number of those since the background thread
    /// last looked.
    pub(crate) fn miss(&self) -> u32 {
        self.misses.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether there were such requests; resets their number.
    pub(crate) fn take_misses(&self) -> bool {
        self.misses.swap(0, Ordering::Relaxed) > 0
    }
}

fn split(bytes: &[u8]) -> (Option<Time>, &[u8]) {
    match bytes.split_first_chunk() {
        Some((time, item)) => (Time::from_bits(u64::from_ne_bytes(*time)), item),
        None => (None, bytes),
    }
}
