//! The curves and their names.

use clap::builder::PossibleValuesParser;

use crate::sets::{self, ALL};

/// The algorithms besides the parameter sets.
#[derive(Clone, Copy)]
pub enum Curve {
    /// Key exchange.
    X25519,
    /// Signatures.
    Ed25519,
}

/// The names of the curves.
const NAMES: [&str; 2] = [Curve::X25519.name(), Curve::Ed25519.name()];

/// The size of the signed message in bytes: the content that a server signs in TLS 1.3 (RFC 9846,
/// section 4.5.2) with SHA-256.
pub const MESSAGE_BYTES: usize = 64 + 33 + 1 + 32;

/// The number of keys or exchanges that fill a vector.
pub const EIGHT: usize = 8;

/// Returns a parser for the name of a parameter set or a curve, or `all`.
pub fn parser() -> PossibleValuesParser {
    PossibleValuesParser::new(sets::names().chain(NAMES).chain([ALL]))
}

/// Returns the curves that a list on the command line stands for.
pub fn selected(list: &[String]) -> Vec<Curve> {
    let wanted = |curve: &Curve| list.iter().any(|item| item == curve.name() || item == ALL);
    [Curve::X25519, Curve::Ed25519].into_iter().filter(wanted).collect()
}

impl Curve {
    /// Returns the name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Curve::X25519 => "x25519",
            Curve::Ed25519 => "ed25519",
        }
    }
}
