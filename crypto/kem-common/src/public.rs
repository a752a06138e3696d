//! Declassification: answers about secrets that become public. After a call, the running time may
//! depend on the answer.

/// Declares the answer to a question about a secret public. With the feature `memcheck`, valgrind
/// is told so.
#[inline(always)]
pub fn public(answer: bool) -> bool {
    #[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
    let answer = lanes::memcheck::public(answer);
    answer
}

/// Declares bytes public that were computed from a secret. With the feature `memcheck`, valgrind is
/// told so.
#[inline(always)]
pub fn public_bytes(bytes: &[u8]) {
    #[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
    lanes::memcheck::define(bytes);
    #[cfg(not(all(feature = "memcheck", target_arch = "x86_64")))]
    let _ = bytes;
}
