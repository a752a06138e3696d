//! The groups that an application's own configuration gives to each kind of connection.

use super::files::Place;
use crate::groups::Role;

/// The maximum number of lines, and of sockets and the like, that are compared with one another.
pub(super) const MOST: usize = 5000;

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
    /// All lines that set groups, whether or not they have an effect, and why not if they have
    /// none.
    pub(super) settings: Vec<(Setting, Option<String>)>,
    /// Files that could not be read, with the reason.
    pub(super) problems: Vec<String>,
    /// Lines that were read but not evaluated, and other remarks.
    pub(super) notes: Vec<String>,
}

impl Effective {
    /// Adds an endpoint.
    pub(super) fn add(&mut self, endpoint: Endpoint) {
        if self.endpoints.len() < MOST {
            self.endpoints.push(endpoint);
        } else {
            self.too_many();
        }
    }

    /// Says once that not everything was compared.
    pub(super) fn too_many(&mut self) {
        let problem = format!("more than {MOST} lines or sockets of one kind");
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds a line that sets groups.
    pub(super) fn see(&mut self, setting: &Setting) {
        if self.settings.len() >= MOST {
            self.too_many();
        } else if !self
            .settings
            .iter()
            .any(|(seen, _)| seen.place == setting.place && seen == setting)
        {
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

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::super::files::tests::files;
    use super::super::{apache, haproxy, keyed, nginx};
    use super::*;

    /// Files of any text are read, without a panic and in time.
    #[test]
    fn texts_by_chance_are_read() {
        const WORDS: [&str; 40] = [
            "server",
            "listen",
            "443",
            "ssl",
            "{",
            "}",
            ";",
            "\n",
            "\"",
            "'",
            "\\",
            "#",
            "http",
            "include",
            "/f",
            "*",
            "[",
            "]",
            "<VirtualHost",
            ">",
            "</VirtualHost>",
            "SSLEngine on",
            "SSLOpenSSLConfCmd",
            "Groups",
            "${",
            "global\n",
            "bind",
            "curves",
            "=",
            ":",
            "ssl_ecdh_curve",
            "\u{e9}",
            "\0",
            "[a]\n",
            "ssl.openssl.ssl-conf-cmd",
            "(",
            ")",
            "crt-list",
            "default_server",
            "tls_eecdh_auto_curves",
        ];
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize
        };
        let mut endpoints = 0;
        for _ in 0..300 {
            let mut text = String::new();
            for _ in 0..next() % 60 {
                text.push_str(WORDS[next() % WORDS.len()]);
                text.push_str(["", " ", "\n"][next() % 3]);
            }
            let (_folder, files) = files(&[("f", &text)]);
            let (path, paths) = (Path::new("/f"), [PathBuf::from("/f")]);
            for effective in [
                nginx::read(&files, path, None),
                apache::read(&files, path, Some(path)),
                haproxy::read(&files, path),
                keyed::stunnel(&files, &paths),
                keyed::curl(&files, &paths),
                keyed::lighttpd(&files, &paths),
                keyed::postfix(&files, path),
            ] {
                endpoints += effective.endpoints.len() + effective.idle_lines().count();
            }
        }
        assert!(endpoints > 300, "{endpoints}");
    }

    #[test]
    fn there_is_a_limit_to_what_is_compared() {
        let servers: String = (0..=MOST)
            .map(|port| format!("server {{ listen {port} ssl; ssl_ecdh_curve a; }}\n"))
            .collect();
        let (_folder, files) = files(&[("f", &format!("http {{ {servers} }}"))]);
        let effective = nginx::read(&files, Path::new("/f"), None);
        assert_eq!((effective.endpoints.len(), effective.settings.len()), (MOST, MOST));
        assert!(effective.problems[0].contains("more than 5000"), "{:?}", effective.problems);
    }
}
