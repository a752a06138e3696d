//! Labels of candidates: `GROUPS` or `GROUPS@VARIANT`.

use output::Failure;

/// The variant in which OpenSSL computes what it has itself, as without a variant.
const DEFAULT: &str = "default";
/// The variant in which fastkex computes what it and OpenSSL have: X25519, Ed25519, and from 3.5 on
/// the groups with ML-KEM.
const FASTKEX: &str = "fastkex";

/// The parts of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// The groups, in the syntax of OpenSSL's lists.
    pub groups: &'a str,
    /// The variant, which names the implementation; `None` for the default one.
    pub variant: Option<&'a str>,
}

impl<'a> Label<'a> {
    /// Splits any label.
    pub fn of(label: &'a str) -> Self {
        let (groups, variant) = match label.split_once('@') {
            Some((groups, variant)) => (groups, Some(variant)),
            None => (label, None),
        };
        Self { groups, variant: variant.filter(|variant| *variant != DEFAULT) }
    }

    /// Splits and checks a label from the user.
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

    /// True if the client, and the server of a scene, prefer fastkex to OpenSSL.
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
