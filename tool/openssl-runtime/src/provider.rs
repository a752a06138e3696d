//! Providers: their information about themselves, and their TLS groups.

use std::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

use crate::c_string::text;
use crate::constants::*;
use crate::context::LibraryContext;
use crate::error::Error;
use crate::library::c_text;
use crate::parameter::{OutputParameter, ProviderValue, elements, find, number, utf8};
use crate::symbols::Symbols;
use crate::types::{OSSL_PARAM, OSSL_PROVIDER};

/// A loaded, active provider. Dropping it deactivates the provider, unless a configuration or
/// another handle keeps it active. Keys of the provider keep its code loaded. See
/// [`Provider::keep`].
#[must_use = "dropping the provider unloads it; `keep` leaves it active"]
pub struct Provider {
    pointer: NonNull<OSSL_PROVIDER>,
    context: LibraryContext,
    unload_on_drop: bool,
}

// SAFETY: OpenSSL counts references to a provider atomically and locks its state.
unsafe impl Send for Provider {}
// SAFETY: as above.
unsafe impl Sync for Provider {}

/// A provider's information about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderInfo {
    /// The name under which it is loaded: the name in the configuration, or its path.
    pub name: String,
    /// Its full name, such as "OpenSSL Default Provider".
    pub title: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// The build of that version.
    pub build: Option<String>,
    /// True if it reports that it is in working order; `None` if it reports nothing.
    pub running: Option<bool>,
}

/// A group that a provider offers to TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsGroup {
    /// The name under which the provider is loaded.
    pub provider: String,
    /// The group's name in configurations.
    pub name: String,
    /// The provider's internal name for the group.
    pub internal_name: String,
    /// The algorithm of the keys in its key shares.
    pub algorithm: String,
    /// The code point on the wire.
    pub id: u16,
    /// The claimed strength in bits; libssl omits groups below its security level.
    pub security_bits: u32,
    /// True for a KEM, false for a key exchange.
    pub is_kem: bool,
    /// The lowest protocol version that may use the group: 0x0303, 0x0304, 0 for no bound, negative
    /// if no version may.
    pub min_tls: i32,
    /// The highest protocol version, in the same form.
    pub max_tls: i32,
}

impl TlsGroup {
    /// True if the group may be used in TLS 1.3.
    pub fn in_tls13(&self) -> bool {
        let (min, max) = (self.min_tls, self.max_tls);
        min >= 0 && max >= 0 && min <= TLS1_3_VERSION && (max == 0 || max >= TLS1_3_VERSION)
    }
}

impl Provider {
    pub(crate) fn load(context: &LibraryContext, name: &str) -> Result<Self, Error> {
        let c_name = c_text("provider name", name)?;
        let symbols = context.enter();
        // SAFETY: the context is alive and the name a C string.
        let pointer = unsafe { (symbols.OSSL_PROVIDER_load)(context.as_ptr(), c_name.as_ptr()) };
        let pointer = NonNull::new(pointer)
            .ok_or_else(|| context.failure(format!("load the provider {name}")))?;
        Ok(Self { pointer, context: context.clone(), unload_on_drop: true })
    }

    /// Returns the library context of the provider.
    pub fn context(&self) -> &LibraryContext {
        &self.context
    }

    /// Returns the provider's information about itself.
    pub fn info(&self) -> ProviderInfo {
        // SAFETY: the provider is loaded as long as `self` lives.
        unsafe { info(self.context.enter(), self.pointer.as_ptr()) }
    }

    /// Returns every parameter that the provider reports, by name: its version and any others.
    pub fn parameters(&self) -> Vec<(String, ProviderValue)> {
        let symbols = self.context.enter();
        let provider = self.pointer.as_ptr();
        // SAFETY: the provider is loaded; the result is null or a terminated array that lasts as
        // long as the provider.
        let descriptions = unsafe { elements((symbols.OSSL_PROVIDER_gettable_params)(provider)) };
        descriptions
            .filter_map(|description| {
                // SAFETY: the keys of an array are C strings.
                let name = unsafe { CStr::from_ptr(description.key) };
                let (data_type, bytes) = (description.data_type, description.data_size);
                // SAFETY: the provider is loaded.
                let value = unsafe { ask(symbols, provider, name, data_type, bytes) };
                Some((name.to_string_lossy().into_owned(), value?))
            })
            .collect()
    }

