//! State that all ENGINEs of the process share: the pools, with the settings of the control
//! commands.

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
    /// Its index in [`crate::key_type::TYPES`].
    const PLACE: usize;

    /// Returns its pools.
    fn pools(state: &State) -> &OfKem<Self>;
}

/// Settings that control commands change.
#[derive(Clone, Copy)]
pub(crate) struct Choice {
    pub(crate) backend: Backend,
    pub(crate) settings: Settings,
    pub(crate) x25519: Offer,
    pub(crate) ed25519: Offer,
}

impl Choice {
    /// Returns which of libcrypto's algorithms the ENGINE replaces.
    pub(crate) fn offers(&self) -> Offers {
        Offers::new(self.backend, self.x25519, self.ed25519)
    }
}

/// Pools and their settings.
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

/// Never freed, since any thread may be using the value. Each control command adds one.
static CURRENT: AtomicPtr<State> = AtomicPtr::new(ptr::null_mut());

impl State {
    fn new(choice: Choice) -> Self {
        let mut builder = Pools::builder(choice.backend, choice.settings);
        let (sntrup761, sntrup857) = (OfKem::new(&mut builder), OfKem::new(&mut builder));
        let exchanges = builder.add("X25519");
        State { choice, sntrup761, sntrup857, exchanges, all: builder.finish() }
    }

    /// Returns the state of the process. It takes no lock, which a child of fork could inherit
    /// held.
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

    /// Replaces `before` by a state with `choice`, unless another thread was first. Returns the
    /// current state.
    fn replace(before: *mut State, choice: Choice) -> &'static Self {
        let new = Box::into_raw(Box::new(State::new(choice)));
        match CURRENT.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: just made, and never freed.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: no other thread has seen it; the other one is never null and never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }

    /// Changes the settings. Keys in the earlier pools are erased.
    pub(crate) fn choose(change: impl FnOnce(&mut Choice)) {
        let before = Self::current();
        let mut choice = before.choice;
        change(&mut choice);
        Self::replace(ptr::from_ref(before).cast_mut(), choice);
        before.all.flush();
    }

    /// Erases the keys in the pools.
    pub(crate) fn flush() {
        Self::current().all.flush();
    }
}

impl<K: EngineKem> OfKem<K> {
    fn new(builder: &mut Builder) -> Self {
        OfKem { keys: builder.add(K::GROUP.name), encapsulations: builder.add(K::GROUP.name) }
    }

    /// Returns an unused key pair.
    pub(crate) fn key(&self) -> Result<KeyPair<K>, Error> {
        self.keys.take()
    }

    /// Encapsulates to `key`, into buffers of the right sizes.
    pub(crate) fn encapsulate(
        &self,
        key: &K::PublicKey,
        ciphertext: &mut [u8],
        secret: &mut [u8],
    ) -> Result<(), Error> {
        K::encapsulate_prepared(self.encapsulations.take()?, key, ciphertext, secret)
    }
}
