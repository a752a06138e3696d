//! TLS alerts and their names.

use std::fmt;

/// An alert as it was sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Alert {
    /// The level: 1 is a warning, 2 is fatal.
    pub level: u8,
    /// The description; see [`Alert::name`].
    pub number: u8,
}

impl Alert {
    /// True if the alert ends the connection as a failure.
    pub fn is_fatal(self) -> bool {
        self.level == 2
    }

    /// Returns the alert's name in RFC 8446, section 6.
    pub fn name(self) -> Option<&'static str> {
        NAMES.iter().find(|(number, _)| *number == self.number).map(|(_, name)| *name)
    }
}

impl fmt::Display for Alert {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.level {
            1 => f.write_str("warning")?,
            2 => f.write_str("fatal")?,
            level => write!(f, "level {level}")?,
        }
        write!(f, " alert {} {}", self.number, self.name().unwrap_or("unknown"))
    }
}

/// The names in RFC 8446, appendix B.2, without the reserved ones except `no_renegotiation` of TLS
/// 1.2.
pub(crate) const NAMES: &[(u8, &str)] = &[
    (0, "close_notify"),
    (10, "unexpected_message"),
    (20, "bad_record_mac"),
    (22, "record_overflow"),
    (40, "handshake_failure"),
    (42, "bad_certificate"),
    (43, "unsupported_certificate"),
    (44, "certificate_revoked"),
    (45, "certificate_expired"),
    (46, "certificate_unknown"),
    (47, "illegal_parameter"),
    (48, "unknown_ca"),
    (49, "access_denied"),
    (50, "decode_error"),
    (51, "decrypt_error"),
    (70, "protocol_version"),
    (71, "insufficient_security"),
    (80, "internal_error"),
    (86, "inappropriate_fallback"),
    (90, "user_canceled"),
    (100, "no_renegotiation"),
    (109, "missing_extension"),
    (110, "unsupported_extension"),
    (112, "unrecognized_name"),
    (113, "bad_certificate_status_response"),
    (115, "unknown_psk_identity"),
    (116, "certificate_required"),
    (120, "no_application_protocol"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_read_well() {
        assert_eq!(Alert { level: 2, number: 40 }.to_string(), "fatal alert 40 handshake_failure");
        assert_eq!(Alert { level: 7, number: 255 }.to_string(), "level 7 alert 255 unknown");
    }
}