    /// Returns the groups that the provider offers to TLS.
    pub fn tls_groups(&self) -> Vec<TlsGroup> {
        // SAFETY: the provider is loaded.
        unsafe { tls_groups(self.context.enter(), self.pointer.as_ptr()) }
    }

    /// Keeps the provider active as long as its context lives.
    pub fn keep(mut self) {
        self.unload_on_drop = false;
        self.context.keep(self.pointer);
    }

    /// Deactivates the provider now and reports a failure.
    ///
    /// # Errors
    ///
    /// [`Error::OpenSsl`] when OpenSSL reports a failure.
    pub fn unload(mut self) -> Result<(), Error> {
        self.unload_on_drop = false;
        let status = self.give_back();
        self.context.expect(status, || "unload the provider".into())
    }

    /// Releases the reference that `load` took; to be called once.
    fn give_back(&self) -> i32 {
        let symbols = self.context.enter();
        // SAFETY: the context is alive. This is called once: by `unload`, or by `drop` if neither
        // `unload` nor `keep` was called.
        unsafe { (symbols.OSSL_PROVIDER_unload)(self.pointer.as_ptr()) }
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        if self.unload_on_drop {
            self.give_back();
        }
    }
}

impl LibraryContext {
    /// Returns the active providers, however they were loaded. If none was loaded explicitly, this
    /// call activates OpenSSL's fallback, `default`.
    pub fn active_providers(&self) -> Vec<ProviderInfo> {
        self.each_provider(|symbols, provider| {
            // SAFETY: called with an active provider.
            vec![unsafe { info(symbols, provider) }]
        })
    }

    /// Returns the TLS groups of all active providers, in the providers' order.
    pub fn tls_groups(&self) -> Vec<TlsGroup> {
        self.each_provider(|symbols, provider| {
            // SAFETY: called with an active provider.
            unsafe { tls_groups(symbols, provider) }
        })
    }

    fn each_provider<T>(&self, visit: fn(&Symbols, *mut OSSL_PROVIDER) -> Vec<T>) -> Vec<T> {
        let symbols = self.enter();
        let mut visitor = Visitor { symbols, visit, found: Vec::new() };
        let state = (&raw mut visitor).cast();
        // SAFETY: the context is alive; the callback receives `visitor` as its state, only during
        // the call.
        unsafe { (symbols.OSSL_PROVIDER_do_all)(self.as_ptr(), Some(visit_provider::<T>), state) };
        visitor.found
    }
}

struct Visitor<'a, T> {
    symbols: &'a Symbols,
    visit: fn(&Symbols, *mut OSSL_PROVIDER) -> Vec<T>,
    found: Vec<T>,
}

