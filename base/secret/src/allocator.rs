//! Blocks of protected memory: slots of static size classes (powers of two) up to 64 KiB, and a
//! mapping for each larger value.

use core::alloc::Layout;
use core::cell::Cell;
use core::num::NonZeroU64;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::alloc::{alloc_zeroed, dealloc};

use crate::arena::{Arena, OnFork};
use crate::erase::erase;
use crate::set::Set;

/// Slots are aligned to cache lines.
pub(crate) const LARGEST_ALIGNMENT: usize = Arena::SLOT_ALIGNMENT;

const SMALLEST_SLOT_BYTES: usize = 64;
const LARGEST_SLOT_BYTES: usize = 64 * 1024;
const CLASSES: usize = (LARGEST_SLOT_BYTES / SMALLEST_SLOT_BYTES).ilog2() as usize + 1;
/// Bytes of each class. The kernel provides pages when they are first used.
const CLASS_BYTES: usize = 2 << 20;
/// A multiple of the page size.
const PAGE_BYTES: usize = 4096;
/// Bytes locked at a time: whole pages of every page size, and little of the process's limit.
const LOCKED_TOGETHER_BYTES: usize = 64 * 1024;

thread_local! {
    /// Handling on fork of the secrets that this thread creates.
    static ON_FORK: Cell<OnFork> = const { Cell::new(OnFork::Keep) };
}

/// Runs `work`. In a child of fork, each [`Secret`](crate::Secret) that the calling thread creates
/// meanwhile is zero.
///
/// For values that parent and child must not share: keys in stock, batches under construction,
/// states of random generators. A child that continues inside `work`, forked by a signal handler,
/// computes with zeros: compare [`fork::generation`] before the results are used.
pub fn wiped_on_fork<R>(work: impl FnOnce() -> R) -> R {
    /// Restores the previous setting, also if `work` panics.
    struct Restore(OnFork);
    impl Drop for Restore {
        fn drop(&mut self) {
            set_on_fork(self.0);
        }
    }
    let _restore = Restore(set_on_fork(OnFork::Wipe));
    work()
}

fn set_on_fork(on_fork: OnFork) -> OnFork {
    // The variable of a thread that is ending is gone; such a thread makes no keys.
    ON_FORK.try_with(|current| current.replace(on_fork)).unwrap_or(OnFork::Keep)
}

/// The memory of one value.
pub(crate) enum Block {
    /// A slot of a class.
    Slot(&'static Class),
    /// A mapping of its own.
    Own(NonNull<Mapping>),
    /// Unprotected memory, as no other was available.
    Heap,
}

impl Block {
    /// Zeroed memory; `None` if there is no memory at all.
    pub(crate) fn zeroed(layout: Layout) -> Option<(Self, NonNull<u8>)> {
        let on_fork = ON_FORK.try_with(Cell::get).unwrap_or(OnFork::Keep);
        if let Some((class, memory)) = Class::for_bytes(on_fork, layout.size()) {
            return Some((Block::Slot(class), memory));
        }
        if layout.size() > LARGEST_SLOT_BYTES
            && let Some(mapping) = Mapping::for_bytes(on_fork, layout.size())
        {
            let memory = mapping.arena.slot(0).cast();
            return Some((Block::Own(NonNull::from(Box::leak(mapping))), memory));
        }
        Some((Block::Heap, heap(layout)?))
    }

    pub(crate) fn is_protected(&self) -> bool {
        !matches!(self, Block::Heap)
    }

