//! The ENGINE itself: its identity, and the functions that libcrypto calls.

use core::ffi::{CStr, c_int, c_void};
use core::ptr;

use openssl_abi::guard;

use crate::commands;
use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::state::State;
use crate::tables::{Tables, list_methods};
use crate::types::{Asn1Method, Engine, PkeyMethod};

const ID: &CStr = c"engntru";
const NAME: &CStr = c"fastkex: Streamlined NTRU Prime 761 and 857, X25519 and Ed25519";

/// Fills in `engine`. Returns false on an error, with a reason in the error queue.
///
/// # Safety
/// `engine` is a new structure of the libcrypto that contains `address`.
pub(crate) unsafe fn bind(engine: *mut Engine, id: Option<&CStr>, address: *const c_void) -> bool {
    let bound = Libcrypto::around(address).and_then(|libcrypto| {
        if let Some(other) = id.filter(|&id| id != ID) {
            let message = format!("ENGINE {}: expected {ID:?}", other.to_string_lossy());
            libcrypto.raise(reason::COMMAND, &message);
            return Ok(false);
        }
        let tables = Tables::new(libcrypto)?;
        // SAFETY: by the caller's promise; the arguments are static, or belong to the ENGINE from
        // now on.
        Ok(tables.is_some_and(|tables| unsafe { install(tables, libcrypto, engine) }))
    });
    bound.unwrap_or_else(|unfit| {
        unfit.raise();
        false
    })
}

/// Sets the functions and data of `engine`. Returns false if libcrypto has no memory.
///
/// # Safety
/// `engine` is a new structure of `libcrypto`.
unsafe fn install(tables: Box<Tables>, libcrypto: &Libcrypto, engine: *mut Engine) -> bool {
    let functions = &libcrypto.functions;
    let tables = Box::into_raw(tables);
    // SAFETY: by the caller's promise. Data comes first, since the functions read it.
    unsafe {
        if (functions.engine_set_data)(engine, libcrypto.engine_index, tables.cast()) != 1 {
            Box::from_raw(tables).free_but(0..0, libcrypto);
            return false;
        }
        // These functions fail only for a null argument.
        (functions.engine_set_id)(engine, ID.as_ptr()) == 1
            && (functions.engine_set_name)(engine, NAME.as_ptr()) == 1
            && (functions.engine_set_destroy)(engine, destroy) == 1
            && (functions.engine_set_commands)(engine, commands::TABLE.as_ptr()) == 1
            && (functions.engine_set_control)(engine, commands::control) == 1
            && (functions.engine_set_methods)(engine, operations) == 1
            && (functions.engine_set_asn1_methods)(engine, encodings) == 1
    }
}

unsafe extern "C" fn operations(
    engine: *mut Engine,
    out: *mut *mut PkeyMethod,
    nids: *mut *const c_int,
    nid: c_int,
) -> c_int {
    // SAFETY: libcrypto passes an ENGINE of ours, and writable places.
    unsafe { list_methods(engine, |tables| &tables.operations, out, nids, nid) }
}

unsafe extern "C" fn encodings(
    engine: *mut Engine,
    out: *mut *mut Asn1Method,
    nids: *mut *const c_int,
    nid: c_int,
) -> c_int {
    // SAFETY: libcrypto passes an ENGINE of ours, and writable places.
    unsafe { list_methods(engine, |tables| &tables.encodings, out, nids, nid) }
}

/// Frees the ENGINE's data. libcrypto has already freed the tables that it was told about.
unsafe extern "C" fn destroy(engine: *mut Engine) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let (get, set) = (libcrypto.functions.engine_data, libcrypto.functions.engine_set_data);
        // SAFETY: libcrypto passes an ENGINE of ours, for the last time.
        unsafe {
            let tables = get(engine, libcrypto.engine_index);
            if !tables.is_null() {
                set(engine, libcrypto.engine_index, ptr::null_mut());
                let tables = Box::from_raw(tables.cast::<Tables>());
                tables.free_but(tables.offered(), libcrypto);
            }
        }
        State::flush();
        1
    })
}
