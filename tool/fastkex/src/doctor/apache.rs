//! Apache's configuration, as Apache reads it.
//!
//! OpenSSL chooses the group before Apache knows the name of the host that a client asks for, so
//! the groups are those of the first virtual host of an address. Lines in its other hosts have no
//! effect. SSLProtocol counts for each host. (Tried with Apache 2.4.)

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::effective::{Effective, Endpoint, MOST, Otherwise, Setting, is_groups_command};
use super::files::{Files, Place, is_pattern};
use crate::groups::Role;

/// The maximum depth of includes and of sections.
const MOST_DEPTH: usize = 50;
/// The maximum number of lines of all files.
const MOST_LINES: usize = 1_000_000;
/// The maximum number of addresses of a virtual host.
const MOST_ADDRESSES: usize = 20;
/// The maximum length of a line with its variables replaced, in bytes.
const MOST_LINE: usize = 1 << 16;

/// The line that sets groups.
const LINE: &str = "SSLOpenSSLConfCmd Groups {}";

/// Modules that are part of the program, whose names `<IfModule>` may ask for.
const STATIC_MODULES: [&str; 10] = [
    "core.c",
    "core_module",
    "mod_so.c",
    "so_module",
    "http_core.c",
    "http_module",
    "mod_log_config.c",
    "log_config_module",
    "mod_version.c",
    "version_module",
];

/// The lines that belong to the main server or to one virtual host.
#[derive(Default)]
struct Host {
    place: Option<Place>,
    addresses: Vec<String>,
    engine: Option<bool>,
    protocol: Option<(Place, String)>,
    groups: Vec<Setting>,
}

struct Reader<'a> {
    files: &'a Files,
    server_root: PathBuf,
    defined: HashMap<String, String>,
    modules: HashSet<String>,
    /// The main server, and after it the virtual hosts.
    hosts: Vec<Host>,
    /// The index of the host whose section is open.
    open: usize,
    lines: usize,
    problems: Vec<String>,
    notes: Vec<String>,
}

