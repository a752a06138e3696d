//! The provider context: the state of one load of the module.

use core::ffi::c_void;

use kex::{Backend, TlsGroup};
use openssl_abi::Core;
use warmup::WarmUp;

use crate::handshakes::Counting;
use crate::pools::GroupPools;
use crate::seed_key;
use crate::table::Tables;

/// The provider context: one load of the module into one library context.
pub(crate) struct Provider {
    pub(crate) core: Core,
    pub(crate) backend: Backend,
    /// In the order of [`kex::TLS_GROUPS`].
    pub(crate) code_points: Vec<u16>,
    /// The groups that are offered.
    pub(crate) groups: Vec<&'static TlsGroup>,
    pub(crate) pools: GroupPools,
    pub(crate) warm_up: WarmUp,
    /// With `statistics = on`.
    pub(crate) _counting: Option<Counting>,
    pub(crate) tables: Tables,
    /// The forms of private keys with seeds in files, in order of preference.
    pub(crate) key_forms: Box<[seed_key::Form]>,
    /// Whether the provider announces the TLS group x25519, which old releases require.
    pub(crate) announces_x25519: bool,
    /// Whether the provider announces the groups of ML-KEM: libssl does not have them itself.
    pub(crate) announces_ml_kem: bool,
}

impl Provider {
    /// The provider behind the context that OpenSSL passes.
    ///
    /// # Safety
    /// `context` was returned by `OSSL_provider_init`, and teardown has not been called.
    pub(crate) unsafe fn from_context<'a>(context: *const c_void) -> &'a Provider {
        // SAFETY: by the caller's promise; the provider is never changed after it was made.
        unsafe { &*context.cast::<Provider>() }
    }
}