unsafe extern "C" fn visit_provider<T>(provider: *mut OSSL_PROVIDER, state: *mut c_void) -> c_int {
    // SAFETY: `each_provider` passes its visitor, which nothing else uses during the call.
    let visitor = unsafe { &mut *state.cast::<Visitor<'_, T>>() };
    // OpenSSL holds a reference to the provider during this call only.
    visitor.found.extend((visitor.visit)(visitor.symbols, provider));
    1
}

/// # Safety
///
/// `provider` is loaded.
pub(crate) unsafe fn name(symbols: &Symbols, provider: *const OSSL_PROVIDER) -> Option<String> {
    if provider.is_null() {
        return None;
    }
    // SAFETY: the provider is loaded and its name lasts as long.
    unsafe { text((symbols.OSSL_PROVIDER_get0_name)(provider)) }
}

/// # Safety
///
/// `provider` is loaded.
unsafe fn info(symbols: &Symbols, provider: *const OSSL_PROVIDER) -> ProviderInfo {
    let told = |parameter| {
        // SAFETY: the caller vouches for the provider.
        match unsafe { ask(symbols, provider, parameter, OSSL_PARAM_UTF8_PTR, 0) } {
            Some(ProviderValue::Text(text)) => Some(text),
            _ => None,
        }
    };
    // SAFETY: as above.
    let status = unsafe { ask(symbols, provider, OSSL_PROV_PARAM_STATUS, OSSL_PARAM_INTEGER, 4) };
    ProviderInfo {
        // SAFETY: as above.
        name: unsafe { name(symbols, provider) }.unwrap_or_default(),
        title: told(OSSL_PROV_PARAM_NAME),
        version: told(OSSL_PROV_PARAM_VERSION),
        build: told(OSSL_PROV_PARAM_BUILDINFO),
        running: status.map(|status| status == ProviderValue::Number(1)),
    }
}

/// Requests one parameter.
///
/// # Safety
///
/// `provider` is loaded.
unsafe fn ask(
    symbols: &Symbols,
    provider: *const OSSL_PROVIDER,
    name: &CStr,
    data_type: u32,
    number_bytes: usize,
) -> Option<ProviderValue> {
    let mut room = OutputParameter::new();
    let mut request = room.request(name, data_type, number_bytes)?;
    // SAFETY: the provider is loaded, and the request is a terminated array with space for the
    // value.
    let status = unsafe { (symbols.OSSL_PROVIDER_get_params)(provider, request.as_mut_ptr()) };
    // SAFETY: the provider has filled the request made from `room`.
    if status == 1 { unsafe { room.value(&request[0]) } } else { None }
}

/// # Safety
///
/// `provider` is loaded.
unsafe fn tls_groups(symbols: &Symbols, provider: *const OSSL_PROVIDER) -> Vec<TlsGroup> {
    let mut groups: Vec<TlsGroup> = Vec::new();
    let state = (&raw mut groups).cast();
    // SAFETY: the provider is loaded; `note_group` receives `groups` as its state, only during the
    // call.
    unsafe {
        (symbols.OSSL_PROVIDER_get_capabilities)(
            provider,
            c"TLS-GROUP".as_ptr(),
            Some(note_group),
            state,
        );
    }
    // SAFETY: the provider is loaded.
    let name = unsafe { name(symbols, provider) }.unwrap_or_default();
    for group in &mut groups {
        group.provider.clone_from(&name);
    }
    groups
}

unsafe extern "C" fn note_group(parameters: *const OSSL_PARAM, state: *mut c_void) -> c_int {
    // SAFETY: the array is the provider's description of a group, valid during the call.
    if let Some(group) = unsafe { read_group(parameters) } {
        // SAFETY: `tls_groups` passes its list, which nothing else uses during the call.
        unsafe { &mut *state.cast::<Vec<TlsGroup>>() }.push(group);
    }
    1
}

/// Reads a group's description; `None` if a part that libssl needs is missing.
///
/// # Safety
///
/// `parameters` is a valid terminated array.
unsafe fn read_group(parameters: *const OSSL_PARAM) -> Option<TlsGroup> {
    // SAFETY: the caller vouches for the array.
    let text = |name: &CStr| unsafe { utf8(find(parameters, name)?) };
    // SAFETY: as above.
    let number = |name: &CStr| unsafe { number(find(parameters, name)?) };
    Some(TlsGroup {
        provider: String::new(),
        name: text(OSSL_CAPABILITY_TLS_GROUP_NAME)?,
        internal_name: text(OSSL_CAPABILITY_TLS_GROUP_NAME_INTERNAL)?,
        algorithm: text(OSSL_CAPABILITY_TLS_GROUP_ALG)?,
        id: number(OSSL_CAPABILITY_TLS_GROUP_ID)?.try_into().ok()?,
        security_bits: number(OSSL_CAPABILITY_TLS_GROUP_SECURITY_BITS)?.try_into().ok()?,
        is_kem: number(OSSL_CAPABILITY_TLS_GROUP_IS_KEM).is_some_and(|flag| flag != 0),
        min_tls: number(OSSL_CAPABILITY_TLS_GROUP_MIN_TLS)?.try_into().ok()?,
        max_tls: number(OSSL_CAPABILITY_TLS_GROUP_MAX_TLS)?.try_into().ok()?,
    })
}
