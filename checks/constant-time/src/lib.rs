//! Checks that secrets do not affect control flow and addresses in AVX-512 code, which valgrind
//! cannot run.
//!
//! **In a running program** ([`trace`]): each operation takes the same path and accesses the same
//! addresses for all secrets.
//!
//! **In the object code** ([`check`]), in kernels, instruction by instruction. Values are followed
//! through general registers, flags and the stack. Values from vectors, masks, and memory that
//! arguments point to are data. Constants, arguments, pointers and lengths, and words beside
//! pointers in memory, are public. The check requires that
//!
//! - no conditional jump depends on data, unless one of its ways leads to a panic;
//! - no address is computed from data, and none comes from a vector;
//! - no division is of data, and no other instruction's time depends on it;
//! - nothing is jumped to or called through a register or a table, and only `memcpy`, `memmove` and
//!   `memset` for public lengths, and functions that panic, are called.
//!
//! Not every value can be followed: a place on the stack may be written through a pointer, and a
//! 64-bit word from memory may be a pointer. Jumps and addresses that depend on such values are
//! listed, not reported as findings. The traces cover them. [`PUBLIC_FLAGS`] lists further public
//! values.

#![forbid(unsafe_code)]

mod facts;
mod flow;
mod function;
mod image;
mod instructions;
mod operand;
mod state;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod trace;
mod value;

pub use function::{Finding, Jump, Origin, Report};
pub use image::{Function, Image};

/// Lanes that the check knows.
pub const LANES: [&str; 2] = ["avx2", "avx512"];

/// Lanes on which only kernels of sponges run ([`lanes::SpongeKernel`]).
pub const SPONGE_LANES: [&str; 1] = ["avx512::vl"];

/// The only kernel that is not one of [`lanes::Lanes`].
const CIPHER: &str = "lanes::cipher::fill";

/// Kernels whose single bytes in memory are public flags, with the reasons. These declarations
/// supplement the public arguments.
pub const PUBLIC_FLAGS: [(&str, &str); 2] = [
    (
        "sntrup::recip::mod_q::ApplyFirstHalf<",
        "which terms of its products are raised by x: the same for all keys",
    ),
    ("sntrup::recip::mod_q::node::MatrixProduct<", "the same of its products"),
];

/// Checks all kernels of an object, and that AVX-512 is in kernels only.
pub fn check(image: &Image) -> Vec<Report> {
    check_where(image, |_| true)
}

/// Checks the functions with wanted names in the same way.
pub fn check_where(image: &Image, is_wanted: impl Fn(&str) -> bool) -> Vec<Report> {
    let functions = image.functions().filter(|function| is_wanted(&function.name));
    let reports = functions.filter_map(|function| {
        if is_kernel(&function.name) {
            Some(function::check(image, function, flags_are_public(&function.name)))
        } else if is_ours(&function.name) && function::uses_avx512(function) {
            Some(Report::outside_of_kernels(function))
        } else {
            None
        }
    });
    reports.collect()
}

/// Returns true if a function of this name is a kernel: the entry function of its lanes, with all
/// code inlined into it.
pub fn is_kernel(name: &str) -> bool {
    if name == CIPHER {
        return true;
    }
    LANES.iter().chain(&SPONGE_LANES).any(|lanes| {
        let rest = name.strip_prefix("lanes::").and_then(|name| name.strip_prefix(lanes));
        let rest = rest.and_then(|rest| rest.strip_prefix("::run"));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::<"))
    })
}

fn flags_are_public(name: &str) -> bool {
    PUBLIC_FLAGS.iter().any(|(kernel, _)| name.contains(kernel))
}

fn is_ours(name: &str) -> bool {
    ["curve25519::", "kem_capi::", "kem_common::", "kex::", "lanes::", "mlkem::", "sntrup::"]
        .iter()
        .any(|path| name.trim_start_matches('<').starts_with(path))
}
