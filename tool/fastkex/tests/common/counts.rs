//! The module's counts in a process with `statistics = on`, as the command shows them.

use testbed::{children, keys_taken};

pub(crate) use testbed::Purpose;

/// Returns the number of keys of a group that a process and its children have taken for one side.
pub(crate) fn taken(process: u32, group: &str, purpose: Purpose) -> u64 {
    keys_taken(env!("CARGO_BIN_EXE_fastkex").as_ref(), &family(process), group, purpose)
}

fn family(process: u32) -> Vec<u32> {
    let below = children(process).into_iter().flat_map(family);
    [process].into_iter().chain(below).collect()
}
