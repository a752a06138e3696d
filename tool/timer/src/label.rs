//! Labels of candidates: `GROUPS` or `GROUPS@VARIANT`.

use output::Failure;

/// X25519 and Ed25519 are OpenSSL's, as without a variant.
const DEFAULT: &str = "default";
/// X25519 and Ed25519 are fastkex's.
const FASTKEX: &str = "fastkex";

/// A label in its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Groups, as in OpenSSL's lists.
    pub groups: &'a str,
    /// The implementation, unless it is the default one.
    pub variant: Option<&'a str>,
}

impl<'a> Label<'a> {
    /// The parts of any label.
    pub fn of(label: &'a str) -> Self {
        let (groups, variant) = match label.split_once('@') {
            Some((groups, variant)) => (groups, Some(variant)),
            None => (label, None),
        };
        Self { groups, variant: variant.filter(|variant| *variant != DEFAULT) }
    }

    /// The parts of a label that a user gave.
    ///
    /// # Errors
    /// The variant is neither `fastkex` nor `default`.
    pub fn parse(label: &'a str) -> Result<Self, Failure> {
        let parsed = Self::of(label);
        match parsed.variant {
            None | Some(FASTKEX) => Ok(parsed),
            Some(other) => Err(Failure::new(format!(
                "groups '{label}': expected '@{FASTKEX}' or '@{DEFAULT}', not '@{other}'"
            ))),
        }
    }

    /// Whether X25519 and Ed25519 are fastkex's at the client, and at the server of a scene.
    pub fn uses_fastkex(&self) -> bool {
        self.variant == Some(FASTKEX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_groups_and_a_variant() {
        let of = |label| {
            let label = Label::of(label);
            (label.groups, label.variant, label.uses_fastkex())
        };
        assert_eq!(of("X25519"), ("X25519", None, false));
        assert_eq!(of("X25519:P-256@default"), ("X25519:P-256", None, false));
        assert_eq!(of("X25519@fastkex"), ("X25519", Some("fastkex"), true));
        assert_eq!(of("sntrup761@serial"), ("sntrup761", Some("serial"), false));
        assert_eq!(Label::parse("X25519@fastkex").unwrap(), Label::of("X25519@fastkex"));
        let message = Label::parse("X25519@faster").unwrap_err().to_string();
        assert!(message.contains("expected '@fastkex' or '@default', not '@faster'"), "{message}");
    }
}
