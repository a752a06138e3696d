//! Checks that secrets do not steer the code.

#![forbid(unsafe_code)]