    /// Erases the value's memory and frees it.
    ///
    /// # Safety
    /// `memory` and `layout` are those of [`Block::zeroed`], and the memory is not used again.
    pub(crate) unsafe fn erase_and_free(&self, memory: NonNull<u8>, layout: Layout) {
        if layout.size() == 0 {
            return;
        }
        // SAFETY: the block has this size, is initialised, and belongs to the caller alone.
        erase(unsafe { core::slice::from_raw_parts_mut(memory.as_ptr(), layout.size()) });
        match self {
            Block::Slot(class) => class.free(memory),
            // SAFETY: it came from a box, and is freed once.
            Block::Own(mapping) => Mapping::free(unsafe { Box::from_raw(mapping.as_ptr()) }),
            // SAFETY: it was allocated with this layout.
            Block::Heap => unsafe {
                let (size, alignment) = (layout.size(), LARGEST_ALIGNMENT);
                dealloc(memory.as_ptr(), Layout::from_size_align_unchecked(size, alignment));
            },
        }
    }
}

fn heap(layout: Layout) -> Option<NonNull<u8>> {
    let layout = layout.align_to(LARGEST_ALIGNMENT).ok()?;
    if layout.size() == 0 {
        return Some(NonNull::<Aligned>::dangling().cast());
    }
    // SAFETY: the size is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

#[repr(align(64))]
struct Aligned;

/// Slots of one size, mapped when the first one is needed. Free slots hold zeros.
pub(crate) struct Class {
    slot_bytes: usize,
    arena: Arena,
    free: Set<AtomicU64>,
    /// Number of slots, counted from the first, that were locked as far as the process may lock
    /// memory.
    locked: AtomicUsize,
    /// Generation of the process that locked them. A child of fork inherits the memory without the
    /// locks.
    locked_by: AtomicU64,
}

/// The classes by [`OnFork`] and size; null before the first use, [`refused`] if the kernel would
/// not protect the memory.
static KEPT: [AtomicPtr<Class>; CLASSES] = [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES];
static WIPED: [AtomicPtr<Class>; CLASSES] = [const { AtomicPtr::new(ptr::null_mut()) }; CLASSES];

/// Marks a class that the kernel refused.
fn refused() -> *mut Class {
    NonNull::dangling().as_ptr()
}

impl Class {
    /// A free slot of at least `bytes` bytes; `None` if there is none.
    fn for_bytes(on_fork: OnFork, bytes: usize) -> Option<(&'static Class, NonNull<u8>)> {
        if bytes == 0 || bytes > LARGEST_SLOT_BYTES {
            return None;
        }
        let slot_bytes = bytes.next_power_of_two().max(SMALLEST_SLOT_BYTES);
        let index = (slot_bytes / SMALLEST_SLOT_BYTES).ilog2() as usize;
        let place = match on_fork {
            OnFork::Keep => &KEPT[index],
            OnFork::Wipe => &WIPED[index],
        };
        let mut class = place.load(Ordering::Acquire);
        if class.is_null() {
            class = Self::publish(place, slot_bytes, on_fork);
        }
        if class == refused() {
            return None;
        }
        // SAFETY: a published class that is not `refused` is never freed.
        let class = unsafe { &*class };
        Some((class, class.claim()?))
    }

    /// Maps a class, unless another thread has done so first.
    #[cold]
    fn publish(place: &AtomicPtr<Class>, slot_bytes: usize, on_fork: OnFork) -> *mut Class {
        let class = Self::new(slot_bytes, on_fork);
        let new = class.map_or(refused(), |class| Box::into_raw(Box::new(class)));
        let exchanged =
            place.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire);
        match exchanged {
            Ok(_) => new,
            Err(other) => {
                if new != refused() {
                    // SAFETY: it was made above, and nobody else has seen it.
                    drop(unsafe { Box::from_raw(new) });
                }
                other
            }
        }
    }

    fn new(slot_bytes: usize, on_fork: OnFork) -> Option<Self> {
        let slots = CLASS_BYTES / slot_bytes;
        let arena = Arena::new(slots, slot_bytes, on_fork)?;
        let free = Set::new(slots, true);
        let (locked, locked_by) = (AtomicUsize::new(0), AtomicU64::new(0));
        Some(Class { slot_bytes, arena, free, locked, locked_by })
    }

    /// Claims the first free slot, which is the likeliest to be in the cache.
    fn claim(&self) -> Option<NonNull<u8>> {
        let slot = self.free.claim_first()?;
        let process = fork::generation().map_or(0, NonZeroU64::get);
        if slot >= self.locked.load(Ordering::Relaxed)
            || process != self.locked_by.load(Ordering::Relaxed)
        {
            self.lock(slot, process);
        }
        Some(self.arena.slot(slot).cast())
    }

    /// Locks the slots up to and including `slot`.
    #[cold]
    fn lock(&self, slot: usize, process: u64) {
        let slots = (slot + 1).max(self.locked.load(Ordering::Relaxed));
        let bytes = (slots * self.slot_bytes).next_multiple_of(LOCKED_TOGETHER_BYTES);
        let slots = bytes / self.slot_bytes;
        self.arena.lock(slots);
        self.locked.fetch_max(slots, Ordering::Relaxed);
        self.locked_by.store(process, Ordering::Relaxed);
    }

    /// Frees a slot, which must hold zeros.
    fn free(&self, memory: NonNull<u8>) {
        let first = self.arena.slot(0).cast::<u8>().addr().get();
        self.free.release((memory.addr().get() - first) / self.slot_bytes);
    }
}

/// A mapping that holds one value.
pub(crate) struct Mapping {
    on_fork: OnFork,
    bytes: usize,
    arena: Arena,
    /// Generation of the process that locked it.
    locked_by: u64,
}

/// Freed mappings, all zeros, for the next values: new pages from the kernel cost more than making
/// a batch of keys.
static SPARE: [AtomicPtr<Mapping>; 4] = [const { AtomicPtr::new(ptr::null_mut()) }; 4];
/// Larger mappings are returned to the kernel.
const LARGEST_SPARE_BYTES: usize = 4 << 20;

impl Mapping {
    /// Zeroed memory of at least `bytes` bytes.
    fn for_bytes(on_fork: OnFork, bytes: usize) -> Option<Box<Mapping>> {
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES)?;
        let process = fork::generation().map_or(0, NonZeroU64::get);
        for place in &SPARE {
            let Some(mut mapping) = Self::take(place) else { continue };
            // A much larger mapping is left for larger values.
            if mapping.on_fork == on_fork
                && (bytes..=bytes.saturating_mul(2)).contains(&mapping.bytes)
            {
                if mapping.locked_by != process {
                    mapping.arena.lock(1);
                    mapping.locked_by = process;
                }
                return Some(mapping);
            }
            mapping.put(place);
        }
        let arena = Arena::new(1, bytes, on_fork)?;
        arena.lock(1);
        Some(Box::new(Mapping { on_fork, bytes, arena, locked_by: process }))
    }

