//! The ENGINE itself: its identity, and the tables of its algorithms.

use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use kex::Sntrup;
use openssl_abi::guard;
use sntrup::{Sntrup761, Sntrup857};

use crate::asn1::Encoding;
use crate::commands;
use crate::curves::{self, Curve, Ed25519, X25519};
use crate::kem::Operations;
use crate::key::{KeyType, TYPES};
use crate::libcrypto::{Libcrypto, Unfit};
use crate::reason;
use crate::state::State;
use crate::types::{Asn1Method, Engine, PkeyMethod};

const ID: &CStr = c"engntru";
const NAME: &CStr = c"fastkex: Streamlined NTRU Prime 761 and 857, X25519 and Ed25519";

/// The number of key types.
const COUNT: usize = TYPES.len();

/// An ENGINE's tables, in the order of [`TYPES`].
struct Tables {
    nids: [c_int; COUNT],
    operations: [*mut PkeyMethod; COUNT],
    encodings: [*mut Asn1Method; COUNT],
    /// The range of tables that libcrypto is told about. libcrypto also frees these before it calls
    /// [`destroy`].
    first: AtomicUsize,
    end: AtomicUsize,
}

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
        Ok(tables.is_some_and(|tables| unsafe { tables.install(libcrypto, engine) }))
    });
    bound.unwrap_or_else(|unfit| {
        unfit.raise();
        false
    })
}

impl Tables {
    /// Makes all tables. Returns `None` if there is no memory.
    fn new(libcrypto: &Libcrypto) -> Result<Option<Box<Self>>, Unfit> {
        type A = Sntrup<Sntrup761>;
        type B = Sntrup<Sntrup857>;
        let nids = [
            known::<Curve<X25519>>(libcrypto)?,
            known::<A>(libcrypto)?,
            known::<B>(libcrypto)?,
            known::<Curve<Ed25519>>(libcrypto)?,
        ];
        let mut tables = Box::new(Tables {
            nids,
            operations: [ptr::null_mut(); COUNT],
            encodings: [ptr::null_mut(); COUNT],
            first: AtomicUsize::new(0),
            end: AtomicUsize::new(COUNT),
        });
        tables.offer();
        let operations = [
            curves::Operations::<X25519>::table(libcrypto),
            Operations::<A>::table(libcrypto),
            Operations::<B>::table(libcrypto),
            curves::Operations::<Ed25519>::table(libcrypto),
        ];
        let encodings = [
            Encoding::<Curve<X25519>>::table(libcrypto),
            Encoding::<A>::table(libcrypto),
            Encoding::<B>::table(libcrypto),
            Encoding::<Curve<Ed25519>>::table(libcrypto),
        ];
        tables.operations = operations.map(Option::unwrap_or_default);
        tables.encodings = encodings.map(Option::unwrap_or_default);
        let complete =
            operations.iter().all(Option::is_some) && encodings.iter().all(Option::is_some);
        if !complete {
            // SAFETY: no other code has any of them.
            unsafe { tables.free_but(0..0, libcrypto) };
            return Ok(None);
        }
        Ok(Some(tables))
    }

    /// Chooses the range that libcrypto is told about. The types at the ends may be left out.
    fn offer(&self) {
        let offers = State::current().choice.offers();
        self.first.store(usize::from(!offers.x25519), Ordering::Release);
        self.end.store(COUNT - usize::from(!offers.ed25519), Ordering::Release);
    }

    /// Returns the range that libcrypto is told about.
    fn offered(&self) -> Range<usize> {
        self.first.load(Ordering::Acquire)..self.end.load(Ordering::Acquire)
    }

    /// Frees all tables except those in the range `some`.
    ///
    /// # Safety
    /// libcrypto has none of the freed tables.
    unsafe fn free_but(&self, some: Range<usize>, libcrypto: &Libcrypto) {
        for place in (0..COUNT).filter(|place| !some.contains(place)) {
            // SAFETY: by the caller's promise; null is allowed.
            unsafe {
                (libcrypto.functions.method_free)(self.operations[place]);
                (libcrypto.functions.asn1_free)(self.encodings[place]);
            }
        }
    }

    /// # Safety
    /// `engine` is a new structure of `libcrypto`.
    unsafe fn install(self: Box<Self>, libcrypto: &Libcrypto, engine: *mut Engine) -> bool {
        let functions = &libcrypto.functions;
        let tables = Box::into_raw(self);
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

    /// # Safety
    /// [`bind`] filled in `engine`.
    unsafe fn of<'a>(engine: *mut Engine) -> Option<&'a Self> {
        let libcrypto = Libcrypto::get()?;
        // SAFETY: by the caller's promise; the tables live as long as the ENGINE.
        unsafe {
            (libcrypto.functions.engine_data)(engine, libcrypto.engine_index)
                .cast::<Self>()
                .as_ref()
        }
    }
}

/// Chooses anew the range that libcrypto is told about.
///
/// # Safety
/// [`bind`] filled in `engine`.
pub(crate) unsafe fn offer(engine: *mut Engine) {
    // SAFETY: by the caller's promise.
    if let Some(tables) = unsafe { Tables::of(engine) } {
        tables.offer();
    }
}

/// Returns the number of `T`, or an error if libcrypto has none.
fn known<T: KeyType>(libcrypto: &Libcrypto) -> Result<c_int, Unfit> {
    match libcrypto.nid::<T>() {
        0 => {
            let message = format!("this is OpenSSL 1.1.1 without them: it has no {}", T::NAME);
            Err(Unfit::new(libcrypto, message))
        }
        nid => Ok(nid),
    }
}

/// Returns the list of offered numbers if `out` is null. Otherwise writes the table of `nid`, from
/// the array that `of` selects, to `out`.
///
/// # Safety
/// The ENGINE is one of ours. Pointers are null or writable.
unsafe fn tell<M>(
    engine: *mut Engine,
    of: impl FnOnce(&Tables) -> &[*mut M; COUNT],
    out: *mut *mut M,
    nids: *mut *const c_int,
    nid: c_int,
) -> c_int {
    guard(0, || {
        // SAFETY: by the caller's promise.
        let Some(tables) = (unsafe { Tables::of(engine) }) else { return 0 };
        if out.is_null() {
            let offered = &tables.nids[tables.offered()];
            // SAFETY: by the caller's promise.
            unsafe { *nids = offered.as_ptr() };
            return offered.len() as c_int;
        }
        let place = tables.nids.iter().position(|&known| known == nid);
        let found = place.map(|place| of(tables)[place]);
        // SAFETY: by the caller's promise.
        unsafe { *out = found.unwrap_or_default() };
        c_int::from(found.is_some())
    })
}

unsafe extern "C" fn operations(
    engine: *mut Engine,
    out: *mut *mut PkeyMethod,
    nids: *mut *const c_int,
    nid: c_int,
) -> c_int {
    // SAFETY: libcrypto passes an ENGINE of ours, and writable places.
    unsafe { tell(engine, |tables| &tables.operations, out, nids, nid) }
}

unsafe extern "C" fn encodings(
    engine: *mut Engine,
    out: *mut *mut Asn1Method,
    nids: *mut *const c_int,
    nid: c_int,
) -> c_int {
    // SAFETY: libcrypto passes an ENGINE of ours, and writable places.
    unsafe { tell(engine, |tables| &tables.encodings, out, nids, nid) }
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
