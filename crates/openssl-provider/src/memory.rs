//! Memory whose size callers choose, or that is large: where there is none, libcrypto gets an error and the program goes on.
//!
//! What is not taken from here ends the program if it cannot be had, as any allocation of Rust's does: contexts and keys, of sizes that
//! are fixed when the module is compiled, messages of errors, and what is made once as the module is loaded.

/// There is not so much memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// So many zeros.
pub(crate) fn zeros(bytes: usize) -> Result<Vec<u8>, NoMemory> {
    let mut zeros = room(bytes)?;
    zeros.resize(bytes, 0);
    Ok(zeros)
}

/// A copy.
pub(crate) fn copy(bytes: &[u8]) -> Result<Vec<u8>, NoMemory> {
    let mut copy = room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// An empty vector that grows to so many bytes where it is.
pub(crate) fn room(bytes: usize) -> Result<Vec<u8>, NoMemory> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| NoMemory)?;
    Ok(room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_there_is_not_is_refused() {
        assert_eq!(zeros(isize::MAX as usize), Err(NoMemory));
        assert_eq!(zeros(3), Ok(vec![0; 3]));
        assert_eq!(copy(b"ab"), Ok(b"ab".to_vec()));
        assert!(room(100).unwrap().capacity() >= 100);
    }
}
