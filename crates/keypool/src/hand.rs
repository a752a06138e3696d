//! Key pairs that are in use, in a handshake between its messages perhaps.

use core::sync::atomic::AtomicU64;
use std::sync::Arc;

use kex::{Backend, Error, Storable};

use crate::arena::{Arena, OnFork};
use crate::kind::Halves;
use crate::pool::Pool;
use crate::shelf::{Bit, Set, Slots, erase};
use crate::statistics::Counter;
use fork::Process;

/// Memory for keys in use. Children of fork keep their copies: one may go on with a handshake that its parent began.
pub(crate) struct Hand {
    free: Set<AtomicU64>,
    arena: Arena,
}

/// Keys in use that there is protected memory for: more are rarely between two messages at once.
const KEYS: usize = 256;

impl Hand {
    /// `None` if there is no such memory.
    pub(crate) fn new(key_bytes: usize) -> Option<Arc<Self>> {
        let arena = Arena::new(KEYS, key_bytes, OnFork::Keep)?;
        Some(Arc::new(Hand { free: Set::new(KEYS, true), arena }))
    }

    /// Lets `work` have a slot.
    ///
    /// # Safety
    /// The slot was claimed by the caller, and is used by nobody else meanwhile.
    unsafe fn with<R>(&self, slot: Bit, work: impl FnOnce(&mut [u8]) -> R) -> R {
        // SAFETY: by the caller's promise.
        unsafe { self.arena.with(slot.slot(), work) }
    }
}

/// A key pair in use, for which nobody else has any: its secret half lies in memory that is locked where that is allowed, and left out
/// of core dumps, but for the moments in which it is worked with. Erased on drop.
pub struct InHand<K: Halves> {
    public: K::Public,
    secret: Place<K>,
}

enum Place<K: Halves> {
    Hand {
        hand: Arc<Hand>,
        slot: Bit,
        backend: Backend,
    },
    /// There was no room.
    Heap(K::Secret),
}

impl<K: Halves> InHand<K> {
    /// The public half.
    pub fn public(&self) -> &K::Public {
        &self.public
    }

    /// Lets `work` have the secret half.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn with_secret<R>(
        &self,
        work: impl FnOnce(&K::Secret) -> Result<R, Error>,
    ) -> Result<R, Error> {
        match &self.secret {
            Place::Heap(secret) => work(secret),
            Place::Hand { hand, slot, backend } => {
                // SAFETY: the slot was claimed for this key. Other threads may have the key, too; all of them only read.
                let secret =
                    unsafe { hand.with(*slot, |bytes| K::Secret::restore(*backend, &*bytes)) };
                work(&secret?)
            }
        }
    }
}

impl<K: Halves> Drop for InHand<K> {
    fn drop(&mut self) {
        if let Place::Hand { hand, slot, .. } = &self.secret {
            // SAFETY: the slot was claimed for this key, which nobody has any more.
            unsafe { hand.with(*slot, erase) };
            hand.free.release(*slot);
        }
    }
}

impl<K: Halves> Pool<K> {
    /// [`Pool::take`], for a key pair that waits for something before it is used.
    ///
    /// # Errors
    /// As [`Pool::take`].
    pub fn take_in_hand(&self) -> Result<InHand<K>, Error> {
        let (public, secret) = K::halves(self.take()?);
        let process = Process::current();
        let claimed =
            self.hand(process).and_then(|hand| Some((hand.clone(), hand.free.claim_first()?)));
        let secret = match claimed {
            Some((hand, slot)) => {
                // SAFETY: the slot was claimed.
                unsafe { hand.with(slot, |bytes| secret.store(bytes)) };
                Place::Hand { hand, slot, backend: self.backend() }
            }
            None => {
                self.store(process).counters.add(Counter::Exposed, 1);
                Place::Heap(secret)
            }
        };
        Ok(InHand { public, secret })
    }
}
