//! Random bytes from the caller's source.

use crate::error::Error;

/// A source of random bytes of any type.
pub type Source<'a> = dyn FnMut(&mut [u8]) -> Result<(), Error> + 'a;
