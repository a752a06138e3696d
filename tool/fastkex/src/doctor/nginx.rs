//! nginx's configuration, as nginx reads it.
//!
//! OpenSSL chooses the group before nginx knows the name of the server that a client asks for, so
//! groups and protocols are those of a socket's default server. Lines in its other servers have no
//! effect. (Tried with nginx 1.22 and OpenSSL 3.0, 3.5 and 4.0.)

use std::iter::Peekable;
use std::path::Path;
use std::rc::Rc;
use std::str::Chars;

use super::effective::{Effective, Endpoint, MOST, Otherwise, Setting, is_groups_command};
use super::files::{Files, Place, is_pattern};
use crate::groups::Role;

/// The maximum depth of blocks and of includes.
const MOST_DEPTH: usize = 50;
/// The maximum number of directives.
const MOST_DIRECTIVES: usize = 1_000_000;

/// A directive, with its block if it has one.
#[derive(Debug)]
struct Directive {
    words: Vec<String>,
    place: Place,
    block: Option<Vec<Directive>>,
}

impl Directive {
    fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    fn argument(&self) -> &str {
        self.words.get(1).map_or("", String::as_str)
    }

    fn setting(&self, list: &str) -> Setting {
        let line = format!("{};", self.words.join(" "));
        Setting { place: self.place.clone(), line, list: list.to_owned() }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    End,
    Open,
    Close,
}

/// Splits a file as nginx does.
struct Lexer<'a> {
    characters: Peekable<Chars<'a>>,
    line: usize,
}