/// Reads the configuration whose main file is `main`. `variables` is a shell script with variables
/// for it.
pub(super) fn read(files: &Files, main: &Path, variables: Option<&Path>) -> Effective {
    let mut reader = Reader {
        files,
        server_root: main.parent().unwrap_or(Path::new("/")).to_path_buf(),
        defined: HashMap::new(),
        modules: STATIC_MODULES.iter().map(|name| (*name).to_owned()).collect(),
        hosts: vec![Host::default()],
        open: 0,
        lines: 0,
        problems: Vec::new(),
        notes: Vec::new(),
    };
    for line in variables.and_then(|path| files.text(path).ok()).unwrap_or_default().lines() {
        let line = line.trim().trim_start_matches("export ").trim();
        // Debian's script has an empty suffix for the only instance.
        if let Some((name, value)) = line.split_once('=') {
            let value = value.trim_matches(['"', '\'']).replace("$SUFFIX", "");
            reader.defined.insert(name.to_owned(), value);
        }
    }
    reader.file(main, 0);
    let mut effective =
        Effective { problems: reader.problems, notes: reader.notes, ..Effective::default() };
    hosts(&reader.hosts, &mut effective);
    effective
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: usize) {
        let name = self.files.name(path);
        if depth > MOST_DEPTH {
            return self.problem(format!("{name}: more than {MOST_DEPTH} includes"));
        }
        let text = match self.files.text(path) {
            Ok(text) => text,
            Err(problem) => return self.problem(problem),
        };
        // The sections of this file that are open; a section that does not count hides its lines.
        let mut sections: Vec<(String, bool)> = Vec::new();
        let mut lines = text.lines().enumerate();
        while let Some((number, line)) = lines.next() {
            let mut line = line.trim().to_owned();
            while line.ends_with('\\') && line.len() < MOST_LINE {
                line.pop();
                let Some((_, more)) = lines.next() else { break };
                line.push_str(more.trim_end());
            }
            self.lines += 1;
            if self.lines > MOST_LINES {
                return self.problem(format!("{name}: more than {MOST_LINES} lines"));
            }
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let place = Place { file: Rc::clone(&name), line: number + 1 };
            let is_hidden = sections.iter().any(|(_, counts)| !counts);
            if let Some(section) = line.strip_prefix("</") {
                let section = section.trim_end_matches('>').trim().to_lowercase();
                match sections.pop() {
                    Some((open, _)) if open == section => {}
                    _ => self.problem(format!("{place}: '{line}' closes no open section")),
                }
                if section == "virtualhost" && !is_hidden {
                    self.open = 0;
                }
                continue;
            }
            if line.starts_with('<') {
                if sections.len() >= MOST_DEPTH {
                    return self.problem(format!("{place}: more than {MOST_DEPTH} sections"));
                }
                let section = line.trim_start_matches('<').trim_end_matches('>');
                let words = words(&self.replaced(section));
                let section = words.first().map_or(String::new(), |word| word.to_lowercase());
                let counts =
                    is_hidden || self.enter(&section, words.get(1..).unwrap_or(&[]), &place);
                sections.push((section, counts));
                continue;
            }
            if !is_hidden {
                let words = words(&self.replaced(&line));
                self.directive(&words, place, depth);
            }
        }
        if let Some((section, _)) = sections.last() {
            self.problem(format!("{name}: the section '{section}' has no end"));
            self.open = 0;
        }
    }

    fn problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Opens a section. Returns false if its lines do not count.
    fn enter(&mut self, section: &str, arguments: &[String], place: &Place) -> bool {
        let argument = arguments.first().map_or("", String::as_str);
        let (name, is_negated) = match argument.strip_prefix('!') {
            Some(name) => (name, true),
            None => (argument, false),
        };
        match section {
            "ifmodule" => self.modules.contains(name) != is_negated,
            "ifdefine" => self.defined.contains_key(name) != is_negated,
            "iffile" => {
                let path = self.server_root.join(name);
                self.files.is_file(&path) != is_negated
            }
            "virtualhost" if self.hosts.len() >= MOST => {
                self.problem(format!("more than {MOST} virtual hosts"));
                false
            }
            "virtualhost" => {
                let addresses = arguments.iter().take(MOST_ADDRESSES);
                let addresses = addresses.map(|text| address(text)).collect();
                let place = Some(place.clone());
                self.hosts.push(Host { place, addresses, ..Host::default() });
                self.open = self.hosts.len() - 1;
                true
            }
            "macro" => {
                self.notes.push(format!("{place}: macros are not evaluated"));
                false
            }
            _ => true,
        }
    }

    fn directive(&mut self, words: &[String], place: Place, depth: usize) {
        let name = words.first().map_or(String::new(), |word| word.to_lowercase());
        let argument = words.get(1).map_or("", String::as_str);
        let host = &mut self.hosts[self.open];
        match name.as_str() {
            "include" | "includeoptional" => {
                for path in self.files.matching(&self.server_root, argument) {
                    let is_alone = !is_pattern(argument);
                    // A folder stands for all files below it.
                    let paths = self.files.all_below(&path);
                    for path in paths {
                        if name == "include" && is_alone || self.files.is_file(&path) {
                            self.file(&path, depth + 1);
                        }
                    }
                }
            }
            "define" => {
                let value = words.get(2).cloned().unwrap_or_default();
                self.defined.insert(argument.to_owned(), value);
            }
            "undefine" => drop(self.defined.remove(argument)),
            "serverroot" => self.server_root = PathBuf::from(argument),
            "loadmodule" => {
                self.modules.insert(argument.to_owned());
                if let Some(file) = words.get(2).and_then(|path| Path::new(path).file_stem()) {
                    self.modules.insert(format!("{}.c", file.to_string_lossy()));
                }
            }
            "sslengine" => host.engine = Some(!argument.eq_ignore_ascii_case("off")),
            "sslprotocol" => host.protocol = Some((place, words.join(" "))),
            "sslopensslconfcmd" if is_groups_command(argument) => {
                let list = words.get(2).cloned().unwrap_or_default();
                host.groups.push(Setting { place, line: words.join(" "), list });
            }
            "use" => self.notes.push(format!("{place}: macros are not evaluated")),
            _ => {}
        }
    }

    /// Replaces `${NAME}` by what is defined.
    fn replaced(&self, line: &str) -> String {
        let (mut text, mut rest) = (String::new(), line);
        while let Some((before, after)) = rest.split_once("${") {
            text.push_str(before);
            let Some((name, after)) = after.split_once('}') else {
                rest = after;
                break;
            };
            match self.defined.get(name) {
                Some(value) if text.len() + value.len() < MOST_LINE => text.push_str(value),
                _ => text.push_str(&format!("${{{name}}}")),
            }
            rest = after;
        }
        text + rest
    }
}

/// Splits a line into words, which may be quoted.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut characters) = (Vec::new(), line.chars().peekable());
    loop {
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        let quote = characters.next_if(|c| matches!(c, '"' | '\''));
        let mut word = String::new();
        let mut is_word = quote.is_some();
        while let Some(c) = characters.next() {
            match (c, quote) {
                ('\\', Some(quote)) if characters.peek() == Some(&quote) => {
                    word.extend(characters.next());
                }
                (c, Some(quote)) if c == quote => break,
                (c, None) if c.is_whitespace() => break,
                (c, _) => word.push(c),
            }
            is_word = true;
        }
        if !is_word {
            return words;
        }
        words.push(word);
    }
}

