//! Measures the stack use of an operation.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The minimum stack size of the measuring threads, in bytes.
const STACK_BYTES: usize = 1 << 20;
/// The allowance for the code that starts the thread, in bytes. It uses the top of the stack, and
/// the position of the operation's frame below it is not known.
const TOP_BYTES: usize = 1 << 16;

/// Runs `operation` in a thread of its own; returns its result and the bytes of stack that it used,
/// in whole pages.
///
/// The kernel's page map of the process shows the touched pages of the stack; the stack is new, so
/// the operation touched them. An operation that needs almost 1 MiB of stack ends the process.
///
/// # Errors
/// The thread or the page map is not available, the whole stack is in memory (huge pages), or the
/// operation panicked.
pub fn stack_high_water<T: Send>(operation: impl FnOnce() -> T + Send) -> io::Result<(T, usize)> {
    // The C library keeps the stacks of ended threads, and gives one of them to a new thread that
    // needs no larger one. Each thread here asks for a larger stack than all before, and so gets a
    // new one.
    static EVER_MORE: AtomicUsize = AtomicUsize::new(STACK_BYTES);
    let page = rustix::param::page_size();
    let stack = EVER_MORE.fetch_add(page, Ordering::Relaxed);
    let pages = (STACK_BYTES - TOP_BYTES) / page;
    let map = File::open("/proc/self/pagemap")?;
    let mut entries = vec![0; pages * ENTRY_BYTES];

    let run = || {
        let mark = 0u8;
        let top = &raw const mark as usize;
        let result = operation();
        // The last page is the one that contains `mark`.
        let first = top / page + 1 - pages;
        map.read_exact_at(&mut entries, (first * ENTRY_BYTES) as u64)?;
        let lowest = entries.chunks_exact(ENTRY_BYTES).position(is_touched).unwrap_or(pages - 1);
        if lowest == 0 {
            return Err(io::Error::other("the whole stack is in memory"));
        }
        Ok((result, top - (first + lowest) * page))
    };
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(stack).spawn_scoped(scope, run)?;
        thread.join().map_err(|_| io::Error::other("the operation panicked"))?
    })
}

const ENTRY_BYTES: usize = size_of::<u64>();

/// True if the page with this entry in the page map is in memory or swapped out.
fn is_touched(entry: &[u8]) -> bool {
    entry.last().is_some_and(|top| top >> 6 != 0)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[inline(never)]
    fn use_stack<const BYTES: usize>() -> u8 {
        let array = black_box([1u8; BYTES]);
        black_box(&array)[BYTES / 2]
    }

    #[test]
    fn an_array_on_the_stack_is_seen() {
        // The large array comes first, to test that its pages are not counted for the small one.
        let (one, large) = stack_high_water(use_stack::<300_000>).unwrap();
        assert_eq!(one, 1);
        // Up to twice the size, because `black_box` may copy its argument.
        assert!((300_000..700_000).contains(&large), "{large}");
        let (_, small) = stack_high_water(use_stack::<20_000>).unwrap();
        assert!((20_000..60_000).contains(&small), "{small}");
        let ((), nothing) = stack_high_water(|| ()).unwrap();
        assert!(nothing < 20_000, "{nothing}");
    }

    #[test]
    fn a_panic_is_an_error() {
        let outcome = stack_high_water(|| panic!("on purpose"));
        assert_eq!(outcome.unwrap_err().to_string(), "the operation panicked");
    }
}
