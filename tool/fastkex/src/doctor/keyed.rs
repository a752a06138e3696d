//! Configurations of lines with a key and a value: stunnel, curl, and others.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::effective::{Effective, Endpoint, Otherwise, Setting, is_groups_command};
use super::files::{Files, Place};
use crate::groups::Role;

/// The maximum depth of includes.
const MOST_DEPTH: usize = 20;

/// Splits a line into key and value: at the first `=`, or at a blank if `or_blank`. Quotes around
/// the value are removed.
fn key_and_value(line: &str, or_blank: bool) -> Option<(&str, &str)> {
    let is_separator = |c: char| c == '=' || or_blank && (c.is_whitespace() || c == ':');
    let at = line.find(is_separator)?;
    let (key, value) = line.split_at(at);
    let value = value.trim_start_matches(|c: char| is_separator(c) || c.is_whitespace()).trim();
    Some((key.trim(), value.trim_matches(['"', '\''])))
}

/// Returns the lines of a file that are no comments, each with its place.
fn lines<'a>(
    text: &'a str,
    name: &Rc<str>,
    comments: &'static [char],
) -> impl Iterator<Item = (Place, &'a str)> {
    let name = Rc::clone(name);
    text.trim_start_matches('\u{feff}').lines().enumerate().filter_map(move |(number, line)| {
        let line = line.trim();
        let place = Place { file: Rc::clone(&name), line: number + 1 };
        (!line.is_empty() && !line.starts_with(comments)).then_some((place, line))
    })
}

/// The part of a stunnel configuration that belongs to one service, or before all services.
#[derive(Clone, Default)]
struct Service {
    name: String,
    place: Option<Place>,
    is_client: bool,
    /// True if another service hands connections to it, which then have that service's groups.
    is_slave: bool,
    curves: Option<Setting>,
    newest: Option<(Place, String)>,
}

/// Reads stunnel's configurations: each is a process of its own.
///
/// A service takes its groups from its last line `curves`, then from the last one before all
/// services, and otherwise from stunnel, not from OpenSSL. (Tried with stunnel 5.68.)
pub(super) fn stunnel(files: &Files, configurations: &[PathBuf]) -> Effective {
    let mut effective = Effective::default();
    for path in configurations {
        let mut services = vec![Service::default()];
        stunnel_file(files, path, 0, &mut services, &mut effective);
        // Without services there is one, by the lines that would come before them.
        let is_alone = services.len() == 1;
        for service in services.into_iter().skip(usize::from(!is_alone)) {
            if service.is_slave {
                if let Some(setting) = &service.curves {
                    effective
                        .idle(setting, "the service that its line sni names chooses the group");
                }
                continue;
            }
            let place = match &service.place {
                Some(place) => place.to_string(),
                None => files.name(path).to_string(),
            };
            effective.add(Endpoint {
                name: format!("service {} at {place}", service.name),
                role: if service.is_client { Role::Client } else { Role::Server },
                setting: service.curves,
                otherwise: Otherwise::OfApplication,
                home: format!("in the service at {place}"),
                line: "curves = {}",
                without_tls13: service.newest.map(|(place, line)| {
                    (format!("'{line}' at {place}"), format!("{place}\nsslVersionMax = TLSv1.3"))
                }),
            });
        }
    }
    effective
}

