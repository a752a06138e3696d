//! A pool of items of one kind.

use core::sync::atomic::{AtomicU64, Ordering};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use kex::{Backend, Error};

use crate::clock::Time;
use crate::growth::Growth;
use crate::kind::Kind;
use crate::refiller::{AnyPool, RefillReport, Refiller};
use crate::settings::{Batch, Refill, Settings};
use crate::statistics::{Counted, Counter, Counts};
use crate::store::Store;
use fork::{PerProcess, Process};
use secret::{Secret, wiped_on_fork};

/// A stock of items of one kind, which grows with demand.
pub struct Pool<K: Kind> {
    name: String,
    backend: Backend,
    settings: Settings,
    store: PerProcess<Store<K::Memory>>,
    /// Items made at this time or before are not handed out. As [`Time::to_bits`].
    flushed: AtomicU64,
    refiller: Arc<Refiller>,
    kind: PhantomData<K>,
}

/// Number of batches that the background thread keeps in stock.
const BACKGROUND_BATCHES: usize = 4;
/// Upper bound of a batch's working memory, as a multiple of its stored items: transforms of
/// polynomials, keys and their encodings.
const WORKING_MEMORY: usize = 16;

/// Larger batches are made in chunks of this many items, at the same cost per item: until they are
/// stored, items occupy memory that each thread's allocator may retain.
const CHUNK_ITEMS: usize = 128;

enum Taken<T> {
    Item(T),
    /// Erased instead, with the counter that counts it.
    Erased(Counter),
}

impl<K: Kind> Pool<K> {
    pub(crate) fn new(
        name: String,
        backend: Backend,
        settings: Settings,
        refiller: Arc<Refiller>,
    ) -> Self {
        Pool {
            name,
            backend,
            settings,
            store: PerProcess::new(),
            flushed: AtomicU64::new(0),
            refiller,
            kind: PhantomData,
        }
    }

    /// Takes an item, which is handed out only once. From time to time also erases expired items in
    /// all pools.
    ///
    /// # Errors
    /// The pool was empty, and the random source failed.
    pub fn take(&self) -> Result<K::Item, Error> {
        loop {
            let process = Process::current();
            let (store, now) = (self.store(process), Time::now());
            let item = self.take_from_stock(store, now).map_or_else(|| self.make(store), Ok);
            // A signal handler may have forked since. Then the parent has the item as well, or it
            // was made of zeros.
            if Process::current() != process {
                continue;
            }
            let item = item?;
            self.refiller.sweep(process, now);
            if !K::is_protected(&item) {
                store.counters.add(Counter::Exposed, 1);
            }
            return Ok(item);
        }
    }

    /// Erases the stock. Items that are being made at the moment are erased later instead of handed
    /// out.
    pub fn flush(&self) {
        self.flushed.fetch_max(Time::now().to_bits(), Ordering::Relaxed);
        if let Some(store) = self.store.get(Process::current()) {
            let erased = store.sweep(|made| made.is_some_and(|made| !self.is_flushed(made)));
            store.counters.add(Counter::Discarded, erased);
        }
    }

    /// The counts of this process.
    pub fn counts(&self) -> Counts {
        self.store.get(Process::current()).map(|store| store.counters.counts()).unwrap_or_default()
    }

    /// Number of items in stock, or a moment ago.
    pub fn stock(&self) -> usize {
        self.store.get(Process::current()).map_or(0, Store::stock)
    }

    fn largest_batch(&self) -> usize {
        match self.settings.batch {
            Batch::Growing => K::LARGEST_BATCH,
            Batch::Fixed(size) => size,
        }
    }

    fn slots(&self) -> usize {
        match self.settings.refill {
            _ if !self.settings.enabled => 0,
            Refill::Inline => self.largest_batch(),
            Refill::Background => self.largest_batch() * BACKGROUND_BATCHES,
        }
    }

    fn store(&self, process: Process) -> &Store<K::Memory> {
        self.store.get_or_make(process, |inherited| {
            let settings = &self.settings;
            let counters = Counted::new(settings.statistics, process, &self.name, K::PURPOSE);
            counters.add(Counter::WipedByFork, inherited.map_or(0, Store::stock));
            let growth = Growth::new(settings.batch, self.largest_batch());
            Store::new(process, self.slots(), K::STORED_BYTES, growth, counters)
        })
    }

    fn is_flushed(&self, made: Time) -> bool {
        made.to_bits() <= self.flushed.load(Ordering::Relaxed)
    }

    fn take_from_stock(&self, store: &Store<K::Memory>, now: Time) -> Option<K::Item> {
        loop {
            match store.take(|made, bytes| self.read(now, made, bytes))? {
                Taken::Item(item) => {
                    store.counters.add(Counter::FromPool, 1);
                    if self.settings.refill == Refill::Background {
                        self.refiller.wake_if_parked(store.process);
                    }
                    return Some(item);
                }
                Taken::Erased(counter) => store.counters.add(counter, 1),
            }
        }
    }

    fn read(&self, now: Time, made: Option<Time>, bytes: &[u8]) -> Taken<K::Item> {
        match made {
            None => Taken::Erased(Counter::WipedByFork),
            Some(made) if self.is_flushed(made) => Taken::Erased(Counter::Discarded),
            Some(made) if now.since(made) > self.settings.max_age => {
                Taken::Erased(Counter::Expired)
            }
            Some(_) => match K::restore(self.backend, bytes) {
                Ok(item) => Taken::Item(item),
                Err(_) => Taken::Erased(Counter::Discarded),
            },
        }
    }