impl Lexer<'_> {
    fn advance(&mut self) -> Option<char> {
        let c = self.characters.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    /// Returns the next token and its line; `None` at the end.
    fn token(&mut self) -> Result<Option<(Token, usize)>, String> {
        loop {
            let Some(&c) = self.characters.peek() else { return Ok(None) };
            let line = self.line;
            match c {
                ' ' | '\t' | '\r' | '\n' => drop(self.advance()),
                '#' => while self.advance().is_some_and(|c| c != '\n') {},
                ';' | '{' | '}' => {
                    self.advance();
                    let token = match c {
                        ';' => Token::End,
                        '{' => Token::Open,
                        _ => Token::Close,
                    };
                    return Ok(Some((token, line)));
                }
                '"' | '\'' => {
                    self.advance();
                    let word = self.word(Some(c))?;
                    return Ok(Some((Token::Word(word), line)));
                }
                _ => {
                    let word = self.word(None)?;
                    return Ok(Some((Token::Word(word), line)));
                }
            }
        }
    }

    /// Reads a word up to its quote, or up to a blank or punctuation.
    fn word(&mut self, quote: Option<char>) -> Result<String, String> {
        let (started, mut word) = (self.line, String::new());
        loop {
            let Some(&c) = self.characters.peek() else {
                return match quote {
                    Some(_) => Err(format!("{started}: a quote is not closed")),
                    None => Ok(word),
                };
            };
            match c {
                _ if Some(c) == quote => {
                    self.advance();
                    return Ok(word);
                }
                '\\' => {
                    self.advance();
                    let next = self.advance();
                    match next {
                        Some('"' | '\'' | '\\') => word.extend(next),
                        Some('t') => word.push('\t'),
                        Some('r') => word.push('\r'),
                        Some('n') => word.push('\n'),
                        _ => word.extend(Some('\\').into_iter().chain(next)),
                    }
                }
                // A brace after a dollar sign begins a variable.
                '{' if quote.is_none() && word.ends_with('$') => {
                    word.push(c);
                    self.advance();
                }
                ' ' | '\t' | '\r' | '\n' | ';' | '{' if quote.is_none() => return Ok(word),
                _ => {
                    word.push(c);
                    self.advance();
                }
            }
        }
    }

    /// Skips a block of another language, whose braces are balanced.
    fn skip_block(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.advance() {
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Reads files and what they include.
struct Reader<'a> {
    files: &'a Files,
    /// The folder of the main file, to which all includes are relative.
    folder: &'a Path,
    directives: usize,
    problems: Vec<String>,
}

impl Reader<'_> {
    fn file(&mut self, path: &Path, depth: usize, into: &mut Vec<Directive>) {
        let text = match self.files.text(path) {
            Ok(text) => text,
            Err(problem) => {
                // One message is enough for a file that includes itself.
                if !self.problems.contains(&problem) {
                    self.problems.push(problem);
                }
                return;
            }
        };
        let name = self.files.name(path);
        // nginx skips no byte order mark, but editors write them.
        let text = text.trim_start_matches('\u{feff}');
        let mut lexer = Lexer { characters: text.chars().peekable(), line: 1 };
        match self.block(&mut lexer, &name, depth, into) {
            Ok(true) => self.problems.push(format!("{name}:{}: '}}' without '{{'", lexer.line)),
            Ok(false) => {}
            Err(problem) => self.problems.push(format!("{name}:{problem}")),
        }
    }

    /// Reads directives up to the end of a block or file. Returns true at the end of a block.
    fn block(
        &mut self,
        lexer: &mut Lexer<'_>,
        file: &Rc<str>,
        depth: usize,
        into: &mut Vec<Directive>,
    ) -> Result<bool, String> {
        if depth > MOST_DEPTH {
            return Err(format!("{}: more than {MOST_DEPTH} blocks or includes", lexer.line));
        }
        let (mut words, mut started) = (Vec::new(), lexer.line);
        loop {
            let Some((token, line)) = lexer.token()? else {
                return match words.is_empty() {
                    true => Ok(false),
                    false => Err(format!("{started}: expected ';' after '{}'", words.join(" "))),
                };
            };
            match token {
                Token::Word(word) => {
                    if words.is_empty() {
                        started = line;
                    }
                    words.push(word);
                    continue;
                }
                Token::Close if words.is_empty() => return Ok(true),
                Token::Close => return Err(format!("{line}: expected ';' before '}}'")),
                Token::End | Token::Open => {}
            }
            self.directives += 1;
            if self.directives > MOST_DIRECTIVES {
                return Err(format!("{line}: more than {MOST_DIRECTIVES} directives"));
            }
            let words = std::mem::take(&mut words);
            let place = Place { file: Rc::clone(file), line: started };
            let mut directive = Directive { words, place, block: None };
            if token == Token::Open {
                let mut inner = Vec::new();
                if directive.name().ends_with("_by_lua_block") {
                    lexer.skip_block();
                } else if !self.block(lexer, file, depth + 1, &mut inner)? {
                    return Err(format!("{started}: the block '{}' has no end", directive.name()));
                }
                directive.block = Some(inner);
            } else if directive.name() == "include" {
                let pattern = directive.argument();
                for path in self.files.matching(self.folder, pattern) {
                    // A pattern may stand for folders, which nginx refuses.
                    if !is_pattern(pattern) || self.files.is_file(&path) {
                        self.file(&path, depth + 1, into);
                    }
                }
                continue;
            }
            into.push(directive);
        }
    }
}

/// The directives that a block hands down to the blocks in it.
#[derive(Clone, Default)]
struct Inherited<'a> {
    curve: Option<&'a Directive>,
    protocols: Option<&'a Directive>,
    /// The commands for libssl. A block with one of its own inherits none.
    commands: Vec<&'a Directive>,
}

impl<'a> Inherited<'a> {
    /// Applies the directives of a block; `prefix` is that of a module for clients, or empty.
    fn with(&self, block: &'a [Directive], prefix: &str) -> Self {
        let all = |name: &str| {
            let name = format!("{prefix}{name}");
            block.iter().filter(move |directive| directive.name() == name)
        };
        let commands: Vec<_> = all("ssl_conf_command").collect();
        Inherited {
            curve: all("ssl_ecdh_curve").next_back().or(self.curve),
            protocols: all("ssl_protocols").next_back().or(self.protocols),
            commands: if commands.is_empty() { self.commands.clone() } else { commands },
        }
    }

    /// Returns the line that sets the groups: commands come after `ssl_ecdh_curve`, the last one
    /// counts.
    fn setting(&self) -> Option<Setting> {
        let list = |directive: &&Directive| is_groups_command(directive.argument());
        let command = self.commands.iter().copied().rfind(list);
        let command =
            command.map(|command| command.setting(command.words.get(2).map_or("", String::as_str)));
        command.or_else(|| {
            let curve = self.curve?;
            (curve.argument() != "auto").then(|| curve.setting(curve.argument()))
        })
    }

