//! The tables of an ENGINE's algorithms, and the range of them that libcrypto is told about.

use core::ffi::c_int;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use kex::Sntrup;
use openssl_abi::guard;
use sntrup::{Sntrup761, Sntrup857};

use crate::asn1::Encoding;
use crate::curves::{self, Curve, Ed25519, X25519};
use crate::kem::Operations;
use crate::key_type::{KeyType, TYPES};
use crate::libcrypto::{Libcrypto, Unfit};
use crate::state::State;
use crate::types::{Asn1Method, Engine, PkeyMethod};

/// The number of key types.
const COUNT: usize = TYPES.len();

/// An ENGINE's tables, in the order of [`TYPES`].
pub(crate) struct Tables {
    nids: [c_int; COUNT],
    pub(crate) operations: [*mut PkeyMethod; COUNT],
    pub(crate) encodings: [*mut Asn1Method; COUNT],
    /// The range of tables that libcrypto is told about. libcrypto also frees these, before it
    /// destroys the ENGINE.
    first: AtomicUsize,
    end: AtomicUsize,
}

impl Tables {
    /// Makes all tables. Returns `None` if there is no memory.
    pub(crate) fn new(libcrypto: &Libcrypto) -> Result<Option<Box<Self>>, Unfit> {
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
        tables.update_offered();
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
    fn update_offered(&self) {
        let offers = State::current().choice.offers();
        self.first.store(usize::from(!offers.x25519), Ordering::Release);
        self.end.store(COUNT - usize::from(!offers.ed25519), Ordering::Release);
    }

    /// Returns the range that libcrypto is told about.
    pub(crate) fn offered(&self) -> Range<usize> {
        self.first.load(Ordering::Acquire)..self.end.load(Ordering::Acquire)
    }

    /// Frees all tables except those in the range `some`.
    ///
    /// # Safety
    /// libcrypto has none of the freed tables.
    pub(crate) unsafe fn free_but(&self, some: Range<usize>, libcrypto: &Libcrypto) {
        for place in (0..COUNT).filter(|place| !some.contains(place)) {
            // SAFETY: by the caller's promise; null is allowed.
            unsafe {
                (libcrypto.functions.method_free)(self.operations[place]);
                (libcrypto.functions.asn1_free)(self.encodings[place]);
            }
        }
    }

    /// # Safety
    /// [`crate::engine::bind`] filled in `engine`.
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
/// [`crate::engine::bind`] filled in `engine`.
pub(crate) unsafe fn update_offered(engine: *mut Engine) {
    // SAFETY: by the caller's promise.
    if let Some(tables) = unsafe { Tables::of(engine) } {
        tables.update_offered();
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
pub(crate) unsafe fn list_methods<M>(
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
