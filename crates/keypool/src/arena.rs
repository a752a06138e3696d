use core::ptr::{self, NonNull};

use crate::shelf::{Slots, erase};

/// What a child of fork finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnFork {
    /// Zeros.
    Wipe,
    /// A copy.
    Keep,
}

/// Slots in memory that is left out of core dumps, and kept from being swapped out where that is allowed.
pub(crate) struct Arena {
    memory: NonNull<u8>,
    slots: usize,
    /// Bytes of a slot, and from one to the next.
    slot_bytes: usize,
    stride: usize,
    locked: bool,
}

// SAFETY: the memory is nobody else's; threads share it as `Slots::with` demands.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

/// Slots begin in different lines of the cache: threads work on neighbours.
const LINE_BYTES: usize = 64;

impl Arena {
    /// `None` if there is no memory, or if the kernel would not wipe it in a child or leave it out of dumps.
    pub(crate) fn new(slots: usize, slot_bytes: usize, on_fork: OnFork) -> Option<Self> {
        let stride = slot_bytes.checked_next_multiple_of(LINE_BYTES)?;
        let bytes = stride.checked_mul(slots).filter(|&bytes| bytes > 0)?;
        // SAFETY: a new mapping, where the kernel likes.
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
        let mut arena = Arena {
            memory: NonNull::new(memory.cast())?,
            slots,
            slot_bytes,
            stride,
            locked: false,
        };
        // SAFETY: the mapping is ours; the advice changes nothing that is in it now.
        let advised = unsafe {
            (on_fork == OnFork::Keep || libc::madvise(memory, bytes, libc::MADV_WIPEONFORK) == 0)
                && libc::madvise(memory, bytes, libc::MADV_DONTDUMP) == 0
        };
        // Pages are locked as they are used: most pools never are.
        // SAFETY: the mapping is ours.
        arena.locked = advised && unsafe { libc::mlock2(memory, bytes, libc::MLOCK_ONFAULT) } == 0;
        advised.then_some(arena)
    }

    /// Whether it cannot be swapped out.
    pub(crate) fn is_locked(&self) -> bool {
        self.locked
    }
}

// SAFETY: a stride is no less than a slot.
unsafe impl Slots for Arena {
    unsafe fn with<R>(&self, slot: usize, work: impl FnOnce(&mut [u8]) -> R) -> R {
        assert!(slot < self.slots);
        // SAFETY: the slot lies inside the mapping, whose bytes are all initialised; it is the caller's, by its promise.
        work(unsafe {
            core::slice::from_raw_parts_mut(
                self.memory.as_ptr().add(slot * self.stride),
                self.slot_bytes,
            )
        })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let bytes = self.stride * self.slots;
        // SAFETY: the mapping is ours, and nobody has a slot any more. What is in it is erased before others may get the pages.
        unsafe {
            let memory = core::slice::from_raw_parts_mut(self.memory.as_ptr(), bytes);
            erase(memory);
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
    fn is_what_it_says() {
        for on_fork in [OnFork::Wipe, OnFork::Keep] {
            check(on_fork);
        }
    }

    fn check(on_fork: OnFork) {
        let arena = Arena::new(3, 100, on_fork).unwrap();
        for slot in 0..3 {
            // SAFETY: nobody else has the arena.
            unsafe { arena.with(slot, |bytes| bytes.fill(1 + slot as u8)) };
        }
        for slot in 0..3 {
            // SAFETY: as above.
            unsafe { arena.with(slot, |bytes| assert_eq!(bytes, [1 + slot as u8; 100])) };
        }
        // VmFlags: "wf" wiped on fork, "dd" not dumped, "lo" locked.
        let address = format!("{:x}-", arena.memory.as_ptr().addr());
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let flags = maps
            .lines()
            .skip_while(|line| !line.starts_with(&address))
            .find_map(|line| line.strip_prefix("VmFlags:"))
            .unwrap();
        let has = |flag| flags.split_whitespace().any(|other| other == flag);
        assert!(has("dd"), "{flags}");
        assert_eq!(has("wf"), on_fork == OnFork::Wipe, "{flags}");
        assert_eq!(has("lo"), arena.is_locked(), "{flags}");
    }
}
