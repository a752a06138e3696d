//! The questions to a server, and its answers.

use std::time::{Duration, Instant};

use kex::{OTHER_GROUPS, RECOMMENDED_GROUPS, TLS_GROUPS, code_point_named};
use openssl_runtime::{Alert, wire};
use output::Failure;

use crate::answer::{Nonsense, ServerHello};
use crate::client_hello::{ClientHello, Versions};
use crate::connection::{Outcome, Target};
use crate::preference::Tiers;
use crate::share::{Share, key_share};
use crate::{TLS_1_2, TLS_1_3};

/// The questions to a server.
#[derive(Clone, Debug)]
pub struct Survey<'a> {
    /// The server.
    pub target: &'a Target,
    /// Whether to ask for groups with private code points, too.
    pub with_private_groups: bool,
    /// A flight with a ClientHello that some client would send.
    pub given: Option<&'a [u8]>,
    /// The time limit of all connections together.
    pub total: Duration,
}

/// The answers. A `None` was not asked, for lack of time or of TLS 1.3.
#[derive(Clone, Debug)]
pub struct Surveyed {
    /// A ClientHello that fits into any segment.
    pub small: Delivery,
    /// A ClientHello with the groups and key shares of browsers, which is larger.
    pub whole: Delivery,
    /// The same in two pieces. If one was not answered, also the small one.
    pub splits: Vec<Delivery>,
    /// If the larger one was not answered: the small one filled up to the same size.
    pub padded: Option<Delivery>,
    /// If one was not answered: the small one again, after all others. Without an answer, the
    /// server may have stopped to answer at all.
    pub again: Option<Delivery>,
    /// The version that the server chose; `None` if it refuses TLS 1.2 and 1.3.
    pub version: Option<u16>,
    /// The server's groups.
    pub groups: Option<Groups>,
    /// Whether the server asks for its preferred group.
    pub keeps: Option<Keeps>,
    /// The given ClientHello.
    pub given: Option<Given>,
    /// Bytes of a TCP segment.
    pub segment_bytes: Option<u32>,
    /// The number of connections.
    pub connections: usize,
    /// The time that they took.
    pub elapsed: Duration,
    /// True if questions were left out for lack of time.
    pub is_cut_short: bool,
}

/// A ClientHello and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Bytes of its records.
    pub bytes: usize,
    /// Bytes of the first piece, if it was sent in two pieces.
    pub split: Option<usize>,
    /// Its outcome.
    pub outcome: Outcome,
}

/// The groups that a server takes.
#[derive(Clone, Debug)]
pub struct Groups {
    /// The groups by preference.
    pub tiers: Tiers,
    /// The groups of which it was not found out whether the server takes them.
    pub unknown: Vec<u16>,
}

/// A server's answer if its preferred group has no key share, and another group has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keeps {
    /// The preferred group.
    pub preferred: u16,
    /// The group with a key share.
    pub sent: u16,
    /// True if the server asked for a share of the preferred group.
    pub asks_again: bool,
}

/// A ClientHello that was given, and what became of it.
#[derive(Clone, Debug)]
pub struct Given {
    /// The groups that it offers.
    pub groups: Vec<u16>,
    /// The groups of its key shares.
    pub shares: Vec<u16>,
    /// Its outcome.
    pub delivery: Delivery,
}

/// The groups of browsers' ClientHellos, which have key shares of the first two.
const BROWSERS_GROUPS: [&str; 4] = [RECOMMENDED_GROUPS[0], "X25519", "P-256", "P-384"];
const BROWSERS_SHARES: usize = 2;
/// Bytes of a ClientHello of browsers, or some fewer: more than a segment on Ethernet has.
const BROWSERS_BYTES: usize = 1700;
/// Bytes of the first piece of a split ClientHello: it ends inside of the record's header.
const IN_HEADER: usize = 3;
/// More connections than any server needs.
const MAX_CONNECTIONS: usize = 100;
const PROTOCOL_VERSION: u8 = 70;

impl Survey<'_> {
    /// Asks the server.
    ///
    /// # Errors
    /// No answer of a TLS server came back. The failure says what did, in words that follow the
    /// server's name.
    pub fn run(&self) -> Result<Surveyed, Failure> {
        let mut asking = Asking::new(self);
        let found = asking.run(self);
        let Asking { connections, segment_bytes, is_cut_short, begun, .. } = asking;
        let elapsed = begun.elapsed();
        found.map(|found| Surveyed { segment_bytes, connections, elapsed, is_cut_short, ..found })
    }
}

/// A survey that is under way.
struct Asking<'a> {
    target: &'a Target,
    begun: Instant,
    give_up: Instant,
    connections: usize,
    segment_bytes: Option<u32>,
    is_cut_short: bool,
}