    /// Returns the reason why there is no TLS 1.3, and the line that changes this.
    fn without_tls13(
        &self,
        prefix: &str,
        is_default: bool,
        home: &str,
    ) -> Option<(String, String)> {
        let at = |place: &dyn std::fmt::Display| {
            format!("{place}\n{prefix}ssl_protocols TLSv1.2 TLSv1.3;")
        };
        let newest = self.commands.iter().rfind(|command| {
            command.argument().eq_ignore_ascii_case("MaxProtocol")
                && command.words.get(2).is_some_and(|name| name != "TLSv1.3" && name != "None")
        });
        if let Some(command) = newest {
            let fix = format!("{}\nremove '{}'", command.place, command.words.join(" "));
            return Some((format!("'{}' at {}", command.words.join(" "), command.place), fix));
        }
        match self.protocols {
            Some(line) if line.words.iter().any(|word| word == "TLSv1.3") => None,
            Some(line) => {
                let reason = format!("'{}' at {}", line.words.join(" "), line.place);
                Some((reason, at(&line.place)))
            }
            None if is_default => None,
            None => Some((
                format!("without a line {prefix}ssl_protocols nginx before 1.23.4 has none"),
                at(&home),
            )),
        }
    }
}

/// A server as it takes part in sockets.
struct Server<'a> {
    place: Place,
    own: Vec<&'a Directive>,
    inherited: Inherited<'a>,
}

/// A listening socket: its address, and the indices of its servers.
struct Socket {
    address: String,
    is_tls: bool,
    default: usize,
    servers: Vec<usize>,
}

/// The modules for clients: the prefix of their directives, the directive that sends requests on,
/// the beginning of its argument if TLS is used, and the line that sets groups.
const CLIENTS: [(&str, &str, &str, &str); 3] = [
    ("proxy_", "proxy_pass", "https://", "proxy_ssl_conf_command Groups {};"),
    ("grpc_", "grpc_pass", "grpcs://", "grpc_ssl_conf_command Groups {};"),
    ("uwsgi_", "uwsgi_pass", "suwsgi://", "uwsgi_ssl_conf_command Groups {};"),
];

/// Reads the configuration whose main file is `main`. `version` is nginx's, if it is known.
pub(super) fn read(files: &Files, main: &Path, version: Option<(u32, u32, u32)>) -> Effective {
    let folder = main.parent().unwrap_or(Path::new("/"));
    let mut reader = Reader { files, folder, directives: 0, problems: Vec::new() };
    let mut top = Vec::new();
    reader.file(main, 0, &mut top);
    let mut effective = Effective { problems: reader.problems, ..Effective::default() };
    // An unknown version is taken for a new one.
    let is_default = version.is_none_or(|version| version >= (1, 23, 4));
    for section in &top {
        let Some(block) = &section.block else { continue };
        if !["http", "stream", "mail"].contains(&section.name()) {
            continue;
        }
        see(block, &mut effective);
        servers(section.name(), block, is_default, &mut effective);
        for (prefix, pass, scheme, line) in CLIENTS {
            let inherited = Inherited::default();
            let mut client =
                Client { prefix, pass, scheme, line, is_default, effective: &mut effective };
            client.block(block, &inherited);
        }
    }
    effective
}

/// Adds all lines that set groups.
fn see(block: &[Directive], effective: &mut Effective) {
    for directive in block {
        let list = match directive.name() {
            "ssl_ecdh_curve" => Some(directive.argument()).filter(|list| *list != "auto"),
            name if name.ends_with("ssl_conf_command")
                && is_groups_command(directive.argument()) =>
            {
                directive.words.get(2).map(String::as_str)
            }
            _ => None,
        };
        if let Some(list) = list {
            effective.see(&directive.setting(list));
        }
        see(directive.block.as_deref().unwrap_or_default(), effective);
    }
}

