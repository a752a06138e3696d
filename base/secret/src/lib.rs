//! Memory for secrets: left out of core dumps, locked where the process may lock memory, erased in place.
//!
//! [`Secret`] owns a value in such memory, from its creation to its erasure. The value is created as zeros and filled in place, and
//! only the pointer to it moves, so moving the owner leaves no copy behind. Plain values on the stack are for the duration of a
//! computation; everything that is returned, collected or kept is a [`Secret`].
//!
//! A child of fork gets a copy of each value, unless the value was made inside [`wiped_on_fork`]: then the child finds zeros.
//!
//! There is no lock in this crate: a thread of the parent could hold it at the moment of the fork, and the child would wait for ever.

mod allocator;
mod arena;
mod owner;
mod set;

pub use allocator::wiped_on_fork;
pub use arena::{Arena, OnFork};
pub use owner::Secret;
pub use set::{Bits, Set, Word};

/// Overwrites bytes with zeros so that the compiler cannot leave it out.
pub fn erase(bytes: &mut [u8]) {
    bytes.fill(0);
    zeroize::optimization_barrier(bytes);
}
