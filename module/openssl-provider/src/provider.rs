//! The provider's own functions: setup and teardown, algorithms, parameters.

use core::ffi::{CStr, c_char, c_int, c_void};

use curve25519::Offers;
use kex::{GroupVisitor, TlsGroup, TlsKem, visit_groups};
use openssl_abi::functions::provider as function;
use openssl_abi::{
    Algorithm, Callback, Core, Dispatch, Param, ParamType, Params, guard, names, operation,
};
use warmup::WarmUp;

use crate::config::{Config, ConfigError};
use crate::context::Provider;
use crate::curves::{Ed25519, Exchange, Scheme, Signature, X25519};
use crate::decoder::Decoder;
use crate::encoder::Encoder;
use crate::group_key::GroupKey;
use crate::handshakes::Counting;
use crate::kem::KeyEncapsulation;
use crate::keymgmt::KeyManagement;
use crate::pools::GroupPools;
use crate::release::Release;
use crate::table::{Table, Tables};
use crate::{reason, tls};

const NAME: &CStr = c"fastkex";
/// The property definition of all algorithms of the module.
const PROPERTIES: &CStr = c"provider=fastkex";

/// The provider's functions.
pub(crate) const DISPATCH: &[Dispatch] = &[
    function::TEARDOWN.entry(teardown),
    function::GETTABLE_PARAMS.entry(gettable_params),
    function::GET_PARAMS.entry(get_params),
    function::QUERY_OPERATION.entry(query_operation),
    function::GET_REASON_STRINGS.entry(reason::strings),
    function::GET_CAPABILITIES.entry(get_capabilities),
    Dispatch::END,
];

/// Adds the algorithms of the groups that are offered.
struct Registration<'a> {
    tables: &'a mut Tables,
    groups: &'a [&'static TlsGroup],
    /// Whether to add encoders and decoders. OpenSSL 3.0 walks all of them for each key that it
    /// decodes: that of a certificate, too.
    key_files: bool,
}

impl GroupVisitor for Registration<'_> {
    fn visit<K: TlsKem>(&mut self) {
        if !self.groups.contains(&K::GROUP) {
            return;
        }
        let Tables { key_management, key_encapsulation, encoders, decoders, .. } = self.tables;
        key_management.add(K::GROUP, PROPERTIES, KeyManagement::<GroupKey<K>>::DISPATCH);
        key_encapsulation.add(K::GROUP, PROPERTIES, KeyEncapsulation::<K>::DISPATCH);
        if self.key_files && K::GROUP.identifier.is_some() {
            for (properties, implementation) in Encoder::<K>::ALL {
                encoders.add(K::GROUP, properties, implementation);
            }
            for (properties, implementation) in Decoder::<K>::ALL {
                decoders.add(K::GROUP, properties, implementation);
            }
        }
    }
}

/// Reads the configuration and sets up the provider.
pub(crate) fn load(core: Core) -> Result<Provider, ConfigError> {
    let config = Config::read(&core)?;
    let Config { backend, code_points, groups, key_files, key_forms, .. } = config;
    let offers = Offers::new(backend, config.x25519, config.ed25519);
    let mut tables = Tables::default();
    visit_groups(&mut Registration { tables: &mut tables, groups: &groups, key_files });
    if offers.x25519 {
        let key_management = KeyManagement::<X25519>::DISPATCH;
        add_scheme::<X25519>(&mut tables.key_management, key_management);
        add_scheme::<X25519>(&mut tables.key_exchange, Exchange::DISPATCH);
    }
    if offers.ed25519 {
        let key_management = KeyManagement::<Ed25519>::DISPATCH;
        add_scheme::<Ed25519>(&mut tables.key_management, key_management);
        add_scheme::<Ed25519>(&mut tables.signature, Signature::dispatch(Release::of(&core)));
    }
    tables.close();
    let counting = config.pools.statistics.then(|| Counting::start(&core, &code_points));
    Ok(Provider {
        core,
        backend,
        code_points,
        groups,
        pools: GroupPools::new(backend, config.pools),
        warm_up: WarmUp::new(backend, config.warm_up),
        _counting: counting,
        tables,
        key_forms,
        announces_x25519: offers.x25519 && tls::groups_are_of_their_provider(&core),
        announces_ml_kem: !tls::openssl_has_ml_kem(&core),
    })
}

/// Adds an algorithm that the default provider has as well.
fn add_scheme<S: Scheme>(table: &mut Table, implementation: &'static [Dispatch]) {
    let description = format!("{} (RFC {})", S::NAME, S::RFC);
    table.add_named(S::NAMES, PROPERTIES, implementation, description);
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
                param.set_utf8_pointer(build_info::C_VERSION)
            } else if key == names::PROVIDER_BUILDINFO {
                param.set_utf8_pointer(build_info::C_DESCRIPTION)
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
        let tables = &provider.tables;
        let table = match operation {
            operation::KEYMGMT => &tables.key_management,
            operation::KEYEXCH => &tables.key_exchange,
            operation::SIGNATURE => &tables.signature,
            operation::KEM => &tables.key_encapsulation,
            operation::ENCODER => &tables.encoders,
            operation::DECODER => &tables.decoders,
            _ => return core::ptr::null(),
        };
        table.as_ptr()
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
        if !capability.to_bytes().eq_ignore_ascii_case(openssl_abi::TlsGroup::CAPABILITY.to_bytes())
        {
            return 1;
        }
        let Some(callback) = callback else { return 0 };
        // SAFETY: callback and argument come from libcrypto together.
        c_int::from(unsafe { tls::announce(provider, callback, argument) })
    })
}
