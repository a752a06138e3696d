//! The parameter sets and their names.

use clap::builder::PossibleValuesParser;
use sntrup::{
    Operations, ParameterSet, Sntrup653, Sntrup761, Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

/// An operation with a parameter set that is known only at run time.
pub trait ForSet {
    /// The result.
    type Output;

    /// Performs the operation with the parameter set `P`.
    fn run<P: Operations>(self) -> Self::Output;
}

/// The names of the parameter sets, smallest first.
pub const NAMES: [&str; 6] = [
    Sntrup653::NAME,
    Sntrup761::NAME,
    Sntrup857::NAME,
    Sntrup953::NAME,
    Sntrup1013::NAME,
    Sntrup1277::NAME,
];

/// Performs `what` with the parameter set called `name`; `None` if there is no such set.
pub fn for_set<F: ForSet>(name: &str, what: F) -> Option<F::Output> {
    Some(match name {
        Sntrup653::NAME => what.run::<Sntrup653>(),
        Sntrup761::NAME => what.run::<Sntrup761>(),
        Sntrup857::NAME => what.run::<Sntrup857>(),
        Sntrup953::NAME => what.run::<Sntrup953>(),
        Sntrup1013::NAME => what.run::<Sntrup1013>(),
        Sntrup1277::NAME => what.run::<Sntrup1277>(),
        _ => return None,
    })
}

/// The word for all parameter sets on the command line.
pub const ALL: &str = "all";

/// Returns a parser for the name of a parameter set, or `all`.
pub fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(NAMES.into_iter().chain([ALL]))
}

/// Returns the names that a list on the command line stands for, each once, smallest set first.
pub fn selected(list: &[String]) -> Vec<&'static str> {
    let wanted = |name: &&str| list.iter().any(|item| item == name || item == ALL);
    NAMES.into_iter().filter(wanted).collect()
}
