use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};

use crate::clock::Time;
use crate::growth::Growth;
use crate::slot_pool::SlotPool;
use crate::statistics::{Counted, Counter};
use fork::Process;
use secret::{Arena, OnFork};

/// What one process has of a pool.
pub(crate) struct Store<M> {
    pub(crate) process: Process,
    /// `None` if nothing may be kept.
    slots: Option<SlotPool<AtomicU64, Arena>>,
    pub(crate) growth: Growth,
    pub(crate) counters: Counted,
    /// What batches are made in. Nobody waits for it.
    memory: Mutex<M>,
    /// Requests that found nothing, since the last look.
    misses: AtomicU32,
    /// Items handed out until the background last looked for what is too old.
    pub(crate) served_at_expiry: AtomicU64,
}

/// What a slot holds: when its item was made, and the item.
const TIME_BYTES: usize = size_of::<u64>();

impl<M: Default> Store<M> {
    /// Room for `slots` items of `item_bytes`.
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
        // Pages are locked as they are used: most of them never are.
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

    /// Takes an item out: `read` gets its bytes, and when it was made, unless a fork has wiped that. `None` if there is nothing.
    pub(crate) fn take<R>(&self, read: impl FnOnce(Option<Time>, &[u8]) -> R) -> Option<R> {
        self.slots.as_ref()?.take(|bytes| {
            let (time, item) = split(bytes);
            read(time, item)
        })
    }

    /// Erases what `keep` says no to.
    pub(crate) fn sweep(&self, keep: impl Fn(Option<Time>) -> bool) -> usize {
        self.slots.as_ref().map_or(0, |slots| slots.sweep(|bytes| keep(split(bytes).0)))
    }

    /// Puts in `count` items, which `write` writes, and says how many there was room for.
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

    /// Leave to fill the store, and memory for it, for one thread at a time; who does not get it does not wait.
    pub(crate) fn try_batch_memory(&self) -> Option<MutexGuard<'_, M>> {
        match self.memory.try_lock() {
            Ok(memory) => Some(memory),
            Err(TryLockError::Poisoned(memory)) => Some(memory.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Notes a request that found nothing, and says how many there have been since the last look.
    pub(crate) fn miss(&self) -> u32 {
        self.misses.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Whether there have been such requests.
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
