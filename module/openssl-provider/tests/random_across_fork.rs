//! Parent and children of fork draw different bytes, whatever their thread had before. (Here,
//! because forking is not safe code.)

#![cfg(target_os = "linux")]

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::os::fd::FromRawFd;

use rand_core::TryRng;
use random::OperationRandom;

const BYTES: usize = 32;
const CHILDREN: usize = 64;

fn draw() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    OperationRandom::new().try_fill_bytes(&mut bytes).unwrap();
    bytes
}

/// The first and second bytes that a child draws.
fn from_child() -> [u8; 2 * BYTES] {
    let mut ends = [0; 2];
    // SAFETY: the child draws, which takes no lock, writes to a pipe that is ours and ends.
    let mut reader = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            for _ in 0..2 {
                let bytes = draw();
                libc::write(ends[1], bytes.as_ptr().cast(), BYTES);
            }
            libc::_exit(0);
        }
        libc::close(ends[1]);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        File::from_raw_fd(ends[0])
    };
    let mut bytes = [0; 2 * BYTES];
    reader.read_exact(&mut bytes).unwrap();
    bytes
}

#[test]
fn children_draw_their_own() {
    let mut seen = HashSet::new();
    for _ in 0..CHILDREN {
        assert!(seen.insert(draw()));
        for &bytes in from_child().as_chunks::<BYTES>().0 {
            assert!(seen.insert(bytes), "drawn twice");
        }
    }
    assert_eq!(seen.len(), 3 * CHILDREN);
}
