//! Memory of an operation: heap, and protected memory for secrets.

use std::fs;

use peak_alloc::PeakAlloc;

/// The system's allocator with a count of its bytes.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Runs `operation` and returns its result with its peak memory in bytes, beyond the memory in use
/// before. The memory is heap, and whole pages of protected memory (`secret::Secret`). A process
/// keeps protected pages for its next secrets, so each page counts once in a process. Allocations
/// of other threads count, too.
pub(crate) fn high_water<T>(operation: impl FnOnce() -> T) -> (T, usize) {
    let (before, protected_before) = (HEAP.current_usage(), protected_bytes());
    HEAP.reset_peak_usage();
    let result = operation();
    let heap = HEAP.peak_usage().saturating_sub(before);
    (result, heap + protected_bytes().saturating_sub(protected_before))
}

/// Returns the resident bytes of the mappings that are excluded from core dumps, like protected
/// memory.
fn protected_bytes() -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let (mut in_memory, mut total) = (0, 0);
    for line in maps.lines() {
        if let Some(rest) = line.strip_prefix("Rss:") {
            let kibibytes = rest.trim().trim_end_matches(" kB").parse::<usize>();
            in_memory = kibibytes.unwrap_or(0) * 1024;
        } else if let Some(flags) = line.strip_prefix("VmFlags:")
            && flags.split_whitespace().any(|flag| flag == "dd")
        {
            total += in_memory;
        }
    }
    total
}
