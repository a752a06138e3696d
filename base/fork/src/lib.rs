//! State that must not survive a fork: detects a forked child, and gives each process its own.
//!
//! A child of fork has a copy of its parent's memory, but keys and states of random generators must
//! be used by one process only. A process ID cannot tell them apart, since IDs are used again, and
//! `pthread_atfork` misses a bare `clone`. A page marked `MADV_WIPEONFORK` is zero in the child,
//! however it was created.
//!
//! [`PerProcess`] is a value of which each process has its own, and [`WorkerThread`] a background
//! thread of which each process has its own. [`Latest`] is a value that threads share without a
//! lock, which a child could inherit held.

mod generation;
mod latest;
mod per_process;
mod worker_thread;

pub use generation::generation;
pub use latest::Latest;
pub use per_process::{PerProcess, Process};
pub use worker_thread::{Control, NotStarted, WorkerThread};
