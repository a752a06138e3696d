//! The parameter sets and their names.

use clap::builder::PossibleValuesParser;
use mlkem::{MlKem512, MlKem768, MlKem1024, ParameterSet as _};
use sntrup::{
    ParameterSet as _, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

use crate::kem::{Kem, MlKem, Streamlined};

/// An operation with a parameter set that is known only at run time.
pub trait ForSet {
    /// The result.
    type Output;

    /// Performs the operation with a KEM and its parameter set.
    fn run<K: Kem>(self) -> Self::Output;
}

/// An operation that differs between the families of parameter sets.
pub trait ForFamily {
    /// The result.
    type Output;

    /// Performs the operation with a parameter set of Streamlined NTRU Prime.
    fn streamlined<P: sntrup::Operations>(self) -> Self::Output;

    /// Performs the operation with a parameter set of ML-KEM.
    fn ml_kem<P: mlkem::Operations>(self) -> Self::Output;
}

/// The names of the parameter sets of Streamlined NTRU Prime, smallest first.
pub const STREAMLINED: [&str; 6] = [
    Sntrup653::NAME,
    Sntrup761::NAME,
    Sntrup857::NAME,
    Sntrup953::NAME,
    Sntrup1013::NAME,
    Sntrup1277::NAME,
];

/// The names of the parameter sets of ML-KEM, smallest first.
pub const ML_KEM: [&str; 3] = [MlKem512::NAME, MlKem768::NAME, MlKem1024::NAME];

/// Returns the names of all parameter sets, family by family.
pub fn names() -> impl Iterator<Item = &'static str> {
    STREAMLINED.into_iter().chain(ML_KEM)
}

/// Performs `what` with the parameter set called `name`; `None` if there is no such set.
pub fn for_family<F: ForFamily>(name: &str, what: F) -> Option<F::Output> {
    Some(match name {
        Sntrup653::NAME => what.streamlined::<Sntrup653>(),
        Sntrup761::NAME => what.streamlined::<Sntrup761>(),
        Sntrup857::NAME => what.streamlined::<Sntrup857>(),
        Sntrup953::NAME => what.streamlined::<Sntrup953>(),
        Sntrup1013::NAME => what.streamlined::<Sntrup1013>(),
        Sntrup1277::NAME => what.streamlined::<Sntrup1277>(),
        MlKem512::NAME => what.ml_kem::<MlKem512>(),
        MlKem768::NAME => what.ml_kem::<MlKem768>(),
        MlKem1024::NAME => what.ml_kem::<MlKem1024>(),
        _ => return None,
    })
}

/// Performs `what` with the parameter set called `name`; `None` if there is no such set.
pub fn for_set<F: ForSet>(name: &str, what: F) -> Option<F::Output> {
    for_family(name, Alike(what))
}

/// An operation that is the same for all families.
struct Alike<F>(F);

impl<F: ForSet> ForFamily for Alike<F> {
    type Output = F::Output;

    fn streamlined<P: sntrup::Operations>(self) -> F::Output {
        self.0.run::<Streamlined<P>>()
    }

    fn ml_kem<P: mlkem::Operations>(self) -> F::Output {
        self.0.run::<MlKem<P>>()
    }
}

/// The word for all parameter sets on the command line.
pub const ALL: &str = "all";

/// Returns a parser for the name of a parameter set, or `all`.
pub fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(names().chain([ALL]))
}

/// Returns the names that a list on the command line stands for, each once, in the order of
/// [`names`].
pub fn selected(list: &[String]) -> Vec<&'static str> {
    let wanted = |name: &&str| list.iter().any(|item| item == name || item == ALL);
    names().filter(wanted).collect()
}