fn stunnel_file(
    files: &Files,
    path: &Path,
    depth: usize,
    services: &mut Vec<Service>,
    effective: &mut Effective,
) {
    let text = match files.text(path) {
        _ if depth > MOST_DEPTH => Err(format!("{}: too many includes", files.name(path))),
        text => text,
    };
    let text = match text {
        Ok(text) => text,
        Err(problem) => return effective.problems.push(problem),
    };
    let name = files.name(path);
    for (place, line) in lines(&text, &name, &['#', ';']) {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.trim_end_matches(']').to_owned();
            let global = services.first().cloned().unwrap_or_default();
            services.push(Service { name, place: Some(place), ..global });
            continue;
        }
        let Some((key, value)) = key_and_value(line, false) else { continue };
        let Some(service) = services.last_mut() else { continue };
        match key.to_lowercase().as_str() {
            "include" => {
                for path in files.all_below(Path::new(value)) {
                    if files.is_file(&path) && path.parent() == Some(Path::new(value)) {
                        stunnel_file(files, &path, depth + 1, services, effective);
                    }
                }
            }
            "client" => service.is_client = value == "yes",
            "sni" => service.is_slave = value.contains(':'),
            "curves" | "curve" => {
                let (line, list) = (line.to_owned(), value.to_owned());
                let setting = Setting { place, line, list };
                effective.see(&setting);
                if let Some(earlier) = service.curves.replace(setting)
                    && services.len() == 1
                {
                    effective.idle(&earlier, "a later line replaces it");
                }
            }
            "config" if value.to_lowercase().starts_with("groups:") => {
                let (line, list) = (line.to_owned(), value[7..].trim().to_owned());
                effective.idle(
                    &Setting { place, line, list },
                    "stunnel sets its own groups after it: write 'curves = ...' instead",
                );
            }
            "sslversion" | "sslversionmax" => {
                let is_new = ["all", "TLSv1.3"].iter().any(|name| name.eq_ignore_ascii_case(value));
                service.newest = (!is_new).then(|| (place, line.to_owned()));
            }
            _ => {}
        }
    }
}

/// Reads curl's configuration: the first of the files that is there.
pub(super) fn curl(files: &Files, candidates: &[PathBuf]) -> Effective {
    let mut effective = Effective::default();
    let mut there = candidates.iter().filter(|path| files.is_file(path));
    let (mut setting, mut newest) = (None, None);
    if let Some(path) = there.next() {
        match files.text(path) {
            Ok(text) => {
                for (place, line) in lines(&text, &files.name(path), &['#']) {
                    let Some((key, value)) = key_and_value(line.trim_start_matches('-'), true)
                    else {
                        continue;
                    };
                    match key {
                        "curves" => {
                            let (line, list) = (line.to_owned(), value.to_owned());
                            let line = Setting { place, line, list };
                            effective.see(&line);
                            if let Some(earlier) = setting.replace(line) {
                                effective.idle(&earlier, "a later line replaces it");
                            }
                        }
                        "tls-max" if !["1.3", "default"].contains(&value) => {
                            newest = Some((
                                format!("'{line}' at {place}"),
                                format!("{place}\ntls-max = 1.3"),
                            ));
                        }
                        _ => {}
                    }
                }
            }
            Err(problem) => effective.problems.push(problem),
        }
    }
    effective.add(Endpoint {
        name: "connections".to_owned(),
        role: Role::Client,
        setting,
        otherwise: Otherwise::OfOpenSsl,
        home: candidates.first().map_or(String::new(), |path| format!("in {}", files.name(path))),
        line: "curves = {}",
        without_tls13: newest,
    });
    effective
}

/// The keys of a simple configuration.
#[derive(Clone, Copy)]
pub(super) struct Keys {
    /// The keys that set groups; the last line with any of them counts.
    pub(super) names: &'static [&'static str],
    /// The line that sets groups; `{}` stands for the list.
    pub(super) line: &'static str,
    /// Whether a blank may stand between key and value.
    pub(super) or_blank: bool,
    /// The characters that separate the groups of a list.
    pub(super) separators: &'static [char],
    pub(super) role: Role,
    pub(super) otherwise: Otherwise,
}

/// Reads files of lines with a key and a value. The last line with a key counts.
pub(super) fn keys(files: &Files, paths: &[PathBuf], keys: &Keys) -> Effective {
    let mut effective = Effective::default();
    let mut setting: Option<Setting> = None;
    for path in paths {
        let text = match files.text(path) {
            Ok(text) => text,
            Err(problem) => {
                effective.problems.push(problem);
                continue;
            }
        };
        for (place, line) in lines(&text, &files.name(path), &['#', ';', '!']) {
            let Some((key, value)) = key_and_value(line, keys.or_blank) else { continue };
            if !keys.names.iter().any(|name| name.eq_ignore_ascii_case(key)) {
                continue;
            }
            let groups = value.split(keys.separators).filter(|group| !group.is_empty());
            let list = groups.collect::<Vec<_>>().join(":");
            let line = Setting { place, line: line.to_owned(), list };
            effective.see(&line);
            if let Some(earlier) = setting.replace(line) {
                effective.idle(&earlier, "a later line replaces it");
            }
        }
    }
    effective.add(Endpoint {
        name: "connections".to_owned(),
        role: keys.role,
        setting,
        otherwise: keys.otherwise,
        home: paths.first().map_or(String::new(), |path| format!("in {}", files.name(path))),
        line: keys.line,
        without_tls13: None,
    });
    effective
}

