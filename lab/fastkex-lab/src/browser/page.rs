//! The page. Apache runs this program for each request (CGI, RFC 3875), and it shows stunnel's log
//! of the request's connection.

use std::env;
use std::path::PathBuf;

use clap::Args;
use maud::{DOCTYPE, PreEscaped, html};

use output::{Failure, Outcome};
use testbed::wait_for;

use super::SHOWN;
use crate::demo::observed_group::in_stunnel_log;
use crate::{groups, say};

/// The id of the element that holds the group.
pub(crate) const GROUP_ID: &str = "group";
/// The colour of a page with an unexpected group.
const OTHER_COLOUR: [u8; 3] = [0x77, 0x76, 0x7b];
/// Parts of stunnel's log lines that the page shows.
const TELLING: [&str; 4] =
    ["accepted connection", "ciphersuite", "Peer temporary key", "connected remote server"];

/// The page of `demo-browser`, which Apache runs for each request
#[derive(Args, Debug)]
pub(crate) struct BrowserPage {
    /// stunnel's log
    log: PathBuf,
    /// Pages to link to, each as GROUP=ADDRESS
    #[arg(value_parser = link)]
    links: Vec<(String, String)>,
}

fn link(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').map(|(group, address)| (group.into(), address.into()));
    parts.ok_or_else(|| "expected GROUP=ADDRESS".into())
}

/// Returns the id of the link to a group's page.
pub(crate) fn link_id(group: &str) -> String {
    format!("to-{group}")
}

/// A connection in stunnel's log.
#[derive(Debug, PartialEq, Eq)]
struct LoggedConnection<'a> {
    group: String,
    lines: Vec<&'a str>,
}

impl BrowserPage {
    pub(crate) fn run(&self) -> Outcome {
        let port = env::var("REMOTE_PORT").ok().and_then(|port| port.parse().ok());
        let port = port.ok_or_else(|| Failure::new("REMOTE_PORT: expected a port, from Apache"))?;
        // stunnel writes it before it sends the request to Apache.
        let log = wait_for(|| {
            let bytes = std::fs::read(&self.log).ok()?;
            let log = String::from_utf8_lossy(&bytes).into_owned();
            logged_connection(&log, port).is_some().then_some(log)
        });
        let logged = log.as_deref().and_then(|log| logged_connection(log, port));
        let logged = logged.ok_or_else(|| {
            let log = self.log.display();
            Failure::new(format!("{log}: nothing about a connection from port {port}"))
        })?;
        say(format_args!(
            "Content-Type: text/html; charset=utf-8\r\nCache-Control: no-store\r\n\r\n{}",
            self.html(&logged)
        ))?;
        Ok(true)
    }

    fn html(&self, logged: &LoggedConnection) -> String {
        let shown = SHOWN.iter().find(|shown| shown.group == logged.group);
        let [red, green, blue] = shown.map_or(OTHER_COLOUR, |shown| shown.colour);
        let bytes = groups::named(&logged.group).map(|group| group.client_bytes);
        let style = format!(
            "body {{ margin: 0; font: 18px/1.5 sans-serif; color: #241f31; background: #fff }}
            header {{ background: rgb({red}, {green}, {blue}); color: #fff; padding: 28px 40px }}
            h1 {{ margin: 0; font-size: 30px; font-weight: normal }}
            main {{ padding: 12px 40px }}
            pre {{ font: 13px/1.6 monospace; background: #f6f5f4; padding: 12px 16px; white-space: pre-wrap }}"
        );
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    title { (logged.group) }
                    // Avoids a request for an icon, which would need a connection of its own.
                    link rel="icon" href="data:,";
                    style { (PreEscaped(style)) }
                }
                body {
                    header { h1 { "This page came with " strong id=(GROUP_ID) { (logged.group) } "." } }
                    main {
                        p {
                            "So says stunnel, which spoke TLS with this browser, in its log of this very connection:"
                        }
                        pre { (logged.lines.join("\n")) }
                        @if let Some(bytes) = bytes {
                            p {
                                (8 * bytes) " bits are the " (bytes) " bytes of a client's key share of " (logged.group)
                                ", and of no other group's. (OpenSSL 3.0 has no name for its kind: \"(null)\".)"
                            }
                        }
                        p {
                            @for (group, address) in &self.links {
                                @if *group != logged.group {
                                    a id=(link_id(group)) href=(address) { "The same page with " (group) }
                                    " "
                                }
                            }
                        }
                    }
                }
            }
        }
        .into_string()
    }
}

/// Finds the connection that stunnel forwarded from this port of its own.
fn logged_connection(log: &str, port: u16) -> Option<LoggedConnection<'_>> {
    let passed_on = format!(" connected remote server from 127.0.0.1:{port}");
    let (whole, _) = log.rsplit_once('\n')?;
    let lines: Vec<&str> = whole.lines().collect();
    // Ports are reused, so the last connection counts.
    let last = lines.iter().rposition(|line| line.ends_with(&passed_on))?;
    let connection = connection(lines[last])?;
    let mut own: Vec<&str> = Vec::new();
    for line in
        lines[..=last].iter().rev().filter(|line| self::connection(line) == Some(connection))
    {
        if TELLING.iter().any(|telling| line.contains(telling)) {
            own.push(line);
        }
        if line.contains(" accepted connection from ") {
            own.reverse();
            let group = in_stunnel_log(&(own.join("\n") + "\n"))?;
            return Some(LoggedConnection { group, lines: own });
        }
    }
    None
}

