//! An object of OpenSSL's that is freed when it goes out of scope.

use std::ptr::NonNull;

use crate::inside::inside;

pub(crate) struct Owned<T> {
    pointer: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes `pointer` over; `None` when it is null, as OpenSSL's constructors say "failed".
    ///
    /// # Safety
    ///
    /// `pointer` is null or an object nobody else frees, and `free` is its type's free function.
    pub(crate) unsafe fn new(pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { pointer, free })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// Gives the object up without freeing it.
    pub(crate) fn into_raw(self) -> *mut T {
        let pointer = self.pointer.as_ptr();
        std::mem::forget(self);
        pointer
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `new`'s contract: the object is ours alone and `free` belongs to its type.
        inside(|| unsafe { (self.free)(self.pointer.as_ptr()) });
    }
}