/// Finds the listening sockets of a section, and the servers that count.
fn servers(section: &str, block: &[Directive], is_default: bool, effective: &mut Effective) {
    let outer = Inherited::default().with(block, "");
    let is_server = |directive: &&Directive| directive.name() == "server";
    let servers: Vec<_> = block
        .iter()
        .filter(is_server)
        .filter_map(|server| {
            let own = server.block.as_deref()?;
            Some(Server {
                place: server.place.clone(),
                own: own.iter().collect(),
                inherited: outer.with(own, ""),
            })
        })
        .collect();
    let mut sockets: Vec<Socket> = Vec::new();
    for (number, server) in servers.iter().enumerate() {
        let has = |name: &str, values: &[&str]| {
            let mut own = server.own.iter();
            own.any(|line| line.name() == name && values.contains(&line.argument()))
        };
        // In old configurations a line of the server, not of the socket, turns TLS on.
        let is_tls = has("ssl", &["on"]) || has("starttls", &["on", "only"]);
        let mut listens: Vec<(String, bool, bool)> = server
            .own
            .iter()
            .filter(|line| line.name() == "listen")
            .map(|line| {
                let is = |word: &str| line.words.iter().skip(2).any(|other| other == word);
                let quic = if is("quic") { " quic" } else { "" };
                let address = format!("{}{quic}", address(line.argument()));
                (address, is("ssl") || is("quic"), is("default_server") || is("default"))
            })
            .collect();
        if listens.is_empty() && section == "http" {
            listens.push(("*:80".to_owned(), false, false));
        }
        for (address, is_socket_tls, is_first) in listens {
            let at = sockets.iter().position(|socket| socket.address == address);
            if at.is_none() && sockets.len() >= MOST {
                effective.too_many();
                continue;
            }
            let at = at.unwrap_or_else(|| {
                let servers = Vec::new();
                sockets.push(Socket { address, is_tls: false, default: number, servers });
                sockets.len() - 1
            });
            let socket = &mut sockets[at];
            socket.is_tls |= is_socket_tls || is_tls;
            socket.servers.push(number);
            if is_first {
                socket.default = number;
            }
        }
    }
    for socket in sockets.iter().filter(|socket| socket.is_tls) {
        let first = &servers[socket.default];
        let others = socket.servers.iter().filter(|server| **server != socket.default);
        let home = match others.clone().next() {
            None => format!("in the server block at {}", first.place),
            Some(_) => format!(
                "in the default server of {}, the server block at {}",
                socket.address, first.place
            ),
        };
        for &other in others {
            if let Some(setting) = servers[other].inherited.setting() {
                effective.idle(
                    &setting,
                    format!(
                        "connections to {} have the groups of its default server, at {}",
                        socket.address, first.place
                    ),
                );
            }
        }
        let setting = first.inherited.setting();
        if let (Some(setting), Some(curve)) = (&setting, first.inherited.curve) {
            let lost = curve.setting(curve.argument());
            if curve.argument() != "auto" && lost != *setting {
                effective.idle(&lost, format!("'{}' comes after it", setting.line));
            }
        }
        let without_tls13 = first.inherited.without_tls13("", is_default, &home);
        effective.add(Endpoint {
            name: format!("listen {}", socket.address),
            role: Role::Server,
            setting,
            otherwise: Otherwise::OfOpenSsl,
            home,
            line: "ssl_ecdh_curve {};",
            without_tls13,
        });
    }
    for directive in block.iter().filter(|directive| directive.name() == "ssl_conf_command") {
        let is_lost = servers
            .iter()
            .any(|server| server.own.iter().any(|own| own.name() == "ssl_conf_command"));
        if is_lost && is_groups_command(directive.argument()) {
            let list = directive.words.get(2).map_or("", String::as_str);
            effective.idle(
                &directive.setting(list),
                "a server with an ssl_conf_command of its own inherits none",
            );
        }
    }
}

/// Returns the socket's address in one form.
fn address(argument: &str) -> String {
    if argument.starts_with("unix:") || argument.starts_with('[') {
        return match argument.ends_with(']') {
            true => format!("{argument}:80"),
            false => argument.to_owned(),
        };
    }
    let is_port =
        |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    let (host, port) = match argument.rsplit_once(':') {
        Some((host, port)) => (host, port),
        None if is_port(argument) => ("*", argument),
        None => (argument, "80"),
    };
    let host = if host == "0.0.0.0" { "*" } else { host };
    format!("{host}:{port}")
}