    /// Makes an item. If no other thread is making a batch, makes a batch and stores the rest of
    /// it.
    fn make(&self, store: &Store<K::Memory>) -> Result<K::Item, Error> {
        store.counters.add(Counter::Inline, 1);
        if self.settings.enabled && !store.can_keep() {
            store.counters.add(Counter::Unprotected, 1);
        }
        let batch = if store.can_keep() && !self.request_refill(store) {
            store.try_batch_memory().map(|memory| (memory, store.growth.next(Time::now())))
        } else {
            None
        };
        let made = match batch {
            Some((mut memory, size)) => self.generate(store, &mut memory, size, 1)?,
            // The item is used at once. A child of fork may go on with it, as with any key in use.
            None => {
                let mut items = K::generate(&mut K::Memory::default(), self.backend, 1)?;
                store.counters.add(Counter::Generated, items.len());
                items.pop()
            }
        };
        made.ok_or(Error::RandomSource)
    }

    /// Moves an item from memory that a child of fork finds wiped to memory that the child
    /// inherits.
    fn to_inherited_memory(&self, item: K::Item) -> Result<K::Item, Error> {
        let mut bytes = Secret::<[u8]>::slice(K::STORED_BYTES);
        K::store(&item, &mut bytes);
        K::restore(self.backend, &bytes)
    }

    /// Asks the background thread for a batch; `false` if there is no such thread.
    fn request_refill(&self, store: &Store<K::Memory>) -> bool {
        // The first request may be the only one, which is not worth a thread.
        self.settings.refill == Refill::Background
            && ((store.miss() == 1 && store.growth.size() == 0)
                || self.refiller.wake(store.process).is_ok()
                || {
                    store.counters.add(Counter::WithoutThread, 1);
                    false
                })
    }

    /// Makes `size` items and stores them, except for `wanted` of them (0 or 1), which are
    /// returned. The batch is zero in a child of fork.
    fn generate(
        &self,
        store: &Store<K::Memory>,
        memory: &mut K::Memory,
        mut size: usize,
        wanted: usize,
    ) -> Result<Option<K::Item>, Error> {
        if size > 1 && !has_memory(size.min(CHUNK_ITEMS) * K::STORED_BYTES * WORKING_MEMORY) {
            store.counters.add(Counter::OutOfMemory, 1);
            size = 1;
        }
        let started = Instant::now();
        let (mut first, mut left) = (None, size);
        while left > 0 {
            let made = Time::now();
            let count = left.min(CHUNK_ITEMS);
            let mut items = wiped_on_fork(|| K::generate(memory, self.backend, count))?;
            left -= items.len();
            store.counters.add(Counter::Generated, items.len());
            if wanted > 0 && first.is_none() {
                first = items.pop().map(|item| self.to_inherited_memory(item)).transpose()?;
            }
            let kept = store.put(made, items.len(), |i, bytes| K::store(&items[i], bytes));
            store.counters.add(Counter::Discarded, items.len() - kept);
        }
        if size > 1 {
            store.counters.refilled(started.elapsed());
        }
        Ok(first)
    }
}

/// Whether that many bytes can be allocated. A failed allocation ends the process, so a large one
/// that no caller asked for is tried first.
fn has_memory(bytes: usize) -> bool {
    let mut trial = Vec::<u8>::new(); // Public: nothing is written to it.
    let there = trial.try_reserve_exact(bytes).is_ok();
    core::hint::black_box(&trial);
    there
}

impl<K: Kind> AnyPool for Pool<K> {
    fn refill(&self, process: Process) -> RefillReport {
        let Some(store) = self.store.get(process).filter(|store| store.can_keep()) else {
            return RefillReport::default();
        };
        let growth = &store.growth;
        if store.take_misses() {
            growth.grow();
        }
        let (size, stock) = (growth.size(), store.stock());
        // With little in stock, a part of a batch soon is better than all of it late.
        let batch =
            if stock < size / BACKGROUND_BATCHES { size / BACKGROUND_BATCHES } else { size };
        let mut made_batch = false;
        if size > 0 && stock + size <= size * BACKGROUND_BATCHES {
            // A thread that needs an item and finds none makes it, and reports the failure.
            let filled = store
                .try_batch_memory()
                .map(|mut memory| self.generate(store, &mut memory, batch, 0));
            made_batch = filled.is_some_and(|made| made.is_ok());
        }
        RefillReport { made_batch, served: store.counters.get(Counter::FromPool), stock }
    }

    fn erase_expired(&self, process: Process) {
        if let Some(store) = self.store.get(process) {
            let now = Time::now();
            let is_fresh = |made: Time| now.since(made) <= self.settings.max_age;
            let erased = store.sweep(|made| made.is_some_and(is_fresh));
            store.counters.add(Counter::Expired, erased);
            let served = store.counters.get(Counter::FromPool);
            match store.served_at_expiry.swap(served, Ordering::Relaxed) {
                _ if erased == 0 => {}
                before if before == served => store.growth.reset(),
                _ => store.growth.shrink(),
            }
        }
    }

    fn flush(&self) {
        Pool::flush(self);
    }
}
