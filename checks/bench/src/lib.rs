//! Independent implementations of what fastkex does, ours among them, behind one interface for each kind; and how long they take.

#![forbid(unsafe_code)]

pub mod contest;
pub mod exchange;
pub mod kem;
pub mod openssl;
pub mod report;
pub mod signature;
pub mod versions;