/// Finds connections that one of nginx's modules makes.
struct Client<'a> {
    prefix: &'a str,
    pass: &'a str,
    scheme: &'a str,
    line: &'static str,
    is_default: bool,
    effective: &'a mut Effective,
}

impl Client<'_> {
    fn block(&mut self, block: &[Directive], outer: &Inherited<'_>) {
        let inherited = outer.with(block, self.prefix);
        let is_on = block
            .iter()
            .any(|line| line.name() == format!("{}ssl", self.prefix) && line.argument() == "on");
        for directive in block {
            if directive.name() == self.pass
                && (directive.argument().starts_with(self.scheme) || is_on)
            {
                let home = format!("beside the line at {}", directive.place);
                let without_tls13 = inherited.without_tls13(self.prefix, self.is_default, &home);
                self.effective.add(Endpoint {
                    name: format!("{} at {}", directive.words.join(" "), directive.place),
                    role: Role::Client,
                    setting: inherited.setting(),
                    otherwise: Otherwise::OfOpenSsl,
                    home,
                    line: self.line,
                    without_tls13,
                });
            }
            if let Some(inner) = &directive.block {
                self.block(inner, &inherited);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::files;
    use super::*;

    const OLD: Option<(u32, u32, u32)> = Some((1, 22, 1));
    const NEW: Option<(u32, u32, u32)> = Some((1, 29, 0));

    fn read_files(list: &[(&str, &str)]) -> Effective {
        let (_folder, files) = files(list);
        read(&files, Path::new("/etc/nginx/nginx.conf"), NEW)
    }

    fn read_text(text: &str) -> Effective {
        read_files(&[("etc/nginx/nginx.conf", text)])
    }

    /// Returns each endpoint's name and list.
    fn lists<'a>(effective: &'a Effective) -> Vec<(&'a str, Option<&'a str>)> {
        let list =
            |endpoint: &'a Endpoint| endpoint.setting.as_ref().map(|setting| setting.list.as_str());
        let endpoints = effective.endpoints.iter();
        endpoints.map(|endpoint| (endpoint.name.as_str(), list(endpoint))).collect()
    }

    /// Each of these was tried with nginx 1.22: the group that a client got is in the list here.
    #[test]
    fn the_groups_are_those_that_nginx_takes() {
        for (servers, expected) in [
            (
                "server { listen 443 ssl; ssl_ecdh_curve P-384; }\
                 server { listen 443 ssl; ssl_ecdh_curve P-521; }",
                Some("P-384"),
            ),
            ("server { listen 443 ssl; } server { listen 443 ssl; ssl_ecdh_curve P-521; }", None),
            (
                "server { listen 443 ssl; ssl_ecdh_curve P-384; }\
                 server { listen 443 ssl default_server; ssl_ecdh_curve P-521; }",
                Some("P-521"),
            ),
            (
                "server { listen 443 ssl; ssl_ecdh_curve P-384; ssl_conf_command Groups P-521; }",
                Some("P-521"),
            ),
            (
                "server { listen 443 ssl; ssl_conf_command Groups P-521; ssl_ecdh_curve P-384; }",
                Some("P-521"),
            ),
            (
                "server { listen 443 ssl; ssl_ecdh_curve P-384; }\
                 server { listen 443 ssl; ssl_conf_command Groups P-521; }",
                Some("P-384"),
            ),
            (
                "server { listen 443 ssl; ssl_conf_command Groups P-521; ssl_conf_command Groups P-384; }",
                Some("P-384"),
            ),
            ("server { listen 443 ssl; ssl_conf_command curves P-384; }", Some("P-384")),
            // From the block around it.
            (
                "ssl_ecdh_curve P-384; ssl_conf_command Groups P-521; server { listen 443 ssl; }",
                Some("P-521"),
            ),
            (
                "ssl_ecdh_curve P-384; ssl_conf_command Groups P-521;\
                 server { listen 443 ssl; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; }",
                Some("P-384"),
            ),
            (
                "ssl_ecdh_curve P-384; ssl_conf_command Groups P-521;\
                 server { listen 443 ssl; ssl_ecdh_curve X448; }",
                Some("P-521"),
            ),
            (
                "ssl_ecdh_curve P-384; ssl_conf_command Groups P-521; server { listen 443 ssl;\
                 ssl_ecdh_curve auto; ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256; }",
                None,
            ),
        ] {
            let effective = read_text(&format!("events {{}}\nhttp {{ {servers} }}"));
            assert_eq!(lists(&effective), [("listen *:443", expected)], "{servers}");
            assert!(effective.problems.is_empty(), "{:?}", effective.problems);
        }
    }

    #[test]
    fn each_socket_has_its_own_default_server() {
        let effective = read_text(
            "http { server { listen 443 ssl; listen [::]:443 ssl; ssl_ecdh_curve a; }\n\
             server { listen 127.0.0.1:443 ssl; listen 0.0.0.0:443; ssl_ecdh_curve b; }\n\
             server { listen [::]:443 default_server; listen 80; ssl_ecdh_curve c; }\n\
             server { listen 8443 quic; listen unix:/run/s ssl; ssl_ecdh_curve d; } }\n\
             stream { server { listen 853 ssl; ssl_ecdh_curve e; } server { listen 854; } }\n\
             mail { server { listen 143; starttls on; ssl_ecdh_curve f; } }",
        );
        let expected = [
            ("listen *:443", Some("a")),
            ("listen [::]:443", Some("c")),
            ("listen 127.0.0.1:443", Some("b")),
            ("listen *:8443 quic", Some("d")),
            ("listen unix:/run/s", Some("d")),
            ("listen *:853", Some("e")),
            ("listen *:143", Some("f")),
        ];
        assert_eq!(lists(&effective), expected);
        assert_eq!(effective.idle_lines().count(), 0);
        assert!(effective.endpoints[1].home.ends_with("nginx.conf:3"), "{effective:?}");
    }

    #[test]
    fn lines_without_effect_are_told_with_the_reason() {
        let effective = read_text(
            "http {\nserver { listen 443 ssl; }\n\
             server { listen 443 ssl; ssl_ecdh_curve a; }\n\
             server { listen 444 ssl; ssl_ecdh_curve b; ssl_conf_command Groups c; }\n\
             server { listen 80; ssl_ecdh_curve d; }\n}",
        );
        let idle: Vec<_> = effective.idle_lines().collect();
        let expected = [
            ("a", "groups of its default server, at "),
            ("b", "'ssl_conf_command Groups c;' comes after it"),
            ("d", "no TLS connection uses it"),
        ];
        assert_eq!(idle.len(), expected.len(), "{idle:?}");
        for ((setting, reason), (list, why)) in idle.iter().zip(expected) {
            assert!(setting.list == list && reason.contains(why), "{setting:?}: {reason}");
        }
    }

    #[test]
    fn the_syntax_is_nginxs() {
        let effective = read_files(&[
            (
                "etc/nginx/nginx.conf",
                "# ssl_ecdh_curve comment;\nhttp{include sites/*;include 'one.conf';\n\
                 map $a $b { default \"};{\"; \"~^x{2}\" 1; }\n\
                 log_format l 'it\\'s {' \"$ssl_curve;\"; set $x ${y}z;\n\
                 content_by_lua_block { if a then b = {1, {2}} end -- it's }\n\
                 server { listen\n443\tssl;ssl_ecdh_curve \"X:Y\";}}",
            ),
            ("etc/nginx/sites/b", "server { listen 2 ssl; ssl_ecdh_curve two; }"),
            ("etc/nginx/sites/a", "server { listen 1 ssl; include /etc/nginx/curve; }"),
            ("etc/nginx/curve", "ssl_ecdh_curve 'one';"),
            ("etc/nginx/one.conf", "server { listen 3 ssl; ssl_ecdh_curve three#; }"),
            ("etc/nginx/other.conf", "ssl_ecdh_curve never;"),
        ]);
        let expected = [
            ("listen *:1", Some("one")),
            ("listen *:2", Some("two")),
            ("listen *:3", Some("three#")),
            ("listen *:443", Some("X:Y")),
        ];
        assert_eq!(lists(&effective), expected);
        assert!(effective.problems.is_empty(), "{:?}", effective.problems);
        assert_eq!(effective.settings.len(), 4);
    }

    #[test]
    fn hostile_files_end_with_a_message() {
        let deep = "a { ".repeat(100_000);
        let long = "x".repeat(1 << 20);
        for (text, expected) in [
            ("http {", "has no end"),
            ("http { server { listen 443 ssl; }", "has no end"),
            ("}", "'}' without '{'"),
            ("http { } }", "'}' without '{'"),
            ("http { listen 443 }", "expected ';' before '}'"),
            ("listen 443", "expected ';'"),
            ("log \"open", "a quote is not closed"),
            ("include nginx.conf;", "more than"),
            ("include /no/such/file;", "/no/such/file: "),
            (deep.as_str(), "blocks or includes"),
            (long.as_str(), "expected ';'"),
        ] {
            let effective = read_text(text);
            let is_told = effective.problems.iter().any(|problem| problem.contains(expected));
            assert!(is_told, "{expected}: {:?}", effective.problems);
            assert!(effective.problems.len() <= 2, "{:?}", effective.problems);
        }
        // What can be read counts.
        let (folder, files) = files(&[("etc/nginx/x", "")]);
        let bytes = b"http { server { listen 1 ssl; ssl_ecdh_curve a\xff; } }";
        std::fs::write(folder.path().join("etc/nginx/nginx.conf"), bytes).unwrap();
        let effective = read(&files, Path::new("/etc/nginx/nginx.conf"), None);
        assert_eq!(lists(&effective), [("listen *:1", Some("a\u{fffd}"))]);
    }

    #[test]
    fn tls_1_3_is_off_where_nginx_has_it_off() {
        for (servers, version, expected) in [
            ("server { listen 1 ssl; }", OLD, Some("before 1.23.4")),
            ("server { listen 1 ssl; }", NEW, None),
            ("ssl_protocols TLSv1.2 TLSv1.3; server { listen 1 ssl; }", OLD, None),
            ("server { listen 1 ssl; ssl_protocols TLSv1.2; }", NEW, Some("nginx.conf:1")),
            // Tried: the default server's protocols count.
            (
                "server { listen 1 ssl; ssl_protocols TLSv1.2; } server { listen 1 ssl; ssl_protocols TLSv1.3; }",
                NEW,
                Some("ssl_protocols TLSv1.2"),
            ),
            (
                "server { listen 1 ssl; ssl_protocols TLSv1.3; } server { listen 1 ssl; ssl_protocols TLSv1.2; }",
                NEW,
                None,
            ),
        ] {
            let (_folder, files) =
                files(&[("etc/nginx/nginx.conf", &format!("http {{ {servers} }}"))]);
            let effective = read(&files, Path::new("/etc/nginx/nginx.conf"), version);
            let reason = effective.endpoints[0].without_tls13.as_ref().map(|(reason, _)| reason);
            match (reason, expected) {
                (None, None) => {}
                (Some(reason), Some(expected)) => assert!(reason.contains(expected), "{reason}"),
                (reason, _) => panic!("{servers}: {reason:?}"),
            }
        }
    }

    #[test]
    fn connections_to_other_servers_have_their_own_groups() {
        let effective = read_text(
            "http { proxy_ssl_conf_command Groups a; server { listen 80;\n\
             location / { proxy_pass https://x; }\n\
             location /y { proxy_pass https://y; proxy_ssl_conf_command Groups b; }\n\
             location /z { proxy_pass http://z; } location /g { grpc_pass grpcs://g; } } }\n\
             stream { server { listen 1; proxy_ssl on; proxy_pass backend; } }",
        );
        let lists: Vec<_> = effective
            .endpoints
            .iter()
            .map(|endpoint| {
                assert_eq!(endpoint.role, Role::Client);
                let name = endpoint.name.split(" at ").next().unwrap();
                (name, endpoint.setting.as_ref().map(|setting| setting.list.as_str()))
            })
            .collect();
        let expected = [
            ("proxy_pass https://x", Some("a")),
            ("proxy_pass https://y", Some("b")),
            ("grpc_pass grpcs://g", None),
            ("proxy_pass backend", None),
        ];
        assert_eq!(lists, expected);
    }
}
