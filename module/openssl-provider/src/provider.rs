//! The provider: its algorithms, parameters, setup and teardown.

use core::ffi::{CStr, c_char, c_int, c_void};
use std::ffi::CString;

use curve25519::Offers;
use kex::{Backend, GroupVisitor, TlsKem, visit_groups};
use openssl_abi::functions::provider as function;
use openssl_abi::{
    Algorithm, Callback, Core, Dispatch, Param, ParamType, Params, TlsGroup, guard, names,
    operation,
};
use warmup::WarmUp;

use crate::config::{Config, ConfigError};
use crate::curves::{Ed25519, Exchange, Scheme, Signature, X25519};
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::group_key::GroupKey;
use crate::kem::KeyEncapsulation;
use crate::keymgmt::KeyManagement;
use crate::pools::GroupPools;
use crate::release::Release;
use crate::{reason, tls};

const NAME: &CStr = c"fastkex";
const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the version holds a null byte"),
    };
/// The version, and the platform the module was built for.
const BUILD_INFO: &CStr = match CStr::from_bytes_with_nul(
    concat!(env!("CARGO_PKG_VERSION"), " ", env!("FASTKEX_TARGET"), "\0").as_bytes(),
) {
    Ok(text) => text,
    Err(_) => panic!("the platform's name holds a null byte"),
};
/// The property definition of all algorithms of the module.
const PROPERTIES: &CStr = c"provider=fastkex";

/// The provider context: one load of the module into one library context.
pub(crate) struct Provider {
    pub(crate) core: Core,
    pub(crate) backend: Backend,
    /// In the order of [`kex::TLS_GROUPS`].
    pub(crate) code_points: Vec<u16>,
    pub(crate) pools: GroupPools,
    pub(crate) warm_up: WarmUp,
    key_management: Table,
    key_encapsulation: Table,
    encoders: Table,
    decoders: Table,
    key_exchange: Table,
    signature: Table,
    /// Whether the provider announces the TLS group x25519, which old releases require.
    pub(crate) announces_x25519: bool,
}

/// A table of algorithms, with the strings that it points to.
#[derive(Default)]
pub(crate) struct Table {
    algorithms: Vec<Algorithm>,
    strings: Vec<CString>,
}

impl Table {
    fn add(
        &mut self,
        group: &kex::TlsGroup,
        properties: &CStr,
        implementation: &'static [Dispatch],
    ) {
        let names = self.keep(format!("{}:{}", group.name, group.oid()));
        let properties = self.keep(properties.to_string_lossy().into_owned());
        let description = self.keep(group.description.to_owned());
        let implementation = implementation.as_ptr();
        self.algorithms.push(Algorithm { names, properties, implementation, description });
    }

    /// Adds an algorithm that the default provider has as well.
    fn add_scheme<S: Scheme>(&mut self, implementation: &'static [Dispatch]) {
        let description = self.keep(format!("{} (RFC {})", S::NAME, S::RFC));
        self.algorithms.push(Algorithm {
            names: S::NAMES.as_ptr(),
            properties: PROPERTIES.as_ptr(),
            implementation: implementation.as_ptr(),
            description,
        });
    }

    fn keep(&mut self, text: String) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let pointer = text.as_ptr();
        // The bytes of a `CString` stay in place when it is moved.
        self.strings.push(text);
        pointer
    }

    fn close(mut self) -> Self {
        self.algorithms.push(Algorithm::END);
        self
    }
}

impl GroupVisitor for Provider {
    fn visit<K: TlsKem>(&mut self) {
        self.key_management.add(K::GROUP, PROPERTIES, KeyManagement::<GroupKey<K>>::DISPATCH);
        self.key_encapsulation.add(K::GROUP, PROPERTIES, KeyEncapsulation::<K>::DISPATCH);
        for (properties, implementation) in Encoder::<K>::ALL {
            self.encoders.add(K::GROUP, properties, implementation);
        }
        for (properties, implementation) in Decoder::<K>::ALL {
            self.decoders.add(K::GROUP, properties, implementation);
        }
    }
}