fn address(text: &str) -> String {
    text.replace("_default_", "*").to_lowercase()
}

/// True if `SSLProtocol` permits TLS 1.3.
fn has_tls13(line: &str) -> bool {
    let mut has_it = false;
    for word in line.split_whitespace().skip(1) {
        let (sign, name) = match word.split_at_checked(1) {
            Some((sign @ ("+" | "-"), name)) => (sign, name),
            _ => ("", word),
        };
        let is_meant = ["all", "TLSv1.3"].iter().any(|other| other.eq_ignore_ascii_case(name));
        has_it = match sign {
            "+" => has_it || is_meant,
            "-" => has_it && !is_meant,
            // A name without a sign replaces what stands before it.
            _ => is_meant,
        };
    }
    has_it
}

fn hosts(hosts: &[Host], effective: &mut Effective) {
    let Some((main, hosts)) = hosts.split_first() else { return };
    let is_tls = |host: &Host| host.engine.or(main.engine).unwrap_or(false);
    // The lines of the main server come before those of a host; the last one counts.
    let setting = |host: &Host| host.groups.last().or(main.groups.last()).cloned();
    let without_tls13 = |host: &Host| {
        let (place, line) = host.protocol.as_ref().or(main.protocol.as_ref())?;
        (!has_tls13(line))
            .then(|| (format!("'{line}' at {place}"), format!("{place}\nSSLProtocol all -SSLv3")))
    };
    for list in [main].into_iter().chain(hosts).map(|host| &host.groups) {
        for setting in list {
            effective.see(setting);
        }
        for earlier in list.iter().rev().skip(1) {
            effective.idle(earlier, "a later line of the same host replaces it");
        }
    }
    let mut addresses: Vec<&String> = Vec::new();
    for address in hosts.iter().flat_map(|host| &host.addresses) {
        if addresses.len() < MOST && !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    for address in addresses {
        let all: Vec<_> = hosts.iter().filter(|host| host.addresses.contains(address)).collect();
        let Some((first, others)) = all.split_first() else { continue };
        let place = first.place.as_ref().map_or(String::new(), ToString::to_string);
        if !is_tls(first) {
            for host in others.iter().filter(|host| is_tls(host)) {
                if let Some(setting) = setting(host) {
                    let reason = format!(
                        "connections to {address} are without TLS: SSLEngine is not on in its first virtual host, at {place}"
                    );
                    effective.idle(&setting, reason);
                }
            }
            continue;
        }
        for setting in others.iter().filter_map(|host| host.groups.last()) {
            let reason = format!(
                "connections to {address} have the groups of its first virtual host, at {place}"
            );
            effective.idle(setting, reason);
        }
        let what = if others.is_empty() { "in" } else { "in the first one of its address," };
        effective.add(Endpoint {
            name: format!("virtual hosts of {address}"),
            role: Role::Server,
            setting: setting(first),
            otherwise: Otherwise::OfOpenSsl,
            home: format!("{what} the virtual host at {place}"),
            line: LINE,
            without_tls13: all.iter().find_map(|host| without_tls13(host)),
        });
    }
    if main.engine == Some(true) && hosts.is_empty() {
        effective.add(Endpoint {
            name: "the main server".to_owned(),
            role: Role::Server,
            setting: setting(main),
            otherwise: Otherwise::OfOpenSsl,
            home: "outside of virtual hosts".to_owned(),
            line: LINE,
            without_tls13: without_tls13(main),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::files;
    use super::*;

    fn read_files(list: &[(&str, &str)]) -> Effective {
        let (_folder, files) = files(list);
        let main = Path::new("/etc/apache2/apache2.conf");
        read(&files, main, Some(Path::new("/etc/apache2/envvars")))
    }

    /// Writes virtual hosts: an address and lines of each.
    fn hosts(global: &str, hosts: &[(&str, &str)]) -> Effective {
        let mut text = format!("{global}\n");
        for (address, lines) in hosts {
            text += &format!("<VirtualHost {address}>\nSSLEngine on\n{lines}\n</VirtualHost>\n");
        }
        read_files(&[("etc/apache2/apache2.conf", &text)])
    }

    fn lists(effective: &Effective) -> Vec<Option<&str>> {
        let settings = effective.endpoints.iter().map(|endpoint| endpoint.setting.as_ref());
        settings.map(|setting| setting.map(|setting| setting.list.as_str())).collect()
    }

    const A: &str = "SSLOpenSSLConfCmd Groups A";
    const B: &str = "sslopensslconfcmd ECDHParameters B";

    /// Each of these was tried with Apache 2.4.
    #[test]
    fn the_groups_are_those_that_apache_takes() {
        for (global, list, expected) in [
            ("", &[("*:443", A), ("*:443", B)] as &[_], vec![Some("A")]),
            ("", &[("*:443", ""), ("*:443", B)], vec![None]),
            ("", &[("*:443", A), ("*:443", "")], vec![Some("A")]),
            (
                "",
                &[("*:443", "SSLOpenSSLConfCmd Groups A\nSSLOpenSSLConfCmd Groups B")],
                vec![Some("B")],
            ),
            (A, &[("*:443", "")], vec![Some("A")]),
            (A, &[("*:443", B)], vec![Some("B")]),
            (A, &[("*:443", "SSLOpenSSLConfCmd MinProtocol TLSv1.2")], vec![Some("A")]),
            (A, &[("*:443", ""), ("*:443", B)], vec![Some("A")]),
            ("", &[("*:443", A), ("_default_:443 *:444", B)], vec![Some("A"), Some("B")]),
        ] {
            let effective = hosts(global, list);
            assert_eq!(lists(&effective), expected, "{global}, {list:?}");
            assert!(effective.problems.is_empty(), "{:?}", effective.problems);
        }
        let effective = hosts("", &[("*:443", ""), ("*:443", B)]);
        let idle: Vec<_> = effective.idle_lines().collect();
        assert!(idle.len() == 1 && idle[0].1.contains("first virtual host, at "), "{idle:?}");
    }

    #[test]
    fn tls_1_3_is_that_of_each_host() {
        for (line, expected) in [
            ("", true),
            ("SSLProtocol all -SSLv3", true),
            ("SSLProtocol -all +TLSv1.3", true),
            ("SSLProtocol TLSv1.2", false),
            ("SSLProtocol all -TLSv1.3", false),
            ("SSLProtocol -all +TLSv1.2", false),
        ] {
            let effective = hosts("", &[("*:443", ""), ("*:443", line)]);
            assert_eq!(effective.endpoints[0].without_tls13.is_none(), expected, "{line}");
        }
    }

    #[test]
    fn the_syntax_is_apaches() {
        let effective = read_files(&[
            ("etc/apache2/envvars", "export APACHE_DIR=/etc/apache2$SUFFIX\n"),
            (
                "etc/apache2/apache2.conf",
                "Define port 443\nInclude mods/*.load\nIncludeOptional none/*.conf\n\
                 IncludeOptional ${APACHE_DIR}/sites\n# SSLOpenSSLConfCmd Groups no\n",
            ),
            (
                "etc/apache2/mods/ssl.load",
                "LoadModule ssl_module /usr/lib/apache2/modules/mod_ssl.so",
            ),
            (
                "etc/apache2/sites/a.conf",
                "<IfModule mod_ssl.c>\n<VirtualHost *:${port}>\nSSLEngine On\n\
                 SSLOpenSSLConfCmd \\\n  \"Groups\" 'X:Y'\n</VirtualHost>\n</IfModule>\n\
                 <IfModule mod_gnutls.c>\n<VirtualHost *:444>\nSSLEngine on\n</VirtualHost>\n</IfModule>\n\
                 <IfModule !mod_ssl.c>\nSSLOpenSSLConfCmd Groups no\n</IfModule>\n\
                 <IfDefine other>\nSSLOpenSSLConfCmd Groups no\n</IfDefine>\n\
                 <VirtualHost *:80>\n</VirtualHost>\n",
            ),
        ]);
        assert_eq!(lists(&effective), [Some("X:Y")]);
        assert_eq!(effective.endpoints[0].name, "virtual hosts of *:443");
        assert_eq!(effective.settings.len(), 1, "{:?}", effective.settings);
        assert!(effective.problems.is_empty(), "{:?}", effective.problems);
    }

    #[test]
    fn hostile_files_end_with_a_message() {
        let deep = "<a>\n".repeat(10_000);
        let long = format!(
            "Define a {0}\nDefine b ${{a}}${{a}}\n{1}",
            "x".repeat(1 << 16),
            "${b}".repeat(10_000)
        );
        for (text, expected) in [
            ("<VirtualHost *:443>", "has no end"),
            ("</VirtualHost>", "closes no open section"),
            ("<IfModule core.c>\n</VirtualHost>", "closes no open section"),
            ("Include apache2.conf", "more than"),
            ("Include /no/such", "/no/such: "),
            (deep.as_str(), "sections"),
            (long.as_str(), ""),
            ("${", ""),
            ("<", "has no end"),
            ("\\", ""),
        ] {
            let effective = read_files(&[("etc/apache2/apache2.conf", text)]);
            let is_told = effective.problems.iter().any(|problem| problem.contains(expected));
            assert!(is_told || expected.is_empty(), "{expected}: {:?}", effective.problems);
        }
    }
}
