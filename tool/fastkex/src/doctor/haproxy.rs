//! HAProxy's configuration, as HAProxy reads it.
//!
//! A bind line's `curves` come before `ssl-default-bind-curves`, and these before `ecdhe`. The
//! section `global` concerns the lines after it. Groups in a list of certificates (`crt-list`) have
//! no effect, because OpenSSL chooses the group before HAProxy has chosen the certificate. (Tried
//! with HAProxy 2.6.)

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use super::effective::{Effective, Endpoint, Otherwise, Setting};
use super::files::{Files, Place};
use crate::groups::Role;

/// The keywords that begin a section.
const SECTIONS: [&str; 17] = [
    "global",
    "defaults",
    "frontend",
    "backend",
    "listen",
    "peers",
    "program",
    "resolvers",
    "userlist",
    "mailers",
    "cache",
    "http-errors",
    "ring",
    "log-forward",
    "fcgi-app",
    "crt-store",
    "traces",
];

/// Settings that hold for all lines that follow.
#[derive(Default)]
struct Defaults {
    bind_curves: Option<Setting>,
    server_curves: Option<Setting>,
    bind_options: Vec<String>,
    server_options: Vec<String>,
}

/// Reads the configuration in the file `main`, or in the files of the folder `main`.
pub(super) fn read(files: &Files, main: &Path) -> Effective {
    let mut effective = Effective::default();
    let mut defaults = Defaults::default();
    for path in files.all_below(main) {
        let is_part = path == main || path.extension().is_some_and(|end| end == "cfg");
        match files.text(&path) {
            _ if !is_part => {}
            Ok(text) => file(files, &path, &text, &mut defaults, &mut effective),
            Err(problem) => effective.problems.push(problem),
        }
    }
    effective
}

fn file(
    files: &Files,
    path: &Path,
    text: &str,
    defaults: &mut Defaults,
    effective: &mut Effective,
) {
    let name = files.name(path);
    let (mut section, mut server_words) = (String::new(), HashMap::new());
    for (number, line) in text.lines().enumerate() {
        let place = Place { file: Rc::clone(&name), line: number + 1 };
        let words = words(line);
        let Some(first) = words.first().map(String::as_str) else { continue };
        if SECTIONS.contains(&first) {
            section = first.to_owned();
            // Defaults hold until the next section of this kind.
            let kept: Option<Vec<String>> = server_words.get("defaults").cloned();
            server_words.clear();
            if section != "defaults"
                && let Some(kept) = kept
            {
                server_words.insert("defaults", kept);
            }
            continue;
        }
        if first.starts_with('.') && [".if", ".elif"].contains(&first) {
            effective.notes.push(format!("{place}: conditions are not evaluated"));
        }
        let setting = |list: &str| Setting {
            place: place.clone(),
            line: words.join(" "),
            list: list.to_owned(),
        };
        let argument = words.get(1).map_or("", String::as_str);
        match (section.as_str(), first) {
            ("global", "ssl-default-bind-curves" | "ssl-default-server-curves") => {
                let setting = setting(argument);
                effective.see(&setting);
                let default = match first {
                    "ssl-default-bind-curves" => &mut defaults.bind_curves,
                    _ => &mut defaults.server_curves,
                };
                if let Some(earlier) = default.replace(setting) {
                    effective.idle(&earlier, format!("the same line at {place} replaces it"));
                } else {
                    effective.idle(
                        &words_setting(&place, &words, argument),
                        "no line after it makes TLS connections without curves of its own",
                    );
                }
            }
            ("global", "ssl-default-bind-options") => {
                defaults.bind_options.extend_from_slice(&words[1..]);
            }
            ("global", "ssl-default-server-options") => {
                defaults.server_options.extend_from_slice(&words[1..]);
            }
            (_, "bind") if words.iter().any(|word| word == "ssl") => {
                bind(files, &place, &words, path, defaults, effective);
            }
            ("defaults", "default-server") => {
                server_words.insert("defaults", words[1..].to_vec());
            }
            (_, "default-server") => {
                server_words.entry("own").or_insert_with(Vec::new).extend_from_slice(&words[1..]);
            }
            (_, "server" | "server-template") => {
                let inherited = ["defaults", "own"].iter().filter_map(|key| server_words.get(key));
                let all: Vec<String> =
                    inherited.flatten().cloned().chain(words.iter().cloned()).collect();
                server(&place, &words, &all, defaults, effective);
            }
            _ => {}
        }
    }
}

fn words_setting(place: &Place, words: &[String], list: &str) -> Setting {
    Setting { place: place.clone(), line: words.join(" "), list: list.to_owned() }
}

