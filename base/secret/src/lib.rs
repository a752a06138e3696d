//! Memory for secrets: left out of core dumps, locked where the process may lock memory, erased in
//! place.
//!
//! [`Secret`] owns a value in such memory, from its creation to its erasure. The value is created
//! as zeros and filled in place, and only the pointer to it moves, so moving the owner leaves no
//! copy behind. Plain values on the stack last for one computation; everything that is returned,
//! collected or stored is a [`Secret`].
//!
//! A child of fork gets a copy of each value, except of those created inside [`wiped_on_fork`],
//! which are zero in the child.
//!
//! No lock is used in this crate: a thread of the parent could hold it at the moment of a fork, and
//! the child would wait forever.

mod allocator;
mod arena;
mod compare;
mod erase;
mod owner;
mod set;

pub use allocator::wiped_on_fork;
pub use arena::{Arena, OnFork};
pub use compare::is_equal;
pub use erase::{erase, erase_stack_after};
pub use owner::{NoMemory, Secret};
pub use set::{Bits, Set, Word};
