//! Stock browsers without a window, which load pages and tell the group of their connection.

mod chromium;
mod firefox;
mod messages;

use output::Failure;

use crate::{Server, Signal, Stage, is_installed};

/// A kind of browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrowserKind {
    /// Chromium, with BoringSSL.
    Chromium,
    /// Firefox, with NSS.
    Firefox,
}

/// A running browser, with a home folder of its own in a stage. It accepts any certificate. It ends
/// when it is dropped, or with the stage. A stage has one of each kind at most.
pub struct Browser<'a> {
    kind: BrowserKind,
    stage: &'a Stage,
    server: Server,
    automation: Box<dyn Automation>,
}

/// A page that a browser has loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// Its text.
    pub page: String,
    /// The group of the connection by which it came, in the browser's own words.
    pub group: String,
}

/// The automation of a browser.
trait Automation {
    fn version(&self) -> &str;

    fn load(&mut self, address: &str) -> Result<Loaded, Failure>;
}

/// A browser's process, and its automation if it answers.
type Launched = (Server, Result<Box<dyn Automation>, Failure>);

/// A group, and the browsers' words for it.
const WORDS: [(&str, &str, &str); 2] =
    [("X25519MLKEM768", "X25519MLKEM768", "mlkem768x25519"), ("X25519", "X25519", "x25519")];

impl BrowserKind {
    /// All kinds.
    pub const ALL: [Self; 2] = [Self::Chromium, Self::Firefox];

    /// Returns the browser's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chromium => "Chromium",
            Self::Firefox => "Firefox",
        }
    }

    /// Returns the name of the program, and of the Debian package that has it.
    pub fn program(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox-esr",
        }
    }

    /// Returns true if the browser is installed.
    pub fn is_installed(self) -> bool {
        is_installed(self.program())
    }

    /// Returns the browser's word for a group, if it has the group and tells it.
    pub fn word_for(self, group: &str) -> Option<&'static str> {
        let (_, chromium, firefox) = WORDS.iter().find(|(name, ..)| *name == group)?;
        Some(match self {
            Self::Chromium => chromium,
            Self::Firefox => firefox,
        })
    }
}

impl<'a> Browser<'a> {
    /// Starts a browser.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not answer.
    pub fn start(stage: &'a Stage, kind: BrowserKind) -> Result<Self, Failure> {
        let (server, automation) = match kind {
            BrowserKind::Chromium => chromium::start(stage, kind)?,
            BrowserKind::Firefox => firefox::start(stage, kind)?,
        };
        let automation = automation.map_err(|failure| explain(kind, stage, &server, &failure))?;
        Ok(Self { kind, stage, server, automation })
    }

    /// Returns name and version: `Chromium 156.0.8078.79`.
    pub fn name(&self) -> String {
        format!("{} {}", self.kind.name(), self.automation.version())
    }

    /// Loads a page of text.
    ///
    /// # Errors
    /// It does not come, or the browser does not tell the group.
    pub fn load(&mut self, address: &str) -> Result<Loaded, Failure> {
        let loaded = self.automation.load(address);
        loaded.map_err(|failure| explain(self.kind, self.stage, &self.server, &failure))
    }
}

impl Drop for Browser<'_> {
    fn drop(&mut self) {
        // The stage waits for its end.
        let _ = self.stage.signal(&self.server, Signal::TERM);
    }
}

/// Adds the browser's name to a failure, and if the browser has ended, its last words.
fn explain(kind: BrowserKind, stage: &Stage, server: &Server, failure: &Failure) -> Failure {
    let name = kind.name();
    match stage.end_of(server) {
        Ok(Some(status)) => {
            let log = server.log().unwrap_or_default();
            let last = log.lines().next_back().unwrap_or("it said nothing");
            Failure::new(format!("{name}: {failure}; it ended ({status}): {last}"))
        }
        _ => Failure::new(format!("{name}: {failure}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_have_words_of_their_own() {
        let words = |group: &str| BrowserKind::ALL.map(|kind| kind.word_for(group));
        assert_eq!(words("X25519MLKEM768"), [Some("X25519MLKEM768"), Some("mlkem768x25519")]);
        assert_eq!(words("sntrup761"), [None; 2]);
    }
}