/// Returns the word after the last `key`.
fn value<'a>(words: &'a [String], key: &str) -> Option<&'a str> {
    let at = words.iter().rposition(|word| word == key)?;
    words.get(at + 1).map(String::as_str)
}

/// Returns the word that turns TLS 1.3 off. A line's own versions come before the defaults, and
/// `ssl-max-ver` before the older words.
fn without_tls13(own: &[String], defaults: &[String]) -> Option<String> {
    for words in [own, defaults] {
        if let Some(newest) = value(words, "ssl-max-ver") {
            return (newest != "TLSv1.3").then(|| format!("'ssl-max-ver {newest}'"));
        }
        if value(words, "ssl-min-ver").is_some() {
            continue;
        }
        let is_off = |word: &&String| {
            *word == "no-tlsv13" || word.starts_with("force-") && *word != "force-tlsv13"
        };
        if let Some(word) = words.iter().find(is_off) {
            // An own ssl-min-ver, which came before, makes HAProxy ignore the older words.
            return (value(own, "ssl-min-ver").is_none()).then(|| format!("'{word}'"));
        }
    }
    None
}

fn bind(
    files: &Files,
    place: &Place,
    words: &[String],
    main: &Path,
    defaults: &Defaults,
    effective: &mut Effective,
) {
    let own = value(words, "curves").map(|list| words_setting(place, words, list));
    let old = value(words, "ecdhe").map(|list| words_setting(place, words, list));
    let setting = own.or(defaults.bind_curves.clone()).or(old);
    if let Some(setting) = &setting {
        effective.see(setting);
    }
    let name = format!("bind {}", words.get(1).map_or("", String::as_str));
    if let Some(list) = value(words, "crt-list") {
        let folder = main.parent().unwrap_or(Path::new("/"));
        certificates(files, &folder.join(list), &name, effective);
    }
    let reason = without_tls13(&words[1..], &defaults.bind_options);
    effective.add(Endpoint {
        name: format!("{name} at {place}"),
        role: Role::Server,
        setting,
        otherwise: Otherwise::OfOpenSsl,
        home: format!("in section global, before {place}"),
        line: "ssl-default-bind-curves {}",
        without_tls13: reason.map(|reason| {
            let fix = format!("{place}, or the section global before it\nremove {reason}");
            (reason, fix)
        }),
    });
}

/// Reads a list of certificates: files, each with options in brackets.
fn certificates(files: &Files, path: &Path, bind: &str, effective: &mut Effective) {
    let Ok(text) = files.text(path) else {
        effective.problems.push(format!("{}: not readable", files.name(path)));
        return;
    };
    let name = files.name(path);
    for (number, line) in text.lines().enumerate() {
        let Some((_, options)) = line.split_once('[') else { continue };
        let options: Vec<String> = words(options.split(']').next().unwrap_or(options));
        for key in ["curves", "ecdhe"] {
            if let Some(list) = value(&options, key) {
                let place = Place { file: Rc::clone(&name), line: number + 1 };
                let setting =
                    Setting { place, line: line.trim().to_owned(), list: list.to_owned() };
                effective.idle(
                    &setting,
                    format!("OpenSSL chooses the group before HAProxy has chosen the certificate, with the groups of '{bind}'"),
                );
            }
        }
    }
}

fn server(
    place: &Place,
    words: &[String],
    all: &[String],
    defaults: &Defaults,
    effective: &mut Effective,
) {
    let is_last = |on: &str, off: &str| {
        let at = |word: &str| all.iter().rposition(|other| other == word);
        at(on).is_some() && at(on) > at(off)
    };
    if !is_last("ssl", "no-ssl") {
        return;
    }
    let own = value(all, "curves").map(|list| words_setting(place, words, list));
    let setting = own.or(defaults.server_curves.clone());
    if let Some(setting) = &setting {
        effective.see(setting);
    }
    let reason = without_tls13(all, &defaults.server_options);
    effective.add(Endpoint {
        name: format!("server {} at {place}", words.get(1).map_or("", String::as_str)),
        role: Role::Client,
        setting,
        otherwise: Otherwise::OfOpenSsl,
        home: format!("on the line {place} (HAProxy 3.0 and later)"),
        line: "curves {}",
        without_tls13: reason.map(|reason| {
            let fix = format!("{place}, or the section global before it\nremove {reason}");
            (reason, fix)
        }),
    });
}

