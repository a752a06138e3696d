//! Every parameter set.

use crate::params::*;

/// Something that is to hold for every parameter set.
pub(super) trait Claim {
    /// Panics if it does not hold.
    fn check<P: ParameterSet>(&self);
}

/// Checks a claim for every parameter set.
pub(super) fn for_every_set(claim: &impl Claim) {
    claim.check::<Sntrup653>();
    claim.check::<Sntrup761>();
    claim.check::<Sntrup857>();
    claim.check::<Sntrup953>();
    claim.check::<Sntrup1013>();
    claim.check::<Sntrup1277>();
}