/// Reads Postfix's configuration, whose list replaces OpenSSL's.
///
/// Postfix knows groups by OpenSSL's numbers only, and ignores the names of ours. A list with no
/// other names leaves the groups to OpenSSL's configuration. (Tried with Postfix 3.7. Its release
/// notes say that from 3.10 on an empty list does so, too; that was not tried.)
pub(super) fn postfix(files: &Files, main: &Path) -> Effective {
    let of_names = Keys {
        names: &["tls_eecdh_auto_curves"],
        line: "tls_eecdh_auto_curves = {}",
        or_blank: false,
        separators: &[' ', '\t', ',', ':'],
        role: Role::Server,
        otherwise: Otherwise::OfApplication,
    };
    let mut effective = keys(files, &[main.to_path_buf()], &of_names);
    let mut endpoints = std::mem::take(&mut effective.endpoints);
    for endpoint in &mut endpoints {
        endpoint.line = "tls_eecdh_auto_curves = X25519MLKEM768     # alone: then OpenSSL's configuration counts";
        let Some(setting) = endpoint.setting.take() else { continue };
        let mut names = setting.list.split(':').filter(|name| !name.is_empty()).peekable();
        let is_left_to_openssl =
            names.peek().is_some() && names.all(|name| kex::group_named(name).is_some());
        if is_left_to_openssl {
            endpoint.otherwise = Otherwise::OfOpenSsl;
            effective.notes.push(format!(
                "{}: '{}': this Postfix ignores these names, and so leaves the groups to OpenSSL's configuration",
                setting.place, setting.line
            ));
            effective.settings.clear();
        } else {
            let why =
                "this Postfix knows groups by OpenSSL's numbers only: it offers the others of them";
            effective.idle(&setting, why);
        }
    }
    effective.endpoints = endpoints;
    effective
}

