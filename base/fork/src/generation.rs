//! A number that tells a child of fork from its parent.

use core::num::NonZeroU64;

/// A number that differs between a process and the one it was forked from. Store it beside a value
/// that only one process may use, and compare it before each use. `None` if the kernel cannot
/// detect a fork: then store no such value.
///
/// Costs one read of memory, except for the first call in a process.
#[inline]
pub fn generation() -> Option<NonZeroU64> {
    #[cfg(target_os = "linux")]
    return linux::generation();
    #[cfg(not(target_os = "linux"))]
    None
}

#[cfg(target_os = "linux")]
mod linux {
    use core::num::NonZeroU64;
    use core::ptr::{self, NonNull};
    use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

    /// Size of the number; the kernel rounds it up to a page.
    const BYTES: usize = size_of::<AtomicU64>();

    /// The wiped page; null before the first call, [`refused`] if the kernel does not wipe pages.
    /// It is not behind a lock, since a child could inherit one held by a thread that it does not
    /// have.
    static PAGE: AtomicPtr<AtomicU64> = AtomicPtr::new(ptr::null_mut());
    /// The latest number. It is copied by fork, so that a child gets new numbers.
    static LATEST: AtomicU64 = AtomicU64::new(0);

    /// Marks a page that the kernel would not wipe.
    fn refused() -> *mut AtomicU64 {
        (&raw const LATEST).cast_mut()
    }

    #[inline]
    pub(super) fn generation() -> Option<NonZeroU64> {
        let mut page = PAGE.load(Ordering::Acquire);
        if page.is_null() {
            page = publish();
        }
        if page == refused() {
            return None;
        }
        // SAFETY: what is published and not `refused` is a mapped page that stays mapped, zero or a
        // number.
        let number = unsafe { &*page };
        NonZeroU64::new(number.load(Ordering::Relaxed)).or_else(|| enter(number))
    }

    /// Assigns a new number to this process.
    #[cold]
    fn enter(number: &AtomicU64) -> Option<NonZeroU64> {
        let new = LATEST.fetch_add(1, Ordering::Relaxed) + 1;
        let won = number.compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed);
        NonZeroU64::new(won.map_or_else(|other| other, |_| new))
    }

    /// Maps the page, unless another thread has done so first.
    #[cold]
    fn publish() -> *mut AtomicU64 {
        let page = map().map_or(refused(), NonNull::as_ptr);
        match PAGE.compare_exchange(ptr::null_mut(), page, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => page,
            Err(other) => {
                if page != refused() {
                    // SAFETY: the page is ours, and nobody else has seen it.
                    unsafe { libc::munmap(page.cast(), BYTES) };
                }
                other
            }
        }
    }

    /// A page of zeros that the kernel wipes in a child.
    fn map() -> Option<NonNull<AtomicU64>> {
        /// No valid advice. A kernel or emulator that accepts it ignores all advice.
        const NONSENSE: libc::c_int = -1;
        // SAFETY: a new mapping, where the kernel likes; advice changes no memory of others.
        unsafe {
            let page = libc::mmap(
                ptr::null_mut(),
                BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            if page == libc::MAP_FAILED {
                return None;
            }
            if libc::madvise(page, BYTES, NONSENSE) == 0
                || libc::madvise(page, BYTES, libc::MADV_WIPEONFORK) != 0
            {
                libc::munmap(page, BYTES);
                return None;
            }
            NonNull::new(page.cast())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_same_in_all_threads() {
        let here = generation();
        let there = std::thread::spawn(generation).join().unwrap();
        assert_eq!(here, there);
        assert_eq!(here, generation());
    }

    /// Linux wipes pages since 4.14.
    #[test]
    #[cfg(target_os = "linux")]
    fn differs_in_a_child_and_in_its_child() {
        let parent = generation().expect("the kernel cannot wipe pages");
        let in_child = |of: &dyn Fn() -> i32| -> i32 {
            // SAFETY: the child calls nothing but `generation`, `fork`, `waitpid` and `_exit`.
            unsafe {
                let child = libc::fork();
                assert!(child >= 0);
                if child == 0 {
                    libc::_exit(of());
                }
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
                libc::WEXITSTATUS(status)
            }
        };
        let differing = in_child(&|| {
            let child = generation();
            let grandchild = in_child(&|| {
                let grandchild = generation();
                i32::from(grandchild.is_some() && grandchild != child && grandchild != Some(parent))
            });
            i32::from(child.is_some() && child != Some(parent) && child == generation())
                + 2 * grandchild
        });
        assert_eq!(differing, 3);
        assert_eq!(generation(), Some(parent));
    }
}
