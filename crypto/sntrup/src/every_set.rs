//! Tests of every parameter set whose feature `test-...` is on: all of them by default.

use crate::params::*;

/// A property of every parameter set.
pub(crate) trait Claim {
    /// Panics if it does not hold.
    fn check<P: ParameterSet>(&self);
}

#[cfg(not(any(
    feature = "test-653",
    feature = "test-761",
    feature = "test-857",
    feature = "test-953",
    feature = "test-1013",
    feature = "test-1277"
)))]
compile_error!("tests of no parameter set: add `--features test-761`, or another one");

/// Checks a claim for every parameter set that is tested.
pub(crate) fn for_every_set(claim: &impl Claim) {
    #[cfg(feature = "test-653")]
    claim.check::<Sntrup653>();
    #[cfg(feature = "test-761")]
    claim.check::<Sntrup761>();
    #[cfg(feature = "test-857")]
    claim.check::<Sntrup857>();
    #[cfg(feature = "test-953")]
    claim.check::<Sntrup953>();
    #[cfg(feature = "test-1013")]
    claim.check::<Sntrup1013>();
    #[cfg(feature = "test-1277")]
    claim.check::<Sntrup1277>();
}
