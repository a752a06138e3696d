//! Proofs by execution: the kernels on lanes of intervals and of polynomials, and every operation
//! of every backend against the integers. `docs/SOUNDNESS.md` says what follows from which.

mod basis;
pub(crate) mod definition;
mod document;
mod operations;
mod ranges;
mod values;
