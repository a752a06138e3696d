//! A server without TLS, which TLS servers forward to.

use output::Failure;

use crate::{Program, Set, minimal, nginx};

/// The server.
pub(crate) struct Backend {
    pub(crate) program: Program,
    pub(crate) port: u16,
}

impl Backend {
    /// Starts nginx without TLS, or the minimal server if nginx is not installed.
    pub(crate) fn start(set: &Set) -> Result<Self, Failure> {
        let (program, port) = match nginx::plain(set)? {
            Some(nginx) => nginx,
            None => minimal::plain(set)?,
        };
        Ok(Self { program, port })
    }
}
