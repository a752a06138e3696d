//! Memory of an operation: heap, and protected memory for secrets.

use std::fs;

use peak_alloc::PeakAlloc;

/// Counts what is allocated, and leaves allocating to the system's allocator.
#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// The result of `operation`, and the most bytes that it had at once, beyond those allocated before:
/// of the heap, and whole pages of protected memory (`secret::Secret`). Other threads count, too.
pub(crate) fn high_water<T>(operation: impl FnOnce() -> T) -> (T, usize) {
    let before = HEAP.current_usage();
    HEAP.reset_peak_usage();
    forget_references();
    let result = operation();
    let heap = HEAP.peak_usage().saturating_sub(before);
    (result, heap + protected_bytes())
}

/// Pages count as referenced from now on (proc(5), `/proc/PID/clear_refs`). Kernels without that
/// count all pages that were ever used.
fn forget_references() {
    let _ = fs::write("/proc/self/clear_refs", "1");
}

/// Bytes of referenced pages in mappings that are left out of core dumps: protected memory is.
fn protected_bytes() -> usize {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let (mut referenced, mut total) = (0, 0);
    for line in maps.lines() {
        if let Some(rest) = line.strip_prefix("Referenced:") {
            let kibibytes = rest.trim().trim_end_matches(" kB").parse::<usize>();
            referenced = kibibytes.unwrap_or(0) * 1024;
        } else if let Some(flags) = line.strip_prefix("VmFlags:")
            && flags.split_whitespace().any(|flag| flag == "dd")
        {
            total += referenced;
        }
    }
    total
}