impl<'a> Asking<'a> {
    fn new(survey: &Survey<'a>) -> Self {
        let begun = Instant::now();
        Self {
            target: survey.target,
            begun,
            give_up: begun + survey.total,
            connections: 0,
            segment_bytes: None,
            is_cut_short: false,
        }
    }

    fn run(&mut self, survey: &Survey<'_>) -> Result<Surveyed, Failure> {
        let candidates = candidates(survey.with_private_groups);
        let browsers = browsers_groups();
        let shares: Vec<_> = browsers.iter().map_while(|&group| key_share(group)).collect();
        let Some([hybrid, x25519]) = shares.first_chunk::<BROWSERS_SHARES>() else {
            return Err(Failure::new("cannot make key shares"));
        };
        let few = [x25519];
        let both = [hybrid, x25519];
        let small = self.hello(Versions::Tls12And13, &candidates, &few);
        let large = ClientHello {
            at_least: BROWSERS_BYTES,
            ..self.hello(Versions::Tls12And13, &browsers, &both)
        };

        let no_time = || {
            Failure::new(
                "no answer in the time of all connections: a longer --timeout may bring one",
            )
        };
        let small_record = record(&small)?;
        let small = self.ask(&small, &small_record, None).ok_or_else(no_time)?;
        if let Outcome::NotConnected(_) | Outcome::Nonsense(_) = small.outcome {
            return Err(self.no_tls(&small.outcome, &small.outcome));
        }
        let large_record = record(&large)?;
        let whole = self.ask(&large, &large_record, None).ok_or_else(no_time)?;
        let version = match [&small, &whole].into_iter().find_map(|one| one.outcome.choices()) {
            Some(choices) => Some(choices.version),
            None if is_too_old(&small.outcome) || is_too_old(&whole.outcome) => None,
            None => return Err(self.no_tls(&small.outcome, &whole.outcome)),
        };
        let mut found = Surveyed {
            small,
            whole,
            splits: Vec::new(),
            padded: None,
            again: None,
            version,
            groups: None,
            keeps: None,
            given: None,
            segment_bytes: None,
            connections: 0,
            elapsed: Duration::ZERO,
            is_cut_short: false,
        };
        found.given = survey.given.and_then(|flight| self.give(flight));
        if version == Some(TLS_1_3) {
            let groups = self.groups(&candidates);
            found.keeps = self.keeps(&groups);
            found.groups = Some(groups);
        }
        if version.is_none() {
            return Ok(found);
        }
        let splits = match found.whole.outcome.is_answer() {
            true => &[IN_HEADER, large_record.len() / 2, large_record.len() - 1][..],
            // Where large segments are lost, smaller ones may arrive.
            false => &[large_record.len() / 2],
        };
        for split in splits {
            found.splits.extend(self.ask(&large, &record(&large)?, Some(*split)));
        }
        if !found.whole.outcome.is_answer() {
            let at_least = large_record.len();
            let filled =
                ClientHello { at_least, ..self.hello(Versions::Tls12And13, &candidates, &few) };
            found.padded = self.ask(&filled, &record(&filled)?, None);
        }
        let is_answer = |delivery: &Delivery| delivery.outcome.is_answer();
        if !is_answer(&found.whole) || !found.splits.iter().all(is_answer) {
            let small = self.hello(Versions::Tls12And13, &candidates, &few);
            found.splits.extend(self.ask(&small, &record(&small)?, Some(small_record.len() / 2)));
            found.again = self.ask(&small, &record(&small)?, None);
        }
        Ok(found)
    }

