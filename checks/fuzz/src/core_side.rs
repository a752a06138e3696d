//! The core's side of the provider ABI, reduced to the functions that the provider needs: a
//! configuration, an error queue, streams.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Read;

use openssl_abi::functions::{bio, provider, upcall};
use openssl_abi::{Algorithm, CoreBio, CoreHandle, Dispatch, Param, Params};

/// The target of the provider's handle.
pub struct CoreSide {
    /// Keys and values of the provider's section.
    configuration: Vec<(CString, CString)>,
    /// The raised errors.
    pub errors: RefCell<Vec<String>>,
}

/// A stream of given bytes.
pub struct Input<'a>(pub &'a [u8]);

unsafe extern "C" fn get_params(handle: *const CoreHandle, params: *mut Param) -> c_int {
    // SAFETY: the handle is a `CoreSide`, and the parameters are the provider's own array, to be
    // filled in.
    let (side, params) = unsafe { (&*handle.cast::<CoreSide>(), Params::new(params)) };
    for mut param in params.iter() {
        if let Some((_, value)) = side.configuration.iter().find(|(key, _)| **key == *param.key()) {
            // SAFETY: the configuration lives as long as the provider that was given it.
            let value: &'static CStr = unsafe { CStr::from_ptr(value.as_ptr()) };
            if param.set_utf8_pointer(value).is_err() {
                return 0;
            }
        }
    }
    1
}

unsafe extern "C" fn new_error(_: *const CoreHandle) {}

unsafe extern "C" fn set_error_debug(
    _: *const CoreHandle,
    file: *const c_char,
    _: c_int,
    function: *const c_char,
) {
    // SAFETY: both are strings; reading them to the end is the check.
    unsafe { (CStr::from_ptr(file).to_bytes(), CStr::from_ptr(function).to_bytes()) };
}

unsafe extern "C" fn vset_error(
    handle: *const CoreHandle,
    reason: u32,
    format: *const c_char,
    _: *mut c_void,
) {
    // SAFETY: the handle is a `CoreSide`, and the format a string.
    let (side, format) = unsafe { (&*handle.cast::<CoreSide>(), CStr::from_ptr(format)) };
    let message = format.to_string_lossy().replace("%%", "");
    assert!(!message.contains('%'), "a conversion is left in {message}");
    assert!(reason != 0);
    side.errors.borrow_mut().push(message);
}

unsafe extern "C" fn read(
    stream: *mut CoreBio,
    buffer: *mut c_void,
    size: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: the stream is an `Input`, and the buffer has the size given.
    unsafe {
        let input = &mut *stream.cast::<Input<'_>>();
        *count = input.0.read(core::slice::from_raw_parts_mut(buffer.cast(), size)).unwrap_or(0);
        c_int::from(*count > 0)
    }
}

unsafe extern "C" fn write(
    _: *mut CoreBio,
    _: *const c_void,
    size: usize,
    count: *mut usize,
) -> c_int {
    // SAFETY: a place for the count.
    unsafe { *count = size };
    1
}

static FUNCTIONS: [Dispatch; 7] = [
    upcall::GET_PARAMS.entry(get_params),
    upcall::NEW_ERROR.entry(new_error),
    upcall::SET_ERROR_DEBUG.entry(set_error_debug),
    upcall::VSET_ERROR.entry(vset_error),
    bio::READ_EX.entry(read),
    bio::WRITE_EX.entry(write),
    Dispatch::END,
];

/// A loaded provider.
pub struct Loaded {
    pub side: Box<CoreSide>,
    functions: *const Dispatch,
    pub context: *mut c_void,
}

impl Loaded {
    /// Loads the provider with a configuration. Returns `None` if it refuses, for which it must
    /// raise an error.
    pub fn new(configuration: &[(&str, &str)]) -> Option<Loaded> {
        let configuration = configuration
            .iter()
            .filter_map(|(key, value)| Some((CString::new(*key).ok()?, CString::new(*value).ok()?)))
            .collect();
        let side = Box::new(CoreSide { configuration, errors: RefCell::default() });
        let handle = (&raw const *side).cast::<CoreHandle>();
        let (mut functions, mut context) = (core::ptr::null(), core::ptr::null_mut());
        // SAFETY: called as libcrypto does.
        let ok = unsafe {
            fastkex_provider::OSSL_provider_init(
                handle,
                FUNCTIONS.as_ptr(),
                &raw mut functions,
                &raw mut context,
            )
        };
        if ok != 1 {
            assert!(!side.errors.borrow().is_empty(), "refused without a reason");
            return None;
        }
        Some(Loaded { side, functions, context })
    }

    /// Returns the algorithms of an operation, in order.
    pub fn algorithms(&self, operation: c_int) -> Vec<Algorithm> {
        let mut no_store = 0;
        // SAFETY: the tables are the provider's own, and well-formed.
        unsafe {
            let query = provider::QUERY_OPERATION.find(self.functions).unwrap();
            let mut entry = query(self.context, operation, &raw mut no_store);
            let mut algorithms = Vec::new();
            while !(*entry).names.is_null() {
                algorithms.push(*entry);
                entry = entry.add(1);
            }
            algorithms
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: called once, after all other functions.
        unsafe { provider::TEARDOWN.find(self.functions).unwrap()(self.context) };
    }
}
