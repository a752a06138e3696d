//! The differences between releases of OpenSSL.

use crate::groups::GroupSyntax;

/// A release of OpenSSL; it decides how a configuration is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// The first number of the version.
    pub major: u32,
    /// The second number of the version.
    pub minor: u32,
}

impl Release {
    /// Returns the release `major.minor`.
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Finds the first version number in a text such as `OpenSSL 3.0.19 27 Jan 2026` or `3.5.5`.
    pub fn parse(version: &str) -> Option<Self> {
        version.split_whitespace().find_map(|word| {
            let mut numbers = word.split('.');
            let major = numbers.next()?.parse().ok()?;
            let minor = numbers.next()?.parse().ok()?;
            Some(Self { major, minor })
        })
    }

    /// True if the mere presence of `activate` activates a provider, even `activate = 0`. This is
    /// the case before 3.3.
    ///
    /// From 3.3 on the value decides, and OpenSSL stops at a value that is not a boolean.
    pub fn activates_by_presence(self) -> bool {
        self < Self::new(3, 3)
    }

    /// True if the module `engines` exists: up to 3.6, unless OpenSSL was built without it.
    pub fn has_engines(self) -> bool {
        self.major < 4
    }

    /// Returns the syntax of `Groups`.
    pub fn group_syntax(self) -> GroupSyntax {
        if self >= Self::new(3, 5) {
            GroupSyntax::Tuples
        } else if self >= Self::new(3, 3) {
            GroupSyntax::Optional
        } else {
            GroupSyntax::Names
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_text() {
        assert_eq!(
            Release::parse("OpenSSL 3.0.19 27 Jan 2026 (Library: x)"),
            Some(Release::new(3, 0))
        );
        assert_eq!(Release::parse("3.5.5"), Some(Release::new(3, 5)));
        assert_eq!(Release::parse("OpenSSL 4.1.0-dev"), Some(Release::new(4, 1)));
        assert_eq!(Release::parse("LibreSSL"), None);
    }

    #[test]
    fn rules_change_at_their_releases() {
        assert!(Release::new(3, 2).activates_by_presence());
        assert!(!Release::new(3, 3).activates_by_presence());
        assert!(Release::new(3, 6).has_engines() && !Release::new(4, 0).has_engines());
        assert_eq!(Release::new(3, 2).group_syntax(), GroupSyntax::Names);
        assert_eq!(Release::new(3, 4).group_syntax(), GroupSyntax::Optional);
        assert_eq!(Release::new(4, 0).group_syntax(), GroupSyntax::Tuples);
    }
}
