//! Erasure that the compiler cannot remove.

/// Overwrites bytes with zeros in a way that the compiler cannot remove.
pub fn erase(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}

/// Runs an operation, and then overwrites the first `BYTES` bytes of the stack that it used. It is
/// for code of others that leaves secrets there. The operation writes its secret results to memory
/// that it is given.
///
/// ```
/// let mut doubled = 0;
/// secret::erase_stack_after::<4096, _>(|| doubled = 2 * 21);
/// assert_eq!(doubled, 42);
/// ```
pub fn erase_stack_after<const BYTES: usize, T>(operation: impl FnOnce() -> T) -> T {
    let result = run(operation);
    erase_stack::<BYTES>();
    result
}

/// A call with a frame of its own, which begins where that of [`erase_stack`] does.
#[inline(never)]
fn run<T>(operation: impl FnOnce() -> T) -> T {
    operation()
}

#[inline(never)]
fn erase_stack<const BYTES: usize>() {
    erase(&mut [0; BYTES]);
}
