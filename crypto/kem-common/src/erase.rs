//! Erasing secrets in place, so that their memory can be used again.

use zeroize::optimization_barrier;

/// Memory for secrets that is erased and then used again.
pub trait Erase {
    /// Overwrites the value with zeros.
    fn erase(&mut self);
}

/// Overwrites `elements` with zeros. The barrier keeps the compiler from removing the writes.
#[inline(always)]
pub fn wipe<E: Copy + Default>(elements: &mut [E]) {
    elements.fill(E::default());
    optimization_barrier(elements);
}