/// Splits a line into words: quotes, escapes, and comments as HAProxy has them. Variables stay.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_word) = (Vec::new(), String::new(), false);
    let (mut characters, mut quote) = (line.chars(), None);
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                word.extend(characters.next());
                is_word = true;
            }
            ('"' | '\'', None) => {
                quote = Some(c);
                is_word = true;
            }
            (c, Some(open)) if c == open => quote = None,
            ('#', None) => break,
            (c, None) if c.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            (c, _) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::files;
    use super::*;

    fn read_text(text: &str) -> Effective {
        let (_folder, files) = files(&[
            ("etc/haproxy/haproxy.cfg", text),
            ("etc/haproxy/list", "# x\na.pem\nb.pem [curves L alpn h2] b.test\n"),
        ]);
        read(&files, Path::new("/etc/haproxy/haproxy.cfg"))
    }

    const DEFAULT: &str = "global\n ssl-default-bind-curves G\n";

    /// Each of these was tried with HAProxy 2.6.
    #[test]
    fn the_groups_are_those_that_haproxy_takes() {
        for (global, bind, expected) in [
            ("", "bind :1 ssl crt x", None),
            (DEFAULT, "bind :1 ssl crt x", Some("G")),
            (DEFAULT, "bind :1 ssl crt x curves A", Some("A")),
            (DEFAULT, "bind :1 ssl crt x ecdhe A", Some("G")),
            ("", "bind :1 ssl crt x ecdhe A", Some("A")),
            ("", "bind :1 ssl crt x ecdhe A curves B", Some("B")),
            (DEFAULT, "bind :1 ssl crt x curves A curves B", Some("B")),
            ("", "bind \":1\" ssl crt x curves \"A\"", Some("A")),
            ("", "bind :1 ssl crt-list list", None),
            (DEFAULT, "bind :1 ssl crt-list list", Some("G")),
            ("", "bind :1 ssl crt x\nglobal\n ssl-default-bind-curves G", None),
            (
                "global\n ssl-default-bind-curves F\n ssl-default-bind-curves G\n",
                "bind :1 ssl",
                Some("G"),
            ),
        ] {
            let effective = read_text(&format!("{global}frontend f\n {bind}\n bind :2\n"));
            let lists: Vec<_> = effective
                .endpoints
                .iter()
                .map(|endpoint| endpoint.setting.as_ref().map(|setting| setting.list.as_str()))
                .collect();
            assert_eq!(lists, [expected], "{global}{bind}");
            let idle: Vec<_> =
                effective.idle_lines().map(|(setting, _)| setting.list.as_str()).collect();
            assert_eq!(idle.contains(&"L"), bind.contains("crt-list"), "{idle:?}");
            if bind.contains("\nglobal") {
                assert_eq!(idle, ["G"]);
            }
        }
    }

    #[test]
    fn tls_1_3_is_off_where_haproxy_has_it_off() {
        for (global, bind, expected) in [
            ("", "", false),
            ("global\n ssl-default-bind-options ssl-max-ver TLSv1.2\n", "", true),
            (
                "global\n ssl-default-bind-options ssl-max-ver TLSv1.2\n",
                "ssl-max-ver TLSv1.3",
                false,
            ),
            ("global\n ssl-default-bind-options no-tlsv13\n", "", true),
            ("global\n ssl-default-bind-options no-tlsv13\n", "ssl-max-ver TLSv1.3", false),
            ("global\n ssl-default-bind-options no-tlsv13\n", "ssl-min-ver TLSv1.3", false),
            ("", "no-tlsv13", true),
            ("", "force-tlsv12", true),
        ] {
            let effective = read_text(&format!("{global}frontend f\n bind :1 ssl {bind}\n"));
            let is_off = effective.endpoints[0].without_tls13.is_some();
            assert_eq!(is_off, expected, "{global}{bind}");
        }
    }

    #[test]
    fn servers_are_clients() {
        let effective = read_text(
            "global\n ssl-default-server-curves S\ndefaults\n default-server ssl verify none\n\
             backend b\n server one x:443\n server two x:443 no-ssl\n server three x:443 curves T\n\
             backend c\n default-server no-ssl\n server four x:80\n",
        );
        let found: Vec<_> = effective
            .endpoints
            .iter()
            .map(|endpoint| {
                assert_eq!(endpoint.role, Role::Client);
                endpoint.setting.as_ref().map(|setting| setting.list.as_str())
            })
            .collect();
        assert_eq!(found, [Some("S"), Some("T")]);
    }

    #[test]
    fn hostile_lines_are_read() {
        for text in [
            "bind",
            "bind ssl curves",
            "global\nssl-default-bind-curves",
            "\"",
            "\\",
            "bind '",
            ".if x\n",
            "global\nssl-default-bind-options",
            "server x ssl",
            "bind ssl crt-list",
            "bind ssl crt-list /no",
        ] {
            drop(read_text(text));
        }
    }
}