    /// Keeps a mapping of zeros for the next value, or returns it to the kernel.
    fn free(mut self: Box<Self>) {
        if self.bytes > LARGEST_SPARE_BYTES {
            return;
        }
        // If all places are taken, the oldest mapping is returned, since sizes change with demand.
        for place in &SPARE {
            let new = Box::into_raw(self);
            let old = place.swap(new, Ordering::AcqRel);
            if old.is_null() {
                return;
            }
            // SAFETY: pointers in the places came from boxes; the exchange made this one ours.
            self = unsafe { Box::from_raw(old) };
        }
    }

    fn take(place: &AtomicPtr<Mapping>) -> Option<Box<Mapping>> {
        let mapping = place.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: as above.
        (!mapping.is_null()).then(|| unsafe { Box::from_raw(mapping) })
    }

    /// Puts a mapping back, unless its place has been taken meanwhile.
    fn put(self: Box<Self>, place: &AtomicPtr<Mapping>) {
        let new = Box::into_raw(self);
        if place
            .compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Relaxed)
            .is_err()
        {
            // SAFETY: it was a box, and nobody else has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn is_zero(bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| byte == 0)
    }

    #[test]
    fn every_size_begins_as_zeros_and_is_zero_again() {
        for on_fork in [OnFork::Keep, OnFork::Wipe] {
            let make = |bytes| match on_fork {
                OnFork::Keep => Secret::<[u8]>::slice(bytes),
                OnFork::Wipe => wiped_on_fork(|| Secret::<[u8]>::slice(bytes)),
            };
            for bytes in [1, 32, 64, 65, 1763, 4096, 64 * 1024, 64 * 1024 + 1, 300_000] {
                let mut first = make(bytes);
                assert!(first.is_protected() && is_zero(&first));
                let address = first.as_ptr();
                assert_eq!(address.addr() % LARGEST_ALIGNMENT, 0);
                first.fill(0x5a);
                let second = make(bytes);
                assert!(is_zero(&second));
                drop(first);
                if bytes <= LARGEST_SLOT_BYTES {
                    // SAFETY: the memory of a class stays mapped.
                    assert!(is_zero(unsafe { core::slice::from_raw_parts(address, bytes) }));
                    assert!(is_zero(&make(bytes)));
                }
            }
        }
    }

    #[test]
    fn large_memory_is_used_again() {
        let address = |bytes: usize| Secret::<[u8]>::slice(bytes).as_ptr();
        // Other tests take mappings at the same time.
        let again = (0..100).filter(|_| address(333_000) == address(300_000)).count();
        assert!(again > 0);
    }

