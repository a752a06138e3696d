//! A pointer to an OpenSSL object that is freed when it is dropped.

use std::ptr::NonNull;

use crate::inside::inside;

pub(crate) struct Owned<T> {
    pointer: NonNull<T>,
    free: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    /// Takes ownership of `pointer`; `None` when it is null, which OpenSSL's constructors return on
    /// failure.
    ///
    /// # Safety
    ///
    /// `pointer` is null or an object that has no other owner, and `free` is the free function of
    /// its type.
    pub(crate) unsafe fn new(pointer: *mut T, free: unsafe extern "C" fn(*mut T)) -> Option<Self> {
        NonNull::new(pointer).map(|pointer| Self { pointer, free })
    }

    pub(crate) fn as_ptr(&self) -> *mut T {
        self.pointer.as_ptr()
    }

    /// Returns the object without freeing it.
    pub(crate) fn into_raw(self) -> *mut T {
        let pointer = self.pointer.as_ptr();
        std::mem::forget(self);
        pointer
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: `new`'s contract: the object has no other owner, and `free` belongs to its type.
        inside(|| unsafe { (self.free)(self.pointer.as_ptr()) });
    }
}
