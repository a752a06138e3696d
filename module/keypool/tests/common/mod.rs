//! Shared by the tests: pools of cheap items, for tests without arithmetic, and children of fork.

#![allow(dead_code)]

use std::io::Write;

use kex::{Backend, Error};
use keypool::{Kind, Purpose};
use rand_core::TryRng;
use random::OperationRandom;

/// Sixteen random bytes.
pub(crate) struct Numbers;

impl Kind for Numbers {
    type Item = u128;
    type Memory = ();

    const PURPOSE: Purpose = Purpose::KeyPairs;
    const STORED_BYTES: usize = 16;
    const LARGEST_BATCH: usize = 256;

    fn generate((): &mut (), _: Backend, count: usize) -> Result<Vec<u128>, Error> {
        let mut random = OperationRandom::new();
        let mut number = || {
            let mut bytes = [0; 16];
            random.try_fill_bytes(&mut bytes).map_err(|_| Error::RandomSource)?;
            Ok(u128::from_ne_bytes(bytes))
        };
        (0..count).map(|_| number()).collect()
    }

    fn store(item: &u128, out: &mut [u8]) {
        out.copy_from_slice(&item.to_ne_bytes());
    }

    fn is_protected(_: &u128) -> bool {
        true
    }

    fn restore(_: Backend, bytes: &[u8]) -> Result<u128, Error> {
        let length = Error::Length { object: "number", expected: 16, actual: bytes.len() };
        Ok(u128::from_ne_bytes(bytes.try_into().map_err(|_| length)?))
    }
}

/// Runs `test` in a child of fork, which must end well.
pub(crate) fn in_child(test: impl FnOnce()) {
    assert_eq!(status_of_child(test), 0, "the child failed");
}

/// The exit status of a child that ran `test`.
pub(crate) fn status_of_child(test: impl FnOnce()) -> i32 {
    // SAFETY: the child runs the test and leaves by `_exit`.
    let process = unsafe { libc::fork() };
    assert!(process >= 0);
    if process == 0 {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(test));
        if let Err(panic) = &outcome {
            // Output of the test harness goes to a buffer that ends with the child.
            let text = panic.downcast_ref::<String>().map_or("it panicked", String::as_str);
            let _ = writeln!(std::io::stderr(), "in a child: {text}");
        }
        // SAFETY: no code of the parent's runs in the child.
        unsafe { libc::_exit(i32::from(outcome.is_err())) };
    }
    let mut status = 0;
    // SAFETY: a place for the status.
    assert_eq!(unsafe { libc::waitpid(process, &raw mut status, 0) }, process);
    status
}
