//! The report on a server, as `--json` has it.

use kex::{RECOMMENDED_GROUPS, code_point_named, is_post_quantum, shown_group};
use serde::Serialize;
use timer::Endpoint;
use tls_probe::{Delivery, Given, Groups, Order, Outcome, Surveyed, TLS_1_3, Target};

use super::client::OwnClient;
use output::Failure;

/// The answer to the question that the exit status is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    /// Clients that offer the group as browsers do get it.
    Taken,
    /// They do, unless their ClientHello arrives in pieces.
    TakenInOnePiece,
    /// The server has the group, but chose another one.
    NotPreferred,
    /// A ClientHello with a key share of the group is not answered.
    NotReached,
    /// The server does not have the group.
    Absent,
    /// The server chose another group; it was not found out whether it has this one.
    NotChosen,
    /// The server does not speak TLS 1.3.
    NoTls13,
}

/// A report. The names of its fields are those of the JSON object.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    pub(super) server: String,
    pub(super) address: String,
    pub(super) server_name: Option<String>,
    pub(super) verdict: Verdict,
    /// True if the exit status is 0.
    pub(super) post_quantum: bool,
    /// As the registry has it, such as "TLS 1.3"; `None` if TLS 1.2 and 1.3 were refused.
    pub(super) version: Option<String>,
    /// By preference, best first; empty without TLS 1.3.
    pub(super) groups: Vec<Group>,
    pub(super) order: &'static str,
    /// False if the server may have groups that are not listed.
    pub(super) all_groups_asked: bool,
    pub(super) key_shares: Option<KeyShares>,
    pub(super) browser: Exchange,
    pub(super) this_machine: ThisMachine,
    pub(super) segment_bytes: Option<usize>,
    pub(super) client_hellos: Vec<Sent>,
    pub(super) connections: usize,
    pub(super) seconds: f64,
    /// True if questions were left out for lack of time.
    pub(super) cut_short: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) code_point: u16,
    pub(super) post_quantum: bool,
    /// Groups of the same rank are in the client's order.
    pub(super) rank: usize,
}

/// The server's answer to a share of another group than its preferred one.
#[derive(Debug, Serialize)]
pub(super) struct KeyShares {
    pub(super) preferred: String,
    pub(super) sent: String,
    pub(super) asks_again: bool,
}

