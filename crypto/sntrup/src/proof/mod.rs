//! Proofs by execution: the kernels on lanes of intervals and of polynomials, and every operation
//! of every backend against the integers. `docs/SOUNDNESS.md` says what follows from which.

#[cfg(feature = "proofs")]
mod basis;
#[cfg_attr(not(feature = "proofs"), allow(dead_code, reason = "other tests use a part"))]
pub(crate) mod definition;
#[cfg(feature = "proofs")]
mod document;
#[cfg(feature = "proofs")]
mod operations;
#[cfg(feature = "proofs")]
mod ranges;
#[cfg(feature = "proofs")]
mod values;
