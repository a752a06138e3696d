//! What all ENGINEs of the process share: the pools, as the control commands want them.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Arc;

use curve25519::{Choice as Offer, Offers};
use kex::KeyPair;
use kex::{Backend, Error, Sntrup, TlsKem, X25519};
use keypool::{Builder, Encapsulations, Exchanges, KeyPairs, Pool, Pools, Settings};
use sntrup::{Sntrup761, Sntrup857};

/// A KEM of the ENGINE.
pub(crate) trait EngineKem: TlsKem {
    /// Its place among [`crate::key::TYPES`].
    const PLACE: usize;

    /// Its pools.
    fn pools(state: &State) -> &OfKem<Self>;
}

/// What can be set.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) backend: Backend,
    pub(crate) settings: Settings,
    pub(crate) x25519: Offer,
    pub(crate) ed25519: Offer,
}

impl Choice {
    /// Which of libcrypto's algorithms the ENGINE has, too.
    pub(crate) fn offers(&self) -> Offers {
        Offers::new(self.backend, self.x25519, self.ed25519)
    }
}

/// Pools, and what was chosen for them.
pub(crate) struct State {
    pub(crate) choice: Choice,
    sntrup761: OfKem<Sntrup<Sntrup761>>,
    sntrup857: OfKem<Sntrup<Sntrup857>>,
    pub(crate) exchanges: Arc<Pool<Exchanges<X25519>>>,
    all: Pools,
}

/// The pools of a KEM.
pub(crate) struct OfKem<K: TlsKem> {
    keys: Arc<Pool<KeyPairs<K>>>,
    encapsulations: Arc<Pool<Encapsulations<K>>>,
}

impl EngineKem for Sntrup<Sntrup761> {
    const PLACE: usize = 1;

    fn pools(state: &State) -> &OfKem<Self> {
        &state.sntrup761
    }
}

impl EngineKem for Sntrup<Sntrup857> {
    const PLACE: usize = 2;

    fn pools(state: &State) -> &OfKem<Self> {
        &state.sntrup857
    }
}

/// Never freed, since any thread may be using what it points to; there is one more for each control command.
static CURRENT: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

impl State {
    fn new(choice: Choice) -> Self {
        let mut builder = Pools::builder(choice.backend, choice.settings);
        let (sntrup761, sntrup857) = (OfKem::new(&mut builder), OfKem::new(&mut builder));
        let exchanges = builder.add("X25519");
        State { choice, sntrup761, sntrup857, exchanges, all: builder.finish() }
    }

    /// The state of the process. Takes no lock that a child of fork could find held.
    pub(crate) fn current() -> &'static Self {
        let current = CURRENT.load(Ordering::Acquire);
        if current.is_null() {
            let choice = Choice {
                backend: Backend::best(),
                settings: Settings::default(),
                x25519: Offer::Auto,
                ed25519: Offer::Auto,
            };
            return Self::replace(current, choice);
        }
        // SAFETY: not null, so from `replace`, and never freed.
        unsafe { &*current }
    }

    /// Puts `choice` in the place of `before`, unless somebody else was faster; returns what is there then.
    fn replace(before: *mut State, choice: Choice) -> &'static Self {
        let new = Box::into_raw(Box::new(State::new(choice)));
        match CURRENT.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just made, and never freed.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: nobody else has seen it; the other one is never null and never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }

    /// Changes what is chosen. What is in stock is erased.
    pub(crate) fn choose(change: impl FnOnce(&mut Choice)) {
        let before = Self::current();
        let mut choice = before.choice;
        change(&mut choice);
        Self::replace(ptr::from_ref(before).cast_mut(), choice);
        before.all.flush();
    }

    /// Erases what is in stock.
    pub(crate) fn flush() {
        Self::current().all.flush();
    }
}

impl<K: EngineKem> OfKem<K> {
    fn new(builder: &mut Builder) -> Self {
        OfKem { keys: builder.add(K::GROUP.name), encapsulations: builder.add(K::GROUP.name) }
    }

    /// A key pair that nobody else has.
    pub(crate) fn key(&self) -> Result<KeyPair<K>, Error> {
        self.keys.take()
    }

    /// An encapsulation for `key`, into buffers of the right sizes.
    pub(crate) fn encapsulate(
        &self,
        key: &K::PublicKey,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        K::encapsulate_prepared(self.encapsulations.take()?, key, ciphertext, secret)
    }
}