    fn hello<'h>(
        &self,
        versions: Versions,
        groups: &'h [u16],
        shares: &'h [&'h Share],
    ) -> ClientHello<'h>
    where
        'a: 'h,
    {
        let server_name = self.target.name.as_deref();
        ClientHello { server_name, versions, groups, shares, at_least: 0 }
    }

    /// Delivers a ClientHello, in one piece or in two; `None` if there is no time left.
    fn ask(
        &mut self,
        hello: &ClientHello<'_>,
        record: &[u8],
        split: Option<usize>,
    ) -> Option<Delivery> {
        let shares: Vec<_> = hello.shares.iter().map(|share| share.group).collect();
        self.deliver(hello.groups, &shares, record, split)
    }

    fn deliver(
        &mut self,
        groups: &[u16],
        shares: &[u16],
        record: &[u8],
        split: Option<usize>,
    ) -> Option<Delivery> {
        if Instant::now() >= self.give_up || self.connections == MAX_CONNECTIONS {
            self.is_cut_short = true;
            return None;
        }
        self.connections += 1;
        let (first, second) = record.split_at(split.unwrap_or(record.len()).min(record.len()));
        let pieces: &[&[u8]] = if second.is_empty() { &[first] } else { &[first, second] };
        let (outcome, segment) = self.target.deliver(pieces, self.give_up);
        self.segment_bytes = self.segment_bytes.or(segment);
        if outcome == Outcome::Silence && Instant::now() >= self.give_up {
            // The server might have answered later.
            self.is_cut_short = true;
            return None;
        }
        let outcome = checked(outcome, groups, shares);
        Some(Delivery { bytes: record.len(), split, outcome })
    }

    /// Finds all groups that the server takes, and its order.
    fn groups(&mut self, candidates: &[u16]) -> Groups {
        let (forward, unknown) = self.choices(candidates.to_vec());
        if forward.is_empty() && unknown.is_empty() {
            return self.groups_by_share(candidates);
        }
        let reversed: Vec<_> = forward.iter().rev().copied().collect();
        let (backward, _) = match reversed.len() {
            0 | 1 => (reversed, Vec::new()),
            _ => self.choices(reversed),
        };
        Groups { tiers: Tiers::new(&forward, &backward), unknown }
    }

    /// Lets the server choose among groups, and again among the rest, until it refuses. Returns the
    /// choices, and the rest if the server did not refuse it.
    fn choices(&mut self, mut groups: Vec<u16>) -> (Vec<u16>, Vec<u16>) {
        let mut chosen = Vec::new();
        while !groups.is_empty() {
            let hello = self.hello(Versions::Tls13, &groups, &[]);
            let outcome = record(&hello).ok().and_then(|record| self.ask(&hello, &record, None));
            match outcome.map(|delivery| delivery.outcome) {
                Some(Outcome::Retry(ServerHello { group: Some(group), .. })) => {
                    chosen.push(group);
                    groups.retain(|other| *other != group);
                }
                Some(outcome) if outcome.is_refusal() => groups.clear(),
                _ => break,
            }
        }
        (chosen, groups)
    }

    /// Finds the groups of a server that answers no ClientHello without key shares: each one for
    /// itself, with its share.
    fn groups_by_share(&mut self, candidates: &[u16]) -> Groups {
        let (mut found, mut unknown) = (Vec::new(), Vec::new());
        for &group in candidates {
            let outcome = key_share(group).and_then(|share| {
                let (groups, shares) = ([group], [&share]);
                let hello = self.hello(Versions::Tls13, &groups, &shares);
                self.ask(&hello, &record(&hello).ok()?, None).map(|delivery| delivery.outcome)
            });
            match outcome {
                Some(outcome) if outcome.is_answer() => found.push(group),
                Some(outcome) if outcome.is_refusal() => {}
                _ => unknown.push(group),
            }
        }
        Groups { tiers: Tiers::unknown(&found), unknown }
    }

    /// Offers the preferred group without a key share, and another one with a share.
    fn keeps(&mut self, groups: &Groups) -> Option<Keeps> {
        let preferred = groups.tiers.groups().next()?;
        let has = |group: &u16| *group != preferred && groups.tiers.groups().any(|g| g == *group);
        // A share without a KEM is small.
        let share = key_share(browsers_groups().into_iter().skip(1).find(has)?)?;
        let (offered, shares) = ([preferred, share.group], [&share]);
        let hello = self.hello(Versions::Tls13, &offered, &shares);
        let outcome = self.ask(&hello, &record(&hello).ok()?, None)?.outcome;
        let asks_again = matches!(outcome, Outcome::Retry(_));
        outcome.is_answer().then_some(Keeps { preferred, sent: share.group, asks_again })
    }

    fn give(&mut self, flight: &[u8]) -> Option<Given> {
        let groups = wire::find_supported_groups(flight)?;
        let shares = wire::find_client_key_shares(flight)?;
        let shares: Vec<_> = shares.into_iter().map(|share| share.group).collect();
        let delivery = self.deliver(&groups, &shares, flight, None)?;
        Some(Given { groups, shares, delivery })
    }

    /// Describes a server that answered neither ClientHello.
    fn no_tls(&self, small: &Outcome, whole: &Outcome) -> Failure {
        let timeout = self.target.timeout.as_secs_f64();
        let also = |text: String| match small == whole {
            true => text,
            false => format!("{text} (and to a larger ClientHello: {whole})"),
        };
        let starts_otherwise = self.target.start_tls.is_none();
        Failure::new(also(match small {
            Outcome::Silence => format!("no answer to a ClientHello within {timeout} s"),
            Outcome::NotConnected(reason) => reason.clone(),
            Outcome::Alert(alert) => format!(
                "the server refuses TLS with {alert}: expected one that knows {}, see --name",
                match &self.target.name {
                    Some(name) => format!("the name {name}"),
                    None => "clients without a server name".into(),
                }
            ),
            Outcome::Closed | Outcome::Reset if starts_otherwise => {
                format!("{}: expected a TLS server, or --starttls PROTOCOL", in_words(small))
            }
            Outcome::Nonsense(Nonsense::NotTls(start)) if starts_otherwise => {
                let hint = match start {
                    start if start.starts_with("220") => "--starttls smtp",
                    start if start.starts_with("* OK") => "--starttls imap",
                    start if start.starts_with("+OK") => "--starttls pop3",
                    _ => "a TLS server",
                };
                format!("{small}: expected {hint}")
            }
            other => format!("{}: expected a TLS server", in_words(other)),
        }))
    }
}

