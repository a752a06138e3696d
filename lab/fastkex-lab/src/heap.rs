//! Memory of an operation: heap, and protected memory for secrets.

use peak_alloc::PeakAlloc;
use procfs::process::{Process, VmFlags};

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
    let maps = Process::myself().and_then(|process| process.smaps());
    let all = maps.into_iter().flatten().map(|map| map.extension);
    let protected = all.filter(|map| map.vm_flags.contains(VmFlags::DD));
    protected.map(|map| map.map.get("Rss").map_or(0, |&bytes| bytes as usize)).sum()
}

#[cfg(test)]
mod tests {
    use secret::Secret;

    use super::*;

    #[test]
    fn protected_memory_counts() {
        const BYTES: usize = 1 << 20;
        let fill = || {
            let mut secret = Secret::<[u8]>::slice(BYTES);
            secret.fill(1);
            secret
        };
        let (_secret, bytes) = high_water(fill);
        assert!(bytes >= BYTES, "{bytes}");
    }
}