    #[test]
    fn nothing_takes_no_memory() {
        assert!(Secret::<[u8]>::try_slice(isize::MAX as usize - 1000).is_err());
        assert!(Secret::<[u64]>::try_slice(usize::MAX).is_err());
        assert_eq!(Secret::<[u8]>::slice(0).len(), 0);
        assert_eq!(size_of_val(&*Secret::<[u8; 0]>::zeroed()), 0);
    }

    /// Values beyond the size of a class lie on the heap and report that.
    #[test]
    fn a_full_class_is_followed_by_the_heap() {
        const BYTES: usize = 16 * 1024;
        let slots = CLASS_BYTES / BYTES;
        let many: Vec<_> = (0..slots + 10).map(|_| Secret::<[u8; BYTES]>::zeroed()).collect();
        let exposed = many.iter().filter(|secret| !secret.is_protected()).count();
        assert!((10..slots).contains(&exposed), "{exposed} of {}", many.len());
        drop(many);
        assert!(Secret::<[u8; BYTES]>::zeroed().is_protected());
    }

    #[test]
    fn threads_share_a_class() {
        let work = || {
            for round in 0..2000u32 {
                let mut secrets: [Secret<[u32; 20]>; 5] =
                    core::array::from_fn(|_| Secret::zeroed());
                for secret in &mut secrets {
                    assert_eq!(**secret, [0; 20]);
                    **secret = [round; 20];
                }
                assert!(secrets.iter().all(|secret| **secret == [round; 20]));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(work);
            }
        });
    }

    /// The kernel's flags of the mapping that holds `address`: "wf" wiped on fork, "dd" not dumped,
    /// "lo" locked.
    fn flags(address: *const u8) -> Vec<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let holds = |line: &str| {
            let (start, end) = line.split(' ').next()?.split_once('-')?;
            let number = |text| usize::from_str_radix(text, 16).ok();
            Some((number(start)?..number(end)?).contains(&address.addr()))
        };
        let flags = maps
            .lines()
            .skip_while(|line| holds(line) != Some(true))
            .find_map(|line| line.strip_prefix("VmFlags:"));
        flags.unwrap().split_whitespace().map(str::to_owned).collect()
    }

    fn check_in_child(test: impl FnOnce() -> bool) {
        // SAFETY: the child runs the test and leaves by `_exit`.
        unsafe {
            let child = libc::fork();
            assert!(child >= 0);
            if child == 0 {
                libc::_exit(i32::from(!test()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &raw mut status, 0), child);
            assert_eq!(status, 0, "the child failed");
        }
    }

    #[test]
    fn a_child_finds_a_copy_or_zeros_and_locks_its_memory() {
        let mut kept = Secret::<[u8; 1000]>::zeroed();
        let (mut wiped, mut large) =
            wiped_on_fork(|| (Secret::<[u8; 1000]>::zeroed(), Secret::<[u8]>::slice(100_000)));
        kept.fill(1);
        wiped.fill(2);
        large.fill(3);
        let locks = |flags: &[String]| flags.iter().any(|flag| flag == "lo");
        let has = |flags: &[String], flag: &str| flags.iter().any(|other| other == flag);
        let of_kept = flags(kept.as_ptr());
        assert!(has(&of_kept, "dd") && !has(&of_kept, "wf"), "{of_kept:?}");
        for of_wiped in [flags(wiped.as_ptr()), flags(large.as_ptr())] {
            assert!(has(&of_wiped, "dd") && has(&of_wiped, "wf"), "{of_wiped:?}");
        }
        let is_locked = locks(&of_kept);
        check_in_child(|| {
            let copied = *kept == [1; 1000] && is_zero(&*wiped) && is_zero(&large);
            let another = Secret::<[u8; 1000]>::zeroed();
            copied && another.is_protected() && locks(&flags(kept.as_ptr())) == is_locked
        });
        assert!(wiped.iter().all(|&byte| byte == 2) && large.iter().all(|&byte| byte == 3));
    }

    #[test]
    fn a_scope_ends_with_a_panic() {
        let panicked = std::panic::catch_unwind(|| wiped_on_fork(|| panic!("as it should")));
        assert!(panicked.is_err());
        let after = Secret::<[u8; 100]>::zeroed();
        assert!(!flags(after.as_ptr()).iter().any(|flag| flag == "wf"));
    }
}
