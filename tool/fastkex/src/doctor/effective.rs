//! The groups that an application's own configuration gives to each kind of connection.

use super::files::Place;
use crate::groups::Role;

/// A line of a configuration that sets groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) place: Place,
    /// The line without blanks around it.
    pub(super) line: String,
    /// The list of groups.
    pub(super) list: String,
}

/// The groups of connections that have no line of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// Those of OpenSSL's configuration.
    OfOpenSsl,
    /// The application's own list.
    OfApplication,
}

/// A listening socket, or connections that are made in one way.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    /// Its name for people, such as `listen *:443`.
    pub(super) name: String,
    pub(super) role: Role,
    /// The line that sets its groups.
    pub(super) setting: Option<Setting>,
    pub(super) otherwise: Otherwise,
    /// The place for people where a line that sets its groups belongs, and that line; `{}` stands
    /// for the list.
    pub(super) home: String,
    pub(super) line: &'static str,
    /// The reason why it has no TLS 1.3, and the change that gives it: its last line is the line of
    /// a configuration, or says what to remove.
    pub(super) without_tls13: Option<(String, String)>,
}

/// The effect of a configuration.
#[derive(Debug, Default)]
pub(super) struct Effective {
    pub(super) endpoints: Vec<Endpoint>,
    /// All lines that set groups, whether or not they have an effect, and why not if they have none.
    pub(super) settings: Vec<(Setting, Option<String>)>,
    /// What could not be read.
    pub(super) problems: Vec<String>,
    /// What was read but not evaluated.
    pub(super) notes: Vec<String>,
}

impl Effective {
    /// Adds a line that sets groups.
    pub(super) fn see(&mut self, setting: &Setting) {
        if !self.settings.iter().any(|(seen, _)| seen.place == setting.place && seen == setting) {
            self.settings.push((setting.clone(), None));
        }
    }

    /// Says why a line has no effect, unless it has some elsewhere.
    pub(super) fn idle(&mut self, setting: &Setting, reason: impl Into<String>) {
        self.see(setting);
        let found = self.settings.iter_mut().find(|(seen, _)| seen == setting);
        if let Some((_, why)) = found {
            why.get_or_insert(reason.into());
        }
    }

    /// Returns the lines that have no effect on any connection, and the reason.
    pub(super) fn idle_lines(&self) -> impl Iterator<Item = (&Setting, &str)> {
        let is_used = |setting: &Setting| {
            self.endpoints.iter().any(|endpoint| endpoint.setting.as_ref() == Some(setting))
        };
        let idle = self.settings.iter().filter(move |(setting, _)| !is_used(setting));
        idle.map(|(setting, reason)| {
            (setting, reason.as_deref().unwrap_or("no TLS connection uses it"))
        })
    }
}

/// True if a command of `SSL_CONF_cmd(3)` sets groups.
pub(super) fn is_groups_command(command: &str) -> bool {
    ["Groups", "Curves", "ECDHParameters"].iter().any(|name| name.eq_ignore_ascii_case(command))
}
