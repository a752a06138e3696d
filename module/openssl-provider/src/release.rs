//! The release of the libcrypto that loaded the module.

use openssl_abi::{Core, names};

/// A release of OpenSSL. The patch number makes no difference to the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Release {
    major: u32,
    minor: u32,
}

impl Release {
    pub(crate) const fn new(major: u32, minor: u32) -> Self {
        Release { major, minor }
    }

    /// The release of the libcrypto behind `core`; `None` if it reports no version.
    pub(crate) fn of(core: &Core) -> Option<Self> {
        core.parameter(names::OPENSSL_VERSION).and_then(|version| Self::parse(&version))
    }

    /// Reads a version such as `3.5.4` or `4.0.0-dev`.
    fn parse(version: &str) -> Option<Self> {
        let mut numbers = version.split('.');
        let major = numbers.next()?.parse().ok()?;
        let minor = numbers.next()?.parse().ok()?;
        Some(Release { major, minor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared_as_numbers() {
        assert_eq!(Release::parse("3.0.19"), Some(Release::new(3, 0)));
        assert_eq!(Release::parse("4.0.0-dev"), Some(Release::new(4, 0)));
        for text in ["", "3", "three.0", "3."] {
            assert_eq!(Release::parse(text), None, "{text}");
        }
        assert!(
            Release::new(3, 10) > Release::new(3, 9) && Release::new(4, 0) > Release::new(3, 10)
        );
    }
}
