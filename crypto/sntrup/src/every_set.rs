//! Tests of every parameter set.

use crate::params::*;

/// A property of every parameter set.
pub(crate) trait Claim {
    /// Panics if it does not hold.
    fn check<P: ParameterSet>(&self);
}

/// Checks a claim for every parameter set.
pub(crate) fn for_every_set(claim: &impl Claim) {
    claim.check::<Sntrup653>();
    claim.check::<Sntrup761>();
    claim.check::<Sntrup857>();
    claim.check::<Sntrup953>();
    claim.check::<Sntrup1013>();
    claim.check::<Sntrup1277>();
}
