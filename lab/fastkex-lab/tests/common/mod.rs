//! As the tests of `fastkex`: both commands have the same environment and refuse in the same way.

#![allow(dead_code, unused_imports)]

#[path = "../../../../tool/fastkex/tests/common/mod.rs"]
mod tool;

pub(crate) use tool::*;