/// Returns true if the first client of a service received nothing through TLS, or `None` before its
/// connection has ended.
pub(crate) fn got_nothing(log: &str, service: &str) -> Option<bool> {
    let accepted = format!(": Service [{service}] accepted connection from ");
    let own = connection(log.lines().find(|line| line.contains(&accepted))?)?;
    let mut lines = log.lines().filter(|line| connection(line) == Some(own));
    let end = lines.find(|line| line.ends_with(" byte(s) sent to socket"))?;
    Some(end.contains(": 0 byte(s) sent to TLS, "))
}

/// Returns the number of the connection in
/// `2026.11.21 19:04:31 LOG6[0]: Peer certificate not required`.
fn connection(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once(" LOG")?;
    let (number, _) = rest.split_once('[')?.1.split_once("]: ")?;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = include_str!("samples/stunnel-5.68-two.txt");

    #[test]
    fn each_connection_has_its_own_group() {
        let first = logged_connection(LOG, 34608).unwrap();
        assert_eq!(first.group, "sntrup761");
        assert_eq!(first.lines.len(), TELLING.len());
        assert!(first.lines.iter().all(|line| line.contains("[0]: ")));
        assert_eq!(logged_connection(LOG, 34612).unwrap().group, "sntrup857");
        assert_eq!(logged_connection(LOG, 3461), None);
        // Lines of simultaneous connections are interleaved.
        let mut lines: Vec<&str> = LOG.lines().collect();
        lines.sort_by_key(|line| {
            let of_it = LOG.lines().filter(|other| connection(other) == connection(line));
            of_it.take_while(|other| other != line).count()
        });
        let mixed = lines.join("\n") + "\n";
        assert_eq!(logged_connection(&mixed, 34608).unwrap(), first);
        assert_eq!(logged_connection(&mixed, 34612).unwrap().group, "sntrup857");
    }

    #[test]
    fn the_last_connection_from_a_port_counts() {
        let again = LOG.replace("LOG5[1]", "LOG5[2]").replace("LOG6[1]", "LOG6[2]");
        let log = format!("{LOG}{}", again.replace("34612", "34608").replace("[0]", "[3]"));
        assert_eq!(logged_connection(&log, 34608).unwrap().group, "sntrup857");
    }

    #[test]
    fn a_log_cut_short_tells_nothing() {
        let end = LOG.find("127.0.0.1:34608\n").unwrap() + "127.0.0.1:34608\n".len();
        for length in 0..end {
            assert_eq!(logged_connection(&LOG[..length], 34608), None, "{length}");
        }
        assert!(logged_connection(&LOG[..end], 34608).is_some());
    }

    #[test]
    fn what_a_client_got_is_known_when_its_connection_ends() {
        let log = "2026.11.21 21:24:20 LOG5[2]: Connection closed: 0 byte(s) sent to TLS, 0 byte(s) sent to socket\n\
                   2026.11.21 21:24:20 LOG5[3]: Service [untrusted] accepted connection from 127.0.0.1:33354\n";
        assert_eq!(got_nothing(log, "untrusted"), None);
        for (sent, nothing) in [(0, true), (1688, false)] {
            let end = format!("{sent} byte(s) sent to TLS, 384 byte(s) sent to socket");
            let log = format!("{log}2026.11.21 21:24:20 LOG5[3]: Connection reset: {end}\n");
            assert_eq!(got_nothing(&log, "untrusted"), Some(nothing));
            assert_eq!(got_nothing(&log, "sntrup761"), None);
        }
    }

    #[test]
    fn the_page_says_the_group_and_links_to_others() {
        let links = vec![
            link("sntrup761=https://localhost:1/").unwrap(),
            link("sntrup857=https://localhost:2/?a&b").unwrap(),
        ];
        let page = BrowserPage { log: PathBuf::new(), links };
        let html = page.html(&logged_connection(LOG, 34608).unwrap());
        assert!(html.contains("<strong id=\"group\">sntrup761</strong>"));
        assert!(html.contains("id=\"to-sntrup857\" href=\"https://localhost:2/?a&amp;b\""));
        assert!(!html.contains("to-sntrup761") && html.contains("9264 bits are the 1158 bytes"));
        assert!(html.contains("rgb(26, 95, 180)") && html.contains("(null), 9264 bits\n"));
        let other = LoggedConnection { group: "<X25519>".into(), lines: vec![] };
        let html = page.html(&other);
        assert!(html.contains("&lt;X25519&gt;") && html.contains("rgb(119, 118, 123)"));
    }
}
