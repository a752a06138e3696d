//! The report in words: the verdict, and what it rests on.

use kex::RECOMMENDED_GROUPS;

use super::report::{Exchange, Group, Kind, Report, Sent, ThisMachine, Verdict};

/// The group that browsers prefer.
const WANTED: &str = RECOMMENDED_GROUPS[0];

/// Returns the report's lines.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = vec![verdict(report)];
    lines.extend(delivery(report));
    lines.push(match &report.version {
        Some(version) => format!("version: {version}"),
        None => "version: TLS 1.2 and TLS 1.3 were refused".into(),
    });
    lines.extend(groups(report));
    lines.extend(key_shares(report));
    lines.push(browser(report));
    lines.push(this_machine(report));
    if let Some(bytes) = report.segment_bytes {
        lines.push(format!("TCP segments: up to {} bytes on this connection", shown(bytes)));
    }
    if report.cut_short {
        lines.push("left out, for lack of time: the rest; a longer --timeout gives more".into());
    }
    lines.push(format!(
        "{} connections in turn, {:.1} s; the certificate was not looked at, and need not be",
        report.connections, report.seconds
    ));
    lines
}

fn verdict(report: &Report) -> String {
    let server = &report.server;
    let chosen = report.browser.group.as_deref().unwrap_or("another group");
    match report.verdict {
        Verdict::Taken => format!("{server} takes {WANTED}, the group that browsers prefer"),
        Verdict::TakenInOnePiece => format!(
            "{server} takes {WANTED}, but not from every client: a ClientHello must arrive in one piece"
        ),
        Verdict::NotPreferred => format!(
            "{server} has {WANTED}, but gives browsers {chosen}: put {WANTED} first in its list of groups"
        ),
        Verdict::NotReached => {
            let has = report.groups.iter().any(|group| group.name == WANTED);
            let has = if has { format!("has {WANTED}, but") } else { "takes TLS, but".into() };
            format!("{server} {has} does not answer a ClientHello with a key share of {WANTED}")
        }
        Verdict::Absent => format!(
            "{server} does not take {WANTED}, so browsers get {chosen}: if it uses OpenSSL, 'fastkex enable' there adds it"
        ),
        Verdict::NotChosen => format!(
            "{server} gives browsers {chosen}, and whether it has {WANTED} could not be found out"
        ),
        Verdict::NoTls13 => {
            format!(
                "{server} does not speak TLS 1.3, which {WANTED} needs: allow TLS 1.3 on the server"
            )
        }
    }
}

/// Says which ClientHellos were answered, and what that means.
fn delivery(report: &Report) -> Vec<String> {
    let all = &report.client_hellos;
    let find = |kind: Kind, in_pieces: bool| {
        all.iter()
            .filter(move |sent| sent.kind == kind && sent.first_piece_bytes.is_some() == in_pieces)
    };
    let failed: Vec<_> = all.iter().filter(|sent| !sent.answered).collect();
    if failed.is_empty() {
        let pieces: Vec<_> = find(Kind::Browser, true)
            .filter_map(|sent| sent.first_piece_bytes)
            .map(shown)
            .collect();
        return match pieces.split_last() {
            None => Vec::new(),
            Some((last, rest)) => vec![format!(
                "delivery: a ClientHello of {} bytes is answered whole, and in two pieces, the first of {} or {last} bytes",
                shown(report.browser.client_hello_bytes),
                rest.join(", ")
            )],
        };
    }
    let mut lines: Vec<_> =
        all.iter().map(|sent| format!("delivery: {}: {}", described(sent), sent.outcome)).collect();
    // Neither is true of what was left out for lack of time.
    let fails = |kind, in_pieces| find(kind, in_pieces).any(|sent| !sent.answered);
    let arrives =
        |kind, in_pieces| find(kind, in_pieces).next().is_some() && !fails(kind, in_pieces);
    let whole = shown(report.browser.client_hello_bytes);
    let between = "something between here and there, or the server,";
    let small = shown(find(Kind::Small, false).next().map_or(0, |sent| sent.bytes));
    if report.version.is_none() {
        return lines;
    }
    if fails(Kind::Again, false) {
        lines.push(
            "In the end a ClientHello was not answered that was answered at first: the server is busy, or does not answer this machine any more; try again later"
                .into(),
        );
    } else if fails(Kind::Browser, false) {
        lines.push(if arrives(Kind::Padded, false) {
            format!(
                "A ClientHello of {whole} bytes is answered without a key share of {WANTED}, and not with one: {between} refuses the group instead of ignoring it"
            )
        } else if arrives(Kind::Browser, true) {
            format!(
                "A ClientHello of {whole} bytes is answered in two pieces, and not in one: large packets are lost between here and there, where the MTU must be smaller than the ends know"
            )
        } else if arrives(Kind::Small, true) {
            format!(
                "A ClientHello of {small} bytes is answered, one of {whole} bytes is not: {between} drops large ones"
            )
        } else if fails(Kind::Small, true) {
            format!(
                "A ClientHello of {small} bytes is answered, one of {whole} bytes is not, nor a small one in two pieces: {between} expects a ClientHello in one TCP segment"
            )
        } else {
            format!("A ClientHello of {small} bytes is answered, one of {whole} bytes is not")
        });
    } else if fails(Kind::Small, true) {
        lines.push(format!(
            "No ClientHello is answered that arrives in two pieces: {between} expects it in one read"
        ));
    } else if fails(Kind::Browser, true) {
        lines.push(format!(
            "A ClientHello of {whole} bytes is answered in one piece, and not in two: {between} expects it in one read"
        ));
    } else if fails(Kind::Small, false) {
        lines.push(format!("A ClientHello of {whole} bytes is answered, one of {small} is not"));
    }
    lines
}

