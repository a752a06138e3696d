//! Requests to valgrind's memcheck, which tracks what was computed from *undefined* bytes and
//! reports every branch and every address that depends on them. Marked undefined, a secret is
//! therefore followed wherever it goes.
//!
//! A request is a sequence of instructions that does nothing on a processor and that valgrind
//! recognises (`valgrind.h`). None of these functions changes what the program computes.

use core::arch::asm;

const RUNNING_ON_VALGRIND: u64 = 0x1001;
/// Memcheck's own requests begin here.
const MEMCHECK: u64 = (b'M' as u64) << 24 | (b'C' as u64) << 16;
const MAKE_MEM_UNDEFINED: u64 = MEMCHECK + 1;
const MAKE_MEM_DEFINED: u64 = MEMCHECK + 2;
const GET_VBITS: u64 = MEMCHECK + 8;

/// Makes a request; without valgrind the answer is 0.
#[inline(always)]
fn request(code: u64, arguments: [u64; 3]) -> u64 {
    let block = [code, arguments[0], arguments[1], arguments[2], 0, 0];
    let answer;
    // SAFETY: the rotations add up to 128 bits and the exchange is one of a register with itself;
    // valgrind reads the block, and the requests made here write definedness only, or to memory
    // that the caller lent.
    unsafe {
        asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") block.as_ptr(),
            inout("rdx") 0u64 => answer,
            options(nostack)
        );
    }
    answer
}

/// Whether valgrind runs this program.
pub fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 3]) != 0
}

/// Marks bytes as secret.
pub fn undefine(bytes: &mut [u8]) {
    request(MAKE_MEM_UNDEFINED, [bytes.as_ptr() as u64, bytes.len() as u64, 0]);
}

/// Marks bytes as public from here on.
pub fn define(bytes: &[u8]) {
    request(MAKE_MEM_DEFINED, [bytes.as_ptr() as u64, bytes.len() as u64, 0]);
}

/// The answer, public from here on.
#[inline(always)]
pub fn public(answer: bool) -> bool {
    let byte = [u8::from(answer)];
    define(&byte);
    core::hint::black_box(byte)[0] != 0
}

/// The number of bits of `bytes` that memcheck considers undefined; `None` without memcheck.
pub fn undefined_bits(bytes: &[u8]) -> Option<u64> {
    let mut bits = vec![0u8; bytes.len()];
    let arguments = [bytes.as_ptr() as u64, bits.as_mut_ptr() as u64, bytes.len() as u64];
    let answer = request(GET_VBITS, arguments);
    (answer == 1).then(|| bits.iter().map(|byte| u64::from(byte.count_ones())).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_change_nothing() {
        let mut bytes = *b"sntrup";
        undefine(&mut bytes);
        define(&bytes);
        assert_eq!((&bytes, public(true), public(false)), (b"sntrup", true, false));
        // Tests do not run in valgrind.
        assert_eq!((is_running(), undefined_bits(&bytes)), (false, None));
    }
}