/// Reads lighttpd's configuration: `ssl.openssl.ssl-conf-cmd = ("Groups" => "...")`.
pub(super) fn lighttpd(files: &Files, paths: &[PathBuf]) -> Effective {
    const KEY: &str = "ssl.openssl.ssl-conf-cmd";
    let mut effective = Effective::default();
    let mut setting: Option<Setting> = None;
    for path in paths {
        let text = match files.text(path) {
            Ok(text) => text,
            Err(problem) => {
                effective.problems.push(problem);
                continue;
            }
        };
        let all: Vec<_> = lines(&text, &files.name(path), &['#']).collect();
        for (number, (place, line)) in all.iter().enumerate() {
            if !line.starts_with(KEY) {
                continue;
            }
            // The value goes on to the end of its parentheses.
            let mut value = String::new();
            for (_, line) in &all[number..] {
                value.push_str(line);
                if line.contains(')') {
                    break;
                }
            }
            let quoted: Vec<_> = value.split('"').skip(1).step_by(2).collect();
            let mut pairs = quoted.chunks_exact(2);
            let list = pairs.rfind(|pair| is_groups_command(pair[0]));
            let Some(list) = list.map(|pair| pair[1].to_owned()) else { continue };
            let line = Setting { place: place.clone(), line: (*line).to_owned(), list };
            effective.see(&line);
            if let Some(earlier) = setting.replace(line) {
                let note = format!("{}: conditions around such lines are not evaluated", place);
                effective.notes.push(note);
                effective.idle(&earlier, "a later line replaces it where both apply");
            }
        }
    }
    effective.add(Endpoint {
        name: "connections".to_owned(),
        role: Role::Server,
        setting,
        otherwise: Otherwise::OfOpenSsl,
        home: paths.first().map_or(String::new(), |path| format!("in {}", files.name(path))),
        line: "ssl.openssl.ssl-conf-cmd += (\"Groups\" => \"{}\")",
        without_tls13: None,
    });
    effective
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::files;
    use super::*;

    fn lists(effective: &Effective) -> Vec<Option<&str>> {
        let settings = effective.endpoints.iter().map(|endpoint| endpoint.setting.as_ref());
        settings.map(|setting| setting.map(|setting| setting.list.as_str())).collect()
    }

    /// Tried with stunnel 5.68.
    #[test]
    fn the_groups_are_those_that_stunnel_takes() {
        let (_folder, files) = files(&[
            (
                "etc/stunnel/a.conf",
                "; curves = no\ncurves = G\ninclude = /etc/stunnel/conf.d\n[a]\naccept = 1\n[b]\ncurves = B\n\
                 [c]\ncurves = B\ncurves = C\n[d]\nCURVE=D\nclient = yes\n[e]\nsni = d:x\ncurves = E\n\
                 [f]\nconfig = Groups:F\nsslVersionMax = TLSv1.2\n",
            ),
            ("etc/stunnel/conf.d/x.conf", "[x]\nconnect = 1\n"),
            ("etc/stunnel/b.conf", "[y]\nconnect = 1\n"),
            ("etc/stunnel/c.conf", "connect = 1\n"),
        ]);
        let paths = ["a", "b", "c"].map(|name| PathBuf::from(format!("/etc/stunnel/{name}.conf")));
        let effective = stunnel(&files, &paths);
        let expected =
            [Some("G"), Some("G"), Some("B"), Some("C"), Some("D"), Some("G"), None, None];
        assert_eq!(lists(&effective), expected);
        assert_eq!(effective.endpoints[4].role, Role::Client);
        let without: Vec<_> =
            effective.endpoints.iter().filter(|e| e.without_tls13.is_some()).collect();
        assert!(without.len() == 1 && without[0].name.starts_with("service f"), "{without:?}");
        let idle: Vec<_> =
            effective.idle_lines().map(|(setting, _)| setting.list.as_str()).collect();
        assert_eq!(idle, ["B", "E", "F"], "{idle:?}");
    }

    #[test]
    fn lines_of_keys_are_read() {
        let (_folder, files) = files(&[
            ("curlrc", "# curves = no\nsilent\n--curves A:B\ncurves = \"C\"\ntls-max 1.2\n"),
            ("pg", "ssl = on\nssl_groups = 'X:Y'\n#ssl_groups = no\n"),
            (
                "lighttpd",
                "ssl.engine = \"enable\"\nssl.openssl.ssl-conf-cmd = (\n \"MinProtocol\" => \"TLSv1.2\",\n\
                 \"Groups\" => \"L:M\",\n)\n",
            ),
            ("hostile", "=\n=a\ncurves\ncurves =\nssl.openssl.ssl-conf-cmd\n[\n[x\ninclude = /\n"),
        ]);
        let at = |name: &str| vec![PathBuf::from(format!("/{name}"))];
        let effective = curl(&files, &[PathBuf::from("/none"), PathBuf::from("/curlrc")]);
        assert_eq!(lists(&effective), [Some("C")]);
        assert!(effective.endpoints[0].without_tls13.is_some());
        let keys_of_pg = Keys {
            names: &["ssl_groups"],
            line: "ssl_groups = '{}'",
            or_blank: true,
            separators: &[':'],
            role: Role::Server,
            otherwise: Otherwise::OfApplication,
        };
        assert_eq!(lists(&keys(&files, &at("pg"), &keys_of_pg)), [Some("X:Y")]);
        assert_eq!(lists(&lighttpd(&files, &at("lighttpd"))), [Some("L:M")]);
        drop((curl(&files, &at("hostile")), lighttpd(&files, &at("hostile"))));
        for (list, otherwise, idle) in [
            ("X25519MLKEM768", Otherwise::OfOpenSsl, 0),
            ("X25519MLKEM768 X25519, prime256v1", Otherwise::OfApplication, 1),
            ("", Otherwise::OfApplication, 1),
        ] {
            let (_folder, files) = super::super::files::tests::files(&[(
                "main.cf",
                &format!("tls_eecdh_auto_curves = {list}\n"),
            )]);
            let effective = postfix(&files, Path::new("/main.cf"));
            let endpoint = &effective.endpoints[0];
            assert_eq!(
                (endpoint.otherwise, effective.idle_lines().count()),
                (otherwise, idle),
                "{list}"
            );
        }
        assert!(!stunnel(&files, &at("hostile")).problems.is_empty());
    }
}
