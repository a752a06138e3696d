//! The owner of a secret value.

use core::alloc::Layout;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use std::alloc::handle_alloc_error;

use zerocopy::FromZeros;

use crate::allocator::{Block, LARGEST_ALIGNMENT};

/// The allocation failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory;

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no memory")
    }
}

impl core::error::Error for NoMemory {}

/// Owner of a secret: a value in protected memory that is erased on drop.
///
/// The value is created as zeros and filled in place. It must not own other memory: `T`'s own
/// destructor does not run, the bytes are overwritten instead. There is no `Clone` and no `Debug`;
/// to copy, fill another `Secret` from this one.
///
/// If no protected memory is available, the value lies on the heap and is still erased
/// ([`Secret::is_protected`]).
///
/// ```
/// use secret::Secret;
///
/// let mut key = Secret::<[u8; 32]>::zeroed();
/// key[0] = 0x5a;
/// let many = Secret::<[u64]>::slice(1000);
/// assert_eq!((key[0], many.len()), (0x5a, 1000));
/// ```
pub struct Secret<T: ?Sized> {
    value: NonNull<T>,
    block: Block,
}

// SAFETY: the memory has one owner, as that of a `Box`.
unsafe impl<T: Send + ?Sized> Send for Secret<T> {}
// SAFETY: as above.
unsafe impl<T: Sync + ?Sized> Sync for Secret<T> {}

impl<T: FromZeros> Secret<T> {
    /// A value of zeros.
    pub fn zeroed() -> Self {
        const { assert!(align_of::<T>() <= LARGEST_ALIGNMENT) };
        let layout = Layout::new::<T>();
        let (block, memory) = Block::zeroed(layout).unwrap_or_else(|| handle_alloc_error(layout));
        Secret { value: memory.cast(), block }
    }
}

impl<T: FromZeros> Secret<[T]> {
    /// `count` values of zeros.
    ///
    /// # Panics
    /// The size exceeds `isize::MAX` bytes.
    pub fn slice(count: usize) -> Self {
        let layout = Layout::array::<T>(count).expect("more bytes than memory can have");
        Self::try_slice(count).unwrap_or_else(|NoMemory| handle_alloc_error(layout))
    }

    /// Like [`Secret::slice`], for callers that go on without the memory.
    ///
    /// # Errors
    /// [`Secret::slice`] would end the process for lack of memory.
    pub fn try_slice(count: usize) -> Result<Self, NoMemory> {
        const { assert!(align_of::<T>() <= LARGEST_ALIGNMENT) };
        let layout = Layout::array::<T>(count).map_err(|_| NoMemory)?;
        let (block, memory) = Block::zeroed(layout).ok_or(NoMemory)?;
        Ok(Secret { value: NonNull::slice_from_raw_parts(memory.cast(), count), block })
    }
}

impl Secret<[u8]> {
    /// A copy of secret bytes.
    pub fn copy_of(bytes: &[u8]) -> Self {
        let mut copy = Self::slice(bytes.len());
        copy.copy_from_slice(bytes);
        copy
    }
}

impl<const BYTES: usize> Secret<[u8; BYTES]> {
    /// A copy of secret bytes.
    pub fn copy_of(bytes: &[u8; BYTES]) -> Self {
        let mut copy = Self::zeroed();
        copy.copy_from_slice(bytes);
        copy
    }
}

impl<T: ?Sized> Secret<T> {
    /// Whether the value lies in protected memory; if not, none was available.
    pub fn is_protected(&self) -> bool {
        self.block.is_protected()
    }
}

impl<T: ?Sized> Deref for Secret<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the memory is there as long as its owner. Zeros are a `T`: those of the
        // beginning, and those that a child of fork finds.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized> DerefMut for Secret<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the owner is borrowed exclusively.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized> Drop for Secret<T> {
    fn drop(&mut self) {
        let layout = Layout::for_value(&**self);
        // SAFETY: the layout is the one that the block was made for; nobody can reach the value any
        // more.
        unsafe { self.block.erase_and_free(self.value.cast(), layout) };
    }
}