fn described(sent: &Sent) -> String {
    let kind = match sent.kind {
        Kind::Small => "a share of X25519",
        Kind::Browser => "shares as from browsers",
        Kind::Padded => "a share of X25519 and padding",
        Kind::Again => "a share of X25519, again",
    };
    let pieces = match sent.first_piece_bytes {
        Some(first) => format!("two pieces, the first of {} bytes", shown(first)),
        None => "whole".into(),
    };
    format!("ClientHello of {} bytes with {kind}, {pieces}", shown(sent.bytes))
}

fn groups(report: &Report) -> Option<String> {
    let groups = &report.groups;
    if groups.is_empty() {
        return None;
    }
    let (order, names) = match report.order {
        "server" => (", in the server's order", listed(groups)),
        "client" => (", in the client's order", listed(groups)),
        "server_then_client" => (", the client's order where it says 'or'", tiers(groups)),
        "single" => ("", listed(groups)),
        _ => (", their order was not found out", listed(groups)),
    };
    let more = if report.all_groups_asked { "" } else { "; there may be more" };
    Some(format!("groups{order}: {names}{more}"))
}

fn listed(groups: &[Group]) -> String {
    groups.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(", ")
}

fn tiers(groups: &[Group]) -> String {
    let tiers = groups.chunk_by(|a, b| a.rank == b.rank);
    let one = |tier: &[Group]| {
        tier.iter().map(|group| group.name.as_str()).collect::<Vec<_>>().join(" or ")
    };
    tiers.map(one).collect::<Vec<_>>().join(", ")
}

fn key_shares(report: &Report) -> Option<String> {
    let shares = report.key_shares.as_ref()?;
    let (preferred, sent) = (&shares.preferred, &shares.sent);
    Some(if shares.asks_again {
        format!(
            "key shares: a client that has {preferred} and sends a share of {sent} only is asked for one of {preferred}, which takes a round trip"
        )
    } else {
        format!(
            "key shares: a client that has {preferred} and sends a share of {sent} only gets {sent}"
        )
    })
}

fn browser(report: &Report) -> String {
    let exchange = &report.browser;
    format!("browsers{}; {}", choice("get", exchange), hellos(exchange))
}

fn this_machine(report: &Report) -> String {
    match &report.this_machine {
        ThisMachine::NotAsked { error } => format!("this machine: not asked: {error}"),
        ThisMachine::Asked { openssl, configuration, key_shares, exchange, .. } => {
            let file = match configuration {
                Some(file) => format!("with {file}"),
                None => "without a configuration".into(),
            };
            let shares = match &key_shares[..] {
                [] => "no key share".to_owned(),
                [one] => format!("a key share of {one}"),
                several => format!("key shares of {}", several.join(" and ")),
            };
            format!(
                "this machine: {openssl} {file} sends {shares}{}; {}",
                choice("and gets", exchange),
                hellos(exchange)
            )
        }
    }
}

/// Says what a client gets, in words that follow the client.
fn choice(gets: &str, exchange: &Exchange) -> String {
    match &exchange.group {
        Some(group) if exchange.retry => {
            format!(" {gets} {group} after a HelloRetryRequest, which takes a round trip")
        }
        Some(group) => format!(" {gets} {group} without a retry"),
        None if exchange.server_hello_bytes.is_some() => {
            format!(" {gets} a version before TLS 1.3")
        }
        None => format!(": {}", exchange.outcome),
    }
}

/// Says how large the hellos are.
fn hellos(exchange: &Exchange) -> String {
    let segments = match exchange.segments {
        Some(1) => " in 1 TCP segment".to_owned(),
        Some(count) => format!(" in {count} TCP segments"),
        None => String::new(),
    };
    let message = if exchange.retry { "HelloRetryRequest" } else { "ServerHello" };
    let answer =
        exchange.server_hello_bytes.map(|bytes| format!(", {message} {} bytes", shown(bytes)));
    format!(
        "ClientHello {} bytes{segments}{}",
        shown(exchange.client_hello_bytes),
        answer.unwrap_or_default()
    )
}

fn shown(bytes: usize) -> String {
    measure::grouped(bytes as f64)
}
