//! Where answers about secrets become public. Each call is a decision: whoever measures time may learn the answer.

/// The answer to a question about a secret, which anybody may know; valgrind is told where the feature `memcheck` says so.
#[inline(always)]
pub(crate) fn public(answer: bool) -> bool {
    #[cfg(all(feature = "memcheck", target_arch = "x86_64"))]
    let answer = lanes::memcheck::public(answer);
    answer
}
