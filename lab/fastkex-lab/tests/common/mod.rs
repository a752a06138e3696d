//! The helpers of `fastkex`'s tests: both commands have the same environment and errors.

#![allow(dead_code, unused_imports)]

#[path = "../../../../tool/fastkex/tests/common/mod.rs"]
mod tool;

pub(crate) use tool::*;
