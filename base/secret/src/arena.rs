//! Mappings of slots that are left out of core dumps.

use core::ptr::{self, NonNull};

use crate::erase::erase;

/// Contents of memory in a child of fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFork {
    /// The child finds zeros.
    Wipe,
    /// The child finds a copy.
    Keep,
}

/// A mapping of slots of equal size that is left out of core dumps. It does not keep two users from
/// one slot: callers allocate slots with a [`Set`](crate::Set).
pub struct Arena {
    memory: NonNull<u8>,
    slots: usize,
    slot_bytes: usize,
    /// Distance from one slot to the next in bytes.
    stride: usize,
}

// SAFETY: the memory is nobody else's, and only pointers to it are given out.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Alignment of slots in bytes: a cache line, against false sharing.
    pub const SLOT_ALIGNMENT: usize = 64;

    /// Zeroed slots. `None` if there is no memory, or if the kernel would not wipe it in a child or
    /// leave it out of core dumps.
    pub fn new(slots: usize, slot_bytes: usize, on_fork: OnFork) -> Option<Self> {
        let stride = slot_bytes.checked_next_multiple_of(Self::SLOT_ALIGNMENT)?;
        let bytes = stride.checked_mul(slots).filter(|&bytes| bytes > 0)?;
        // SAFETY: a new mapping, at an address of the kernel's choice.
        let memory = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if memory == libc::MAP_FAILED {
            return None;
        }
        let arena = Arena { memory: NonNull::new(memory.cast())?, slots, slot_bytes, stride };
        // SAFETY: the mapping is ours; the advice changes nothing that is in it now.
        let is_protected = unsafe {
            // A huge page would be allocated as a whole for a few slots. Kernels without huge pages
            // reject the advice.
            libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE);
            (on_fork == OnFork::Keep || libc::madvise(memory, bytes, libc::MADV_WIPEONFORK) == 0)
                && libc::madvise(memory, bytes, libc::MADV_DONTDUMP) == 0
        };
        is_protected.then_some(arena)
    }

    /// Locks the first `slots` slots against swapping; `false` if the process may not. A child of
    /// fork inherits the memory without the locks and must lock it again.
    pub fn lock(&self, slots: usize) -> bool {
        let bytes = self.stride * slots.min(self.slots);
        // Pages are locked when they are first used, and most never are.
        // SAFETY: the mapping is ours and at least this large.
        unsafe { libc::mlock2(self.memory.as_ptr().cast(), bytes, libc::MLOCK_ONFAULT) == 0 }
    }

    /// The memory of slot number `slot`, all of it initialised.
    ///
    /// # Panics
    /// `slot` is out of range.
    pub fn slot(&self, slot: usize) -> NonNull<[u8]> {
        assert!(slot < self.slots);
        // SAFETY: the slot lies inside the mapping.
        let first = unsafe { self.memory.add(slot * self.stride) };
        NonNull::slice_from_raw_parts(first, self.slot_bytes)
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let bytes = self.stride * self.slots;
        // SAFETY: the mapping is ours, and nobody has a slot any more. It is erased before the
        // pages go to others.
        unsafe {
            erase(core::slice::from_raw_parts_mut(self.memory.as_ptr(), bytes));
            libc::munmap(self.memory.as_ptr().cast(), bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_memory_is_none() {
        assert!(Arena::new(usize::MAX, 64, OnFork::Wipe).is_none());
        assert!(Arena::new(1 << 50, 1 << 10, OnFork::Wipe).is_none());
        assert!(Arena::new(0, 64, OnFork::Wipe).is_none());
    }

    #[test]
    fn slots_do_not_overlap() {
        let arena = Arena::new(3, 100, OnFork::Keep).unwrap();
        for slot in 0..3 {
            // SAFETY: nobody else has the arena.
            unsafe { arena.slot(slot).as_mut() }.fill(1 + slot as u8);
        }
        for slot in 0..3 {
            // SAFETY: as above.
            assert_eq!(unsafe { arena.slot(slot).as_ref() }, [1 + slot as u8; 100]);
        }
    }
}
