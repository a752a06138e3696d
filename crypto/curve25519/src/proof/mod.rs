//! Proofs by execution, and what they compare with. `docs/SOUNDNESS.md` says what follows from
//! which; those of the kernels on lanes are beside these.

pub(crate) mod definition;
mod digits;
mod plain;
mod scalars;
