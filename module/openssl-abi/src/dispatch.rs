//! Dispatch tables with typed entries.

use core::ffi::{c_int, c_void};
use core::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `OSSL_DISPATCH`: a function and its number. A table ends with [`Dispatch::END`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Dispatch {
    id: c_int,
    function: *const c_void,
}

// SAFETY: a function pointer may be used from every thread.
unsafe impl Send for Dispatch {}
// SAFETY: as above.
unsafe impl Sync for Dispatch {}

impl Dispatch {
    /// The end of a table.
    pub const END: Dispatch = Dispatch { id: 0, function: core::ptr::null() };
}

/// The number of a function in dispatch tables, with its type `F`, a function pointer.
#[derive(Debug)]
pub struct Function<F> {
    id: c_int,
    function: PhantomData<F>,
}

union Cast<F: Copy> {
    function: F,
    pointer: *const c_void,
}

impl<F: Copy> Function<F> {
    pub(crate) const fn new(id: c_int) -> Self {
        assert!(size_of::<F>() == size_of::<*const c_void>());
        Function { id, function: PhantomData }
    }

    /// The number.
    pub const fn id(&self) -> c_int {
        self.id
    }

    /// An entry of a table with `function` as the implementation.
    pub const fn entry(&self, function: F) -> Dispatch {
        // SAFETY: every `F` is a function pointer (this module makes all `Function`s), of the same
        // size and representation as a data pointer on all platforms of OpenSSL's providers, which
        // rely on the same.
        Dispatch { id: self.id, function: unsafe { Cast { function }.pointer } }
    }

    /// Finds the function in a table; `None` if it is missing.
    ///
    /// # Safety
    /// `table` ends with [`Dispatch::END`], and its functions have the types of their numbers.
    pub unsafe fn find(&self, table: *const Dispatch) -> Option<F> {
        let mut entry = table;
        // SAFETY: the table is valid up to its end by the caller's promise, and the loop stops
        // there.
        while unsafe { (*entry).id } != 0 {
            // SAFETY: as above.
            let Dispatch { id, function } = unsafe { *entry };
            if id == self.id && !function.is_null() {
                // SAFETY: the function has type `F` by the caller's promise.
                return Some(unsafe { Cast { pointer: function }.function });
            }
            // SAFETY: this entry was not the end, so there is another.
            entry = unsafe { entry.add(1) };
        }
        None
    }
}

/// Runs `body` and returns its result, or `otherwise` if it panics: a panic must not unwind into C.
pub fn guard<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_found_by_number() {
        unsafe extern "C" fn double(x: c_int) -> c_int {
            2 * x
        }
        type F = unsafe extern "C" fn(c_int) -> c_int;
        let (there, missing) = (Function::<F>::new(5), Function::<F>::new(6));
        let table = [Function::<F>::new(4).entry(double), there.entry(double), Dispatch::END];
        // SAFETY: the table is well-formed.
        unsafe {
            assert_eq!(there.find(table.as_ptr()).unwrap()(21), 42);
            assert!(missing.find(table.as_ptr()).is_none());
        }
    }

    #[test]
    fn panics_do_not_escape() {
        assert_eq!(guard(0, || panic!("caught")), 0);
    }
}
