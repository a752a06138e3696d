//! Every parameter set, at every width, and with fewer reductions than it needs.

use lanes::Word;

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

/// A parameter set with other reductions than its own: [`Reductions`], in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct With<P, const BASE: bool, const INVERSE: bool>(P);

impl<P: ParameterSet, const BASE: bool, const INVERSE: bool> ParameterSet
    for With<P, BASE, INVERSE>
{
    const NAME: &'static str = P::NAME;
    const P: usize = P::P;
    const Q: i16 = P::Q;
    const W: usize = P::W;
    const M: usize = P::M;
    const SORT_ROWS: usize = P::SORT_ROWS;
    const REDUCTIONS: Reductions = Reductions { after_base: BASE, after_inverse: INVERSE };
    const SMALL_FACTORS: &'static [&'static str] = P::SMALL_FACTORS;
    const RESIDUE_FORMS: &'static [u64] = P::RESIDUE_FORMS;

    type Padded<E: Word> = P::Padded<E>;
    type Wide<E: Word> = P::Wide<E>;
    type Sorted<E: Element> = P::Sorted<E>;
    type Plane = P::Plane;
    type SampleBytes = P::SampleBytes;
    type SmallBytes = P::SmallBytes;
    type PublicKeyBytes = P::PublicKeyBytes;
    type SecretKeyBytes = P::SecretKeyBytes;
    type CiphertextBytes = P::CiphertextBytes;
}
