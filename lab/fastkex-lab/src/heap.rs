//! How much of the heap an operation takes.

use peak_alloc::PeakAlloc;

/// Counts what is allocated, and leaves allocating to the system's allocator.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The result of `operation`, and the bytes that were allocated at once, at most, while it ran,
/// beyond those allocated before. Other threads count, too.
pub(crate) fn high_water<T>(operation: impl FnOnce() -> T) -> (T, usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    let result = operation();
    (result, HEAP.peak_usage().saturating_sub(before))
}