impl Provider {
    pub(crate) const DISPATCH: &'static [Dispatch] = &[
        function::TEARDOWN.entry(teardown),
        function::GETTABLE_PARAMS.entry(gettable_params),
        function::GET_PARAMS.entry(get_params),
        function::QUERY_OPERATION.entry(query_operation),
        function::GET_REASON_STRINGS.entry(reason::strings),
        function::GET_CAPABILITIES.entry(get_capabilities),
        Dispatch::END,
    ];

    pub(crate) fn new(core: Core) -> Result<Provider, ConfigError> {
        let Config { backend, code_points, pools, warm_up, x25519, ed25519 } = Config::read(&core)?;
        let offers = Offers::new(backend, x25519, ed25519);
        let mut provider = Provider {
            core,
            backend,
            code_points,
            pools: GroupPools::new(backend, pools),
            warm_up: WarmUp::new(backend, warm_up),
            key_management: Table::default(),
            key_encapsulation: Table::default(),
            encoders: Table::default(),
            decoders: Table::default(),
            key_exchange: Table::default(),
            signature: Table::default(),
            announces_x25519: offers.x25519 && tls::groups_are_of_their_provider(&core),
        };
        visit_groups(&mut provider);
        if offers.x25519 {
            provider.key_management.add_scheme::<X25519>(KeyManagement::<X25519>::DISPATCH);
            provider.key_exchange.add_scheme::<X25519>(Exchange::DISPATCH);
        }
        if offers.ed25519 {
            let key_management = KeyManagement::<Ed25519>::DISPATCH;
            provider.key_management.add_scheme::<Ed25519>(key_management);
            let signature = Signature::dispatch(Release::of(&core));
            provider.signature.add_scheme::<Ed25519>(signature);
        }
        let Provider { key_management, key_encapsulation, encoders, decoders, .. } = provider;
        let (key_exchange, signature) = (provider.key_exchange, provider.signature);
        Ok(Provider {
            key_management: key_management.close(),
            key_encapsulation: key_encapsulation.close(),
            encoders: encoders.close(),
            decoders: decoders.close(),
            key_exchange: key_exchange.close(),
            signature: signature.close(),
            ..provider
        })
    }

    /// The provider behind the context that OpenSSL passes.
    ///
    /// # Safety
    /// `context` was returned by `OSSL_provider_init`, and teardown has not been called.
    pub(crate) unsafe fn from_context<'a>(context: *const c_void) -> &'a Provider {
        // SAFETY: by the caller's promise; the provider is never changed after it was made.
        unsafe { &*context.cast::<Provider>() }
    }
}

unsafe extern "C" fn teardown(context: *mut c_void) {
    guard((), || {
        // SAFETY: made by `Box::into_raw` in `OSSL_provider_init`; libcrypto calls this last, and
        // once.
        drop(unsafe { Box::from_raw(context.cast::<Provider>()) });
    });
}

unsafe extern "C" fn gettable_params(_: *mut c_void) -> *const Param {
    static PARAMS: [Param; 5] = [
        Param::descriptor(names::PROVIDER_NAME, ParamType::Utf8Pointer),
        Param::descriptor(names::PROVIDER_VERSION, ParamType::Utf8Pointer),
        Param::descriptor(names::PROVIDER_BUILDINFO, ParamType::Utf8Pointer),
        Param::descriptor(names::PROVIDER_STATUS, ParamType::Integer),
        Param::END,
    ];
    PARAMS.as_ptr()
}

unsafe extern "C" fn get_params(context: *mut c_void, params: *mut Param) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto hands back our context, and a parameter array to fill in.
        let (provider, params) = unsafe { (Provider::from_context(context), Params::new(params)) };
        for mut param in params.iter() {
            let key = param.key();
            let set = if key == names::PROVIDER_NAME {
                param.set_utf8_pointer(NAME)
            } else if key == names::PROVIDER_VERSION {
                param.set_utf8_pointer(VERSION)
            } else if key == names::PROVIDER_BUILDINFO {
                param.set_utf8_pointer(BUILD_INFO)
            } else if key == names::PROVIDER_STATUS {
                param.set_integer(1)
            } else {
                Ok(())
            };
            if let Err(error) = set {
                provider.core.raise(reason::PARAMETER, &format!("{key:?}: {error}"));
                return 0;
            }
        }
        1
    })
}

unsafe extern "C" fn query_operation(
    context: *mut c_void,
    operation: c_int,
    no_store: *mut c_int,
) -> *const Algorithm {
    guard(core::ptr::null(), || {
        // SAFETY: libcrypto hands back our context, and a place for the flag. Its cache of methods
        // may keep ours.
        let provider = unsafe {
            if !no_store.is_null() {
                *no_store = 0;
            }
            Provider::from_context(context)
        };
        let table = match operation {
            operation::KEYMGMT => &provider.key_management,
            operation::KEYEXCH => &provider.key_exchange,
            operation::SIGNATURE => &provider.signature,
            operation::KEM => &provider.key_encapsulation,
            operation::ENCODER => &provider.encoders,
            operation::DECODER => &provider.decoders,
            _ => return core::ptr::null(),
        };
        table.algorithms.as_ptr()
    })
}

unsafe extern "C" fn get_capabilities(
    context: *mut c_void,
    capability: *const c_char,
    callback: Option<Callback>,
    argument: *mut c_void,
) -> c_int {
    guard(0, || {
        // SAFETY: libcrypto hands back our context, and the capability's name.
        let (provider, capability) =
            unsafe { (Provider::from_context(context), CStr::from_ptr(capability)) };
        if !capability.to_bytes().eq_ignore_ascii_case(TlsGroup::CAPABILITY.to_bytes()) {
            return 1;
        }
        let Some(callback) = callback else { return 0 };
        // SAFETY: callback and argument come from libcrypto together.
        c_int::from(unsafe { tls::announce(provider, callback, argument) })
    })
}
