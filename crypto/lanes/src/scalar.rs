//! A hint that keeps scalar computations out of vectors.

/// `x`, in a general register, with nothing known about it. Compilers that see two scalar
/// computations of one shape may compute them in a vector, which costs more than it saves if they
/// are short.
#[inline(always)]
pub fn scalar(mut x: u64) -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: there is no instruction.
    unsafe {
        core::arch::asm!("/* {} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags));
    }
    x
}