fn in_words(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Closed => "the server closed the connection without an answer".into(),
        Outcome::Reset => "the server reset the connection".into(),
        other => other.to_string(),
    }
}

fn is_too_old(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Alert(Alert { number: PROTOCOL_VERSION, .. }))
}

fn record(hello: &ClientHello<'_>) -> Result<Vec<u8>, Failure> {
    hello.record().map_err(Failure::new)
}

/// Returns the code points of [`BROWSERS_GROUPS`].
fn browsers_groups() -> Vec<u16> {
    BROWSERS_GROUPS.iter().filter_map(|name| code_point_named(name)).collect()
}

/// Returns the groups to ask for. Those that resist quantum computers come first: that is what a
/// server sees that follows the client's order.
fn candidates(with_private: bool) -> Vec<u16> {
    let ours = TLS_GROUPS.iter().filter(|group| with_private || !group.is_private());
    let others = OTHER_GROUPS.iter().map(|group| group.code_point);
    ours.map(|group| group.code_point).chain(others).collect()
}

/// Checks that the server chose from what was offered (RFC 8446, section 4.2.8).
fn checked(outcome: Outcome, groups: &[u16], shares: &[u16]) -> Outcome {
    let error = match &outcome {
        Outcome::Retry(retry) => match retry.group {
            _ if retry.version != TLS_1_3 => Some("a HelloRetryRequest of another version"),
            None => Some("a HelloRetryRequest without a group"),
            Some(group) if !groups.contains(&group) => Some("it asks for a group not offered"),
            Some(group) if shares.contains(&group) => Some("it asks for a key share that it has"),
            Some(_) => None,
        },
        Outcome::Hello(hello) if hello.version == TLS_1_3 => match hello.group {
            None => Some("a ServerHello without a key share"),
            Some(group) if !shares.contains(&group) => Some("it chose a group without a key share"),
            Some(_) => None,
        },
        Outcome::Hello(hello) if hello.version > TLS_1_2 => Some("a version that does not exist"),
        _ => None,
    };
    error.map_or(outcome, |error| Outcome::Nonsense(Nonsense::Malformed(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_offered_can_be_chosen() {
        let hello = |version, group| ServerHello { version, group, bytes: 100 };
        let is_good = |outcome: Outcome| checked(outcome.clone(), &[1, 2], &[1]) == outcome;
        assert!(is_good(Outcome::Hello(hello(TLS_1_3, Some(1)))));
        assert!(is_good(Outcome::Retry(hello(TLS_1_3, Some(2)))));
        assert!(is_good(Outcome::Hello(hello(TLS_1_2, None))));
        assert!(is_good(Outcome::Hello(hello(0x0301, None))));
        for wrong in [
            Outcome::Hello(hello(TLS_1_3, Some(2))),
            Outcome::Hello(hello(TLS_1_3, None)),
            Outcome::Hello(hello(0x0305, None)),
            Outcome::Retry(hello(TLS_1_3, Some(1))),
            Outcome::Retry(hello(TLS_1_3, Some(3))),
            Outcome::Retry(hello(TLS_1_3, None)),
            Outcome::Retry(hello(TLS_1_2, Some(2))),
        ] {
            assert!(!is_good(wrong.clone()), "{wrong:?}");
        }
    }

    #[test]
    fn private_groups_are_asked_for_on_request_only() {
        let private = |list: &[u16]| list.iter().any(|id| kex::PRIVATE_CODE_POINTS.contains(id));
        assert!(!private(&candidates(false)) && private(&candidates(true)));
        assert_eq!(browsers_groups(), [0x11EC, 0x001D, 0x0017, 0x0018]);
        assert_eq!(candidates(false)[0], browsers_groups()[0]);
        // They fit into one segment, with a share of X25519 and a name.
        let share = key_share(0x1D).unwrap();
        let name = "a".repeat(255);
        let (groups, shares) = (candidates(true), [&share]);
        let hello = ClientHello {
            server_name: Some(&name),
            versions: Versions::Tls12And13,
            groups: &groups,
            shares: &shares,
            at_least: 0,
        };
        assert!(hello.record().unwrap().len() < 1000);
    }
}
