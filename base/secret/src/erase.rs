//! Erasure that the compiler cannot remove.

/// Overwrites bytes with zeros in a way that the compiler cannot remove.
pub fn erase(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
