//! Checks that secrets do not steer the code: in a linked object, instruction by instruction.
//!
//! Valgrind knows no AVX-512; so the code that the compiler made is read instead. Within a function each value is followed through
//! general registers, flags and the stack, and is *public* if it comes from constants of the code, from arguments (pointers and
//! lengths) or from pointers and lengths in memory; whatever else comes from memory, and all that comes from vector and mask
//! registers, counts as secret. Then
//!
//! - a conditional jump is on something public, or decides between going on and a panic;
//! - an address is computed from public values, or is a pointer;
//! - a division is of public numbers, and no other instruction's time depends on a secret;
//! - nothing is jumped to through a register or a table;
//! - kernels call nothing but `memcpy`, `memmove` and `memset` for public lengths, and what panics.
//!
//! Beside the kernels, decapsulation is checked between them: there a mask is the whole difference between a branch and none.
//!
//! What this cannot see: a 64-bit word that is used as an address is taken for a pointer, and the word after it for a length; an
//! array on the stack is as long as what fills it, and an index is not negative unless it is known to be. What callees do with
//! their arguments is theirs; what only unwinding reaches is left out.

#![forbid(unsafe_code)]

mod flow;
mod function;
mod image;
mod learnt;
mod operand;
mod state;
mod value;

pub use function::{Finding, Jump, Report};
pub use image::{Function, Image};

/// Lanes that the check knows.
pub const LANES: [&str; 2] = ["avx2", "avx512"];

/// Checks all that an object has of kernels, and of what runs between them.
pub fn check(image: &Image) -> Vec<Report> {
    let reports = image.functions().filter_map(|function| {
        if is_kernel(&function.name) {
            Some(function::check(image, function, |_| false))
        } else if is_decapsulation(&function.name) {
            Some(function::check(image, function, is_checked_elsewhere))
        } else if is_ours(&function.name) && function::uses_avx512(function) {
            Some(Report::outside_of_kernels(function))
        } else {
            None
        }
    });
    reports.collect()
}

/// Whether a function of this name is a kernel: the boundary of its lanes, with all that is inlined into it.
pub fn is_kernel(name: &str) -> bool {
    LANES.iter().any(|lanes| {
        let rest = name.strip_prefix("lanes::").and_then(|name| name.strip_prefix(lanes));
        matches!(rest.and_then(|rest| rest.strip_prefix("::run")), Some(rest) if rest.is_empty() || rest.starts_with("::<"))
    })
}

/// Whether a function of this name is decapsulation on lanes that have a boundary. Older names do not tell the lanes.
pub fn is_decapsulation(name: &str) -> bool {
    let on_lanes = LANES.iter().any(|lanes| name.contains(&format!("::on::<lanes::{lanes}::")));
    name.starts_with("<sntrup::decapsulate::Decapsulate<") && on_lanes
}

fn is_ours(name: &str) -> bool {
    ["sntrup::", "lanes::"].iter().any(|path| name.trim_start_matches('<').starts_with(path))
}

/// Kernels are, and hashes and erasing are under valgrind.
fn is_checked_elsewhere(name: &str) -> bool {
    const PATHS: [&str; 4] =
        ["sntrup::hash::", "sha2::", "core::ptr::drop_in_place::<", "__rustc::__rust_"];
    is_kernel(name) || PATHS.iter().any(|path| name.trim_start_matches('<').starts_with(path))
}