/// A ClientHello and the server's choice.
#[derive(Debug, Serialize)]
pub(super) struct Exchange {
    pub(super) group: Option<String>,
    pub(super) retry: bool,
    pub(super) client_hello_bytes: usize,
    pub(super) server_hello_bytes: Option<usize>,
    /// Segments that the ClientHello takes on this connection.
    pub(super) segments: Option<usize>,
    pub(super) outcome: String,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum ThisMachine {
    Asked {
        openssl: String,
        configuration: Option<String>,
        groups: Vec<String>,
        key_shares: Vec<String>,
        #[serde(flatten)]
        exchange: Exchange,
    },
    NotAsked {
        error: String,
    },
}

/// A delivery of a ClientHello.
#[derive(Debug, Serialize)]
pub(super) struct Sent {
    pub(super) kind: Kind,
    pub(super) bytes: usize,
    /// Bytes of the first of two pieces.
    pub(super) first_piece_bytes: Option<usize>,
    pub(super) answered: bool,
    pub(super) outcome: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    /// With a key share of X25519 only.
    Small,
    /// With the key shares of browsers.
    Browser,
    /// The small one, filled up to the size of the browser's.
    Padded,
    /// The small one, after all others.
    Again,
}

impl Report {
    pub(super) fn new(
        endpoint: &Endpoint,
        target: &Target,
        surveyed: &Surveyed,
        client: &Result<OwnClient, Failure>,
    ) -> Self {
        let verdict = verdict(surveyed);
        let groups = surveyed.groups.as_ref();
        let segment = surveyed.segment_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let segment = segment.filter(|&bytes| bytes > 0);
        Report {
            server: endpoint.to_string(),
            address: target.address.to_string(),
            server_name: target.name.clone(),
            verdict,
            post_quantum: verdict == Verdict::Taken,
            version: surveyed.version.map(shown_version),
            groups: groups.map(ranked).unwrap_or_default(),
            order: order(groups),
            all_groups_asked: groups.is_some_and(|groups| groups.unknown.is_empty()),
            key_shares: surveyed.keeps.map(|keeps| KeyShares {
                preferred: shown_group(keeps.preferred),
                sent: shown_group(keeps.sent),
                asks_again: keeps.asks_again,
            }),
            browser: Exchange::new(&surveyed.whole, segment),
            this_machine: match (client, &surveyed.given) {
                (Ok(client), Some(given)) => ThisMachine::new(client, given, segment),
                (Ok(_), None) => ThisMachine::NotAsked { error: "no time was left".into() },
                (Err(failure), _) => ThisMachine::NotAsked { error: failure.to_string() },
            },
            segment_bytes: segment,
            client_hellos: sent(surveyed),
            connections: surveyed.connections,
            // Milliseconds are enough.
            seconds: surveyed.elapsed.as_millis() as f64 / 1000.0,
            cut_short: surveyed.is_cut_short,
        }
    }
}

impl Exchange {
    fn new(delivery: &Delivery, segment: Option<usize>) -> Self {
        let choices = delivery.outcome.choices();
        Exchange {
            group: delivery.outcome.group().map(shown_group),
            retry: matches!(delivery.outcome, Outcome::Retry(_)),
            client_hello_bytes: delivery.bytes,
            server_hello_bytes: choices.map(|choices| choices.bytes),
            segments: segment.map(|segment| delivery.bytes.div_ceil(segment)),
            outcome: delivery.outcome.to_string(),
        }
    }
}

impl ThisMachine {
    fn new(client: &OwnClient, given: &Given, segment: Option<usize>) -> Self {
        let names = |groups: &[u16]| groups.iter().map(|&group| shown_group(group)).collect();
        ThisMachine::Asked {
            openssl: client.openssl.clone(),
            configuration: client.configuration.as_ref().map(|file| file.display().to_string()),
            groups: names(&given.groups),
            key_shares: names(&given.shares),
            exchange: Exchange::new(&given.delivery, segment),
        }
    }
}

fn verdict(surveyed: &Surveyed) -> Verdict {
    let whole = &surveyed.whole.outcome;
    let in_pieces = surveyed.splits.iter().all(|delivery| delivery.outcome.is_answer());
    let wanted = code_point_named(RECOMMENDED_GROUPS[0]);
    let is_wanted = |group: u16| Some(group) == wanted;
    if surveyed.version != Some(TLS_1_3) {
        Verdict::NoTls13
    } else if !whole.is_answer() {
        Verdict::NotReached
    } else if whole.group().is_some_and(is_wanted) {
        if in_pieces { Verdict::Taken } else { Verdict::TakenInOnePiece }
    } else {
        match &surveyed.groups {
            Some(groups) if groups.tiers.groups().any(is_wanted) => Verdict::NotPreferred,
            Some(groups) if !groups.unknown.iter().copied().any(is_wanted) => Verdict::Absent,
            _ => Verdict::NotChosen,
        }
    }
}

fn shown_version(number: u16) -> String {
    match number {
        0x0300 => "SSL 3.0".into(),
        0x0301..=0x0304 => format!("TLS 1.{}", number - 0x0301),
        other => format!("version {other:#06x}"),
    }
}

fn ranked(groups: &Groups) -> Vec<Group> {
    let tiers = groups.tiers.tiers.iter().enumerate();
    let ranked = tiers.flat_map(|(rank, tier)| tier.iter().map(move |&group| (rank, group)));
    ranked
        .map(|(rank, group)| Group {
            name: shown_group(group),
            code_point: group,
            post_quantum: is_post_quantum(group),
            rank: rank + 1,
        })
        .collect()
}

fn order(groups: Option<&Groups>) -> &'static str {
    match groups.map(|groups| groups.tiers.order) {
        Some(Order::Server) => "server",
        Some(Order::Client) => "client",
        Some(Order::Tiers) => "server_then_client",
        Some(Order::Single) => "single",
        Some(Order::Unknown) | None => "unknown",
    }
}

fn sent(surveyed: &Surveyed) -> Vec<Sent> {
    let one = |kind, delivery: &Delivery| Sent {
        kind,
        bytes: delivery.bytes,
        first_piece_bytes: delivery.split,
        answered: delivery.outcome.is_answer(),
        outcome: delivery.outcome.to_string(),
    };
    let mut all = vec![one(Kind::Small, &surveyed.small), one(Kind::Browser, &surveyed.whole)];
    all.extend(surveyed.padded.iter().map(|delivery| one(Kind::Padded, delivery)));
    all.extend(surveyed.splits.iter().map(|delivery| {
        let is_small = delivery.bytes == surveyed.small.bytes;
        one(if is_small { Kind::Small } else { Kind::Browser }, delivery)
    }));
    all.extend(surveyed.again.iter().map(|delivery| one(Kind::Again, delivery)));
    all
}
