//! A self-contained HTML page with all figures and tables.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use measure::{grouped, quantile};
use output::Failure;
use timer::results::{CostRow, HandshakeCosts, Peak, Run, Series, What};

use crate::findings::{self, Order, signed};
use crate::published::{self, Source};
use crate::{Batches, Figure, Input, costs, names, runs};

const STYLE: &str = include_str!("report.css");

/// Returns the page as HTML. `raw` are the names of the data files beside it.
///
/// # Errors
/// A figure cannot be drawn.
pub fn page(input: &Input, title: &str, raw: &[String]) -> Result<String, Failure> {
    let mut sections = Vec::new();
    for (number, (file, run)) in input.runs.iter().enumerate() {
        let figures = runs::figures(run).map_err(Failure::about("cannot draw"))?;
        sections.push(of_run(number + 1, file, run, &figures));
    }
    for (number, (file, batches)) in input.batches.iter().enumerate() {
        let figure = batches.figure().map_err(Failure::about("cannot draw"))?;
        sections.push(of_batches(number + 1, file, batches, &figure));
    }
    for (number, (file, costs)) in input.costs.iter().enumerate() {
        let figure = costs::figure(costs).map_err(Failure::about("cannot draw"))?;
        sections.push(of_costs(number + 1, file, costs, &figure));
    }
    let incomplete = input.runs.iter().filter(|(_, run)| !run.complete).count();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p {
                        "Numbers are medians with their quartiles, unless a column says otherwise; connections that failed are counted, and in no \
                         other number. Rows in italics are what papers have published, from other machines: compare ratios, not rates."
                    }
                    @if incomplete > 0 {
                        p.warning { (incomplete) " of " (input.runs.len()) " runs incomplete: ended before everything was measured." }
                    }
                    @if input.runs.len() > 1 { (overview(input)) }
                    @if !raw.is_empty() {
                        p {
                            "What it was made of: "
                            @for (i, name) in raw.iter().enumerate() {
                                @if i > 0 { ", " }
                                // Without `./`, a name with a colon would be read as a URL with a
                                // scheme.
                                a href={ "./" (encoded(name)) } { (name) }
                            }
                            "."
                        }
                    }
                }
                main { @for section in &sections { (section) } }
            }
        }
    };
    Ok(page.into_string())
}

/// Percent-encodes a file name for a URL.
fn encoded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut text = String::new();
    for byte in name.bytes() {
        match plain(byte) {
            true => text.push(byte.into()),
            false => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

fn heading(run: &Run) -> String {
    let server = run.scene.as_ref().and_then(|scene| scene.servers.first()).unwrap_or(&run.target);
    let link = run.scene.as_ref().and_then(|scene| scene.link.as_ref());
    let link = link.map_or(String::new(), |link| format!(", {link}"));
    format!("{}: {server}{link}", names::what(run.what))
}

fn overview(input: &Input) -> Markup {
    html! {
        ol {
            @for (i, (_, run)) in input.runs.iter().enumerate() {
                li {
                    a href={ "#run-" (i + 1) } { (heading(run)) }
                    @if !run.complete { strong { " (incomplete)" } }
                    @if let Some(order) = findings::order(run) {
                        @if order.holds { "; figure 5’s order holds" } @else { "; figure 5’s order does not hold" }
                    }
                }
            }
            @for (i, (file, _)) in input.batches.iter().enumerate() {
                li { a href={ "#batches-" (i + 1) } { "Batches of keys: " (file) } }
            }
            @for (i, (file, _)) in input.costs.iter().enumerate() {
                li { a href={ "#costs-" (i + 1) } { "Processor time of handshakes: " (file) } }
            }
        }
    }
}

/// Embeds a figure in the page.
fn inline(figure: &Figure) -> Markup {
    // In HTML an svg element needs no namespace.
    let svg = figure.svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", " role=\"img\"", 1);
    html! {
        figure {
            div.drawing { (PreEscaped(svg)) }
            figcaption { (figure.title) }
        }
    }
}

fn of_run(number: usize, file: &str, run: &Run, figures: &[Figure]) -> Markup {
    let (http, plain): (Vec<_>, Vec<_>) =
        run.series.iter().partition(|series| series.requests.is_some());
    html! {
        section id={ "run-" (number) } {
            h2 { (number) ". " (heading(run)) }
            @if !run.complete {
                p.warning { "Incomplete: the run was ended before everything was measured." }
            }
            (setup(file, run))
            (reference(run))
            (order(run))
            @for figure in figures { (inline(figure)) }
            @if !plain.is_empty() { (rates(run, &plain)) }
            @if !http.is_empty() { (latency(&http)) }
            @if !run.series.is_empty() {
                (times(run))
                (messages(run))
            }
            @if run.what != What::Tls && !run.series.is_empty() { (data(run)) }
            @if !run.peaks.is_empty() { (peaks(run)) }
            (failures(run))
            (differences(run))
        }
    }
}

fn setup(file: &str, run: &Run) -> Markup {
    let plan = run.plan;
    html! {
        dl {
            dt { "Server" } dd {
                @match &run.scene {
                    Some(scene) => { (scene.servers.join(", ")) "; OpenSSL " (scene.openssl) }
                    None => { (run.target) ", not started by the tool" }
                }
            }
            dt { "Client" } dd { (run.client) }
            dt { "Link" } dd {
                @match &run.scene {
                    Some(scene) => (scene.link.as_deref().unwrap_or("loopback")),
                    None => "unknown",
                }
            }
            dt { "Processors" } dd {
                @match &run.scene {
                    Some(scene) => { "client " (scene.processors[0]) ", server " (scene.processors[1]) },
                    None => "not assigned",
                }
            }
            dt { "Size" } dd {
                (plan.samples) " samples of " (grouped(plan.connections as f64)) " connections, in turn; "
                (plan.concurrency) " at a time; before each sample " (plan.warm_up) " that are not counted"
            }
            dt { "Load" } dd {
                @match run.load {
                    Some(load) => { (format!("{load:.2}")) " processes on average in the minute before" }
                    None => "unknown",
                }
            }
            dt { "Machine" } dd { (run.machine) }
            dt { "File" } dd { (file) }
        }
    }
}

/// Compares the run with the order in OpenSSLNTRU's figure 5.
fn order(run: &Run) -> Markup {
    let Some(order) = findings::order(run) else { return html! {} };
    html! {
        p.finding {
            @if order.holds {
                strong { "Figure 5’s order holds in this run: " }
                "sntrup makes more connections per second than OpenSSL’s curves"
            } @else {
                strong { "Figure 5’s order does not hold in this run: " }
                "not every sntrup makes more connections per second than each of OpenSSL’s curves"
            }
            (pairs(&order))
        }
        @if !order.holds { (why(run)) }
    }
}

fn pairs(order: &Order<'_>) -> Markup {
    html! {
        " (medians of rounds: " (order.pair_texts().join("; ")) "). "
        @if order.quartiles_separate { "The quartiles are apart." } @else { "Quartiles overlap, so some of that is noise." }
    }
}

/// Compares keys from batches with the reference implementation, if a run has both (OpenSSLNTRU,
/// appendix F.5.2).
fn reference(run: &Run) -> Markup {
    let Some(order) = findings::reference(run) else { return html! {} };
    html! {
        p.finding {
            @if order.holds {
                strong { "Batches are faster than the reference code in this run" }
            } @else {
                strong { "Batches are not faster than the reference code in this run" }
            }
            (pairs(&order))
        }
    }
}

/// Explains an order that does not hold, with the processor time by group.
fn why(run: &Run) -> Markup {
    let known = run.series.iter().filter_map(|series| {
        let (user, kernel, server) = series.processor_microseconds()?;
        let server = server.map_or("unknown".to_owned(), |time| format!("{} µs", grouped(time)));
        let client = grouped(user + kernel);
        Some(format!("{}: client {client} µs, server {server}", names::name(series)))
    });
    let known: Vec<_> = known.collect();
    html! {
        p {
            "What is known: processor time of a connection, by group. " (known.join("; ")) ". Where a group takes less processor time than a curve \
             and still makes fewer connections, the rest is waiting: for the link, for more bytes, for the scheduler. The paper’s curves \
             were those of OpenSSL 1.1.1k; later releases, and the curves of this project, are faster, and shared processors and links add what \
             is the same for all."
        }
    }
}

/// Formats a median with its quartiles: `1,366 (1,350 – 1,380)`.
fn spread(sorted: &[f64], show: impl Fn(f64) -> String) -> String {
    let part = |share| quantile(sorted, share).map(&show);
    match (part(0.25), part(0.5), part(0.75)) {
        (Some(low), Some(median), Some(high)) => {
            format!("{median} ({low} – {high})")
        }
        _ => "–".into(),
    }
}

fn optional(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

fn milliseconds(microseconds: f64) -> String {
    let milliseconds = microseconds / 1e3;
    match milliseconds {
        ..9.995 => format!("{milliseconds:.2}"),
        ..99.95 => format!("{milliseconds:.1}"),
        _ => grouped(milliseconds),
    }
}

/// Makes a table with a caption. It can be scrolled on a narrow screen. The first column holds
/// words, the others numbers.
fn table(
    caption: &str,
    columns: &[&str],
    ours: Vec<Vec<String>>,
    theirs: Vec<Vec<String>>,
) -> Markup {
    let rows = |rows: &[Vec<String>]| {
        html! {
            @for row in rows {
                tr {
                    @for (i, cell) in row.iter().enumerate() {
                        @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    }
                }
            }
        }
    };
    html! {
        div.table {
            table {
                caption { (caption) }
                thead { tr { @for column in columns { th scope="col" { (breakable(column)) } } } }
                tbody { (rows(&ours)) }
                @if !theirs.is_empty() { tbody.published { (rows(&theirs)) } }
            }
        }
    }
}

/// Allows line breaks before the inner capitals of a message's name.
fn breakable(column: &str) -> Markup {
    let inner = |(i, letter): &(usize, char)| {
        *i > 0 && letter.is_uppercase() && column[..*i].ends_with(char::is_lowercase)
    };
    let mut ends: Vec<usize> = column.char_indices().filter(inner).map(|(i, _)| i).collect();
    ends.push(column.len());
    let starts = [0].into_iter().chain(ends.clone());
    html! {
        @for (i, (from, to)) in starts.zip(&ends).enumerate() {
            @if i > 0 { wbr; }
            (column[from..*to])
        }
    }
}

fn cited(name: &str, source: &Source) -> String {
    format!("{name} — {}", source.cited)
}

/// Returns the columns that identify a series.
fn names(series: &Series) -> [String; 3] {
    let retry = if series.hello_retry { ", second round trip" } else { "" };
    let group = format!("{} ({:#06x}){retry}", series.group, series.group_id);
    [names::name(series), group, series.certificate.clone()]
}

fn rates(run: &Run, series: &[&Series]) -> Markup {
    let row = |series: &&Series| {
        let mut row = names(series).to_vec();
        row.push(spread(&series.rates(), grouped));
        row.push(optional(findings::against_x25519(run, series).map(signed)));
        row.push(series.samples.len().to_string());
        row.push(grouped(series.connections() as f64));
        row.push(grouped(series.failures() as f64));
        row
    };
    // Published rates are rates of handshakes alone.
    let theirs = if run.what == What::Tls {
        against(&published::HANDSHAKES, published::RATES, 4)
    } else {
        Vec::new()
    };
    let columns = [
        "candidate",
        "group",
        "certificate",
        "connections/s",
        "against X25519",
        "samples",
        "connections",
        "failures",
    ];
    table("Connections per second, by sample", &columns, series.iter().map(row).collect(), theirs)
}

/// Makes rows of published rates with their ratio to X25519, padded with empty columns.
fn against(source: &Source, rows: [(&str, f64); 3], empty_after: usize) -> Vec<Vec<String>> {
    let base = rows.iter().find(|(name, _)| *name == "X25519").map_or(f64::NAN, |(_, rate)| *rate);
    let row = |(name, rate): (&str, f64)| {
        let ratio = if name == "X25519" { "–".into() } else { signed(rate / base - 1.0) };
        let group = if name == "P-256" { "P-256" } else { "X25519" };
        let mut row =
            vec![cited(name, source), group.into(), "Ed25519".into(), grouped(rate), ratio];
        row.resize(row.len() + empty_after - 1, String::new());
        row
    };
    rows.into_iter().map(row).collect()
}

/// Makes a table like the AWS benchmark's table 1.
fn latency(series: &[&Series]) -> Markup {
    let mut requests: Vec<usize> = series.iter().filter_map(|series| series.requests).collect();
    requests.sort_unstable();
    requests.dedup();
    let mut labels: Vec<&str> = Vec::new();
    for series in series {
        if !labels.contains(&&*series.label) {
            labels.push(&series.label);
        }
    }
    let times = |label: &str, requests: usize| {
        let wanted = |of: &&&Series| of.label == label && of.requests == Some(requests);
        series.iter().find(wanted).map(|of| of.microseconds())
    };
    let median = |label: &str, requests| quantile(&times(label, requests)?, 0.5);
    // The base of comparison: a curve alone.
    let curve = |label: &&&str| ["x25519", "p-256"].contains(&&*names::canonical(label));
    let base = labels.iter().find(curve).copied();
    let row = |label: &&str| {
        let mut row = vec![(*label).to_owned()];
        for &count in &requests {
            row.push(times(label, count).map_or("–".into(), |all| spread(&all, milliseconds)));
            let ratio = base.filter(|base| base != label);
            let ratio =
                ratio.and_then(|base| Some(median(label, count)? / median(base, count)? - 1.0));
            row.push(optional(ratio.map(signed)));
        }
        row
    };
    let theirs = published::LATENCY.map(|(name, medians)| {
        let mut row = vec![cited(name, &published::AWS)];
        for &count in &requests {
            let at = published::REQUESTS.iter().position(|other| *other == count);
            let ratio = at.map(|at| medians[at] / published::LATENCY[0].1[at] - 1.0);
            row.push(optional(at.map(|at| format!("{:.1}", medians[at]))));
            row.push(optional(ratio.filter(|ratio| *ratio != 0.0).map(signed)));
        }
        row
    });
    let against = format!("against {}", base.unwrap_or("a curve"));
    let mut columns = vec!["candidate".to_owned()];
    for count in &requests {
        let plural = if *count == 1 { "" } else { "s" };
        columns.push(format!("{count} request{plural}, ms"));
        columns.push(against.clone());
    }
    let columns: Vec<&str> = columns.iter().map(|column| &**column).collect();
    let ours = labels.iter().map(row).collect();
    table(
        "Milliseconds of a connection by number of HTTP requests",
        &columns,
        ours,
        theirs.to_vec(),
    )
}

fn times(run: &Run) -> Markup {
    let row = |series: &Series| {
        let sorted = series.microseconds();
        let mut row = names(series).to_vec();
        let parts = [0.5, 0.9, 0.99, 0.999];
        row.extend(parts.map(|part| optional(quantile(&sorted, part).map(milliseconds))));
        let processor = series.processor_microseconds();
        row.push(optional(processor.map(|(user, ..)| grouped(user))));
        row.push(optional(processor.map(|(_, kernel, _)| grouped(kernel))));
        row.push(optional(processor.and_then(|(.., server)| server).map(grouped)));
        row.push(grouped(series.failures() as f64));
        row
    };
    let columns = [
        "candidate",
        "group",
        "certificate",
        "p50, ms",
        "p90, ms",
        "p99, ms",
        "p99.9, ms",
        "client, user, µs",
        "client, kernel, µs",
        "server, µs",
        "failures",
    ];
    let rows = run.series.iter().map(row).collect();
    table(
        "Time of a connection, and processor time of a connection on average",
        &columns,
        rows,
        Vec::new(),
    )
}

/// Makes a table like the AWS benchmark's table 2. Bytes do not depend on the number of requests,
/// so each label appears once.
fn messages(run: &Run) -> Markup {
    let mut seen: Vec<&str> = Vec::new();
    let mut series: Vec<&Series> = Vec::new();
    for of in run.series.iter().filter(|series| !series.traffic.messages.is_empty()) {
        if !seen.contains(&&*of.label) {
            seen.push(&of.label);
            series.push(of);
        }
    }
    if series.is_empty() {
        return html! {};
    }
    let mut kinds: Vec<(&str, bool)> = Vec::new();
    for message in series.iter().flat_map(|series| series.traffic.handshake_messages()) {
        let kind = (&*message.name, message.sent);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let title = |&(name, sent): &(&str, bool)| match kinds.contains(&(name, !sent)) {
        true if sent => format!("{name}, sent"),
        true => format!("{name}, received"),
        false => name.to_owned(),
    };
    let titles: Vec<String> = kinds.iter().map(title).collect();
    let mut columns = vec!["candidate"];
    columns.extend(titles.iter().map(|title| &**title));
    columns.extend(["other", "sent", "received", "total"]);
    let bytes = |number: usize| grouped(number as f64);
    let row = |series: &&Series| {
        let traffic = &series.traffic;
        let mut row = vec![series.label.clone()];
        for (name, sent) in &kinds {
            let same = traffic
                .handshake_messages()
                .filter(|message| message.name == *name && message.sent == *sent);
            let sizes: Vec<usize> = same.map(|message| message.bytes).collect();
            row.push(if sizes.is_empty() { "–".into() } else { bytes(sizes.iter().sum()) });
        }
        row.push(bytes(traffic.handshake_other()));
        row.push(bytes(traffic.handshake_sent));
        row.push(bytes(traffic.handshake_received));
        row.push(bytes(traffic.handshake_sent + traffic.handshake_received));
        row
    };
    let ours = table(
        "Bytes of the handshake, by message",
        &columns,
        series.iter().map(row).collect(),
        Vec::new(),
    );
    if run.what != What::Http {
        return ours;
    }
    let theirs = published::MESSAGES.map(|(name, sizes)| {
        let mut row = vec![cited(name, &published::AWS)];
        row.extend(sizes.map(|size| bytes(size as usize)));
        row
    });
    let columns =
        ["candidate", "ClientHello", "ServerKeyExchange", "ClientKeyExchange", "other", "total"];
    html! {
        (ours)
        (table("The same, published: TLS 1.2, where the server’s share is in ServerKeyExchange and the client’s in ClientKeyExchange, which \
                TLS 1.3 has in ServerHello and ClientHello", &columns, Vec::new(), theirs.to_vec()))
    }
}

/// Makes a table like the AWS benchmark's table 3.
fn data(run: &Run) -> Markup {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for series in &run.series {
        let traffic = &series.traffic;
        let bytes = [
            traffic.data_sent,
            traffic.data_received,
            traffic.data_sent + traffic.data_received,
            traffic.sent,
            traffic.received,
            traffic.sent + traffic.received,
        ];
        let mut row = vec![names::name(series)];
        row.extend(bytes.map(|bytes| grouped(bytes as f64)));
        rows.push(row);
    }
    let mut theirs = Vec::new();
    if run.what == What::Http {
        for (requests, [sent, received]) in published::REQUESTS.iter().zip(published::HTTP) {
            let plural = if *requests == 1 { "" } else { "s" };
            let mut row = vec![cited(&format!("{requests} request{plural}"), &published::AWS)];
            row.extend([sent, received, sent + received].map(|bytes| grouped(bytes.into())));
            row.resize(7, String::new());
            theirs.push(row);
        }
    }
    let columns =
        ["candidate", "requests", "responses", "both", "on the socket: sent", "received", "total"];
    table("Bytes of application data, and of all that the socket carried", &columns, rows, theirs)
}

fn peaks(run: &Run) -> Markup {
    let best = |peak: &Peak| peak.best().filter(|best| best.served > 0).copied();
    // OpenSSL's X25519, as in the table of rates.
    let is_base =
        |peak: &&Peak| names::canonical(&peak.group) == "x25519" && !peak.parts().uses_fastkex();
    let base = run.peaks.iter().find(is_base).and_then(best).map(|best| best.per_minute());
    let row = |peak: &Peak| {
        let mut row = vec![names::peak_name(peak), peak.group.clone(), peak.certificate.clone()];
        let best = best(peak);
        let rate = best.map(|best| best.per_minute());
        row.push(optional(rate.map(grouped)));
        let ratio =
            rate.zip(base).filter(|_| !is_base(&peak)).map(|(rate, base)| rate / base - 1.0);
        row.push(optional(ratio.map(signed)));
        row.push(optional(best.map(|best| best.clients.to_string())));
        let server = best.and_then(|best| best.server_microseconds());
        row.push(optional(server.map(grouped)));
        row.push(peak.failures().to_string());
        row
    };
    let theirs = if run.what == What::Dot {
        against(&published::PEAKS, published::QUERIES, 4)
    } else {
        Vec::new()
    };
    let columns = [
        "candidate",
        "group",
        "certificate",
        "per minute",
        "against X25519",
        "clients",
        "server, µs a connection",
        "failures",
    ];
    table("The server’s peak", &columns, run.peaks.iter().map(row).collect(), theirs)
}

fn failures(run: &Run) -> Markup {
    let of_series = run.series.iter().map(|series| (names::name(series), &series.first_failure));
    let of_peaks = run.peaks.iter().map(|peak| (names::peak_name(peak), &peak.first_failure));
    let all: Vec<_> =
        of_series.chain(of_peaks).filter_map(|(name, why)| Some((name, why.as_ref()?))).collect();
    html! {
        @if run.failures() > 0 {
            p.warning { (grouped(run.failures() as f64)) " connections failed." }
        }
        @if !all.is_empty() {
            ul { @for (name, why) in all { li { (name) ", first failure: " (why) } } }
        }
    }
}

/// Lists the differences from the set-ups of the published numbers.
fn differences(run: &Run) -> Markup {
    let sources: &[Source] = match run.what {
        What::Tls => &[published::FIGURE_5, published::HANDSHAKES],
        What::Dot => &[published::PEAKS],
        What::Http => &[published::AWS],
    };
    html! {
        h3 { "What differs from the published set-ups" }
        ul {
            @for source in sources { li { (source.cited) ": " (source.setup) "." } }
            li { "Here: " (names::setup(run)) "; " (run.machine) "." }
        }
    }
}

fn of_costs(number: usize, file: &str, costs: &HandshakeCosts, figure: &Figure) -> Markup {
    let row = |row: &CostRow| {
        vec![
            row.certificate.clone(),
            row.group.clone(),
            row.module.text().to_owned(),
            grouped(row.cost.client_microseconds),
            grouped(row.cost.server_microseconds),
            grouped(row.cost.microseconds),
            format!("{:+.1} %", 100.0 * (row.cost.ratio - 1.0)),
            measure::percent(row.cost.spread),
        ]
    };
    let columns = [
        "certificate",
        "group",
        "module",
        "client, µs",
        "server, µs",
        "both, µs",
        "against the first row",
        "spread",
    ];
    html! {
        section id={ "costs-" (number) } {
            h2 { "Processor time of handshakes: " (file) }
            (inline(figure))
            (table("Processor time of one handshake", &columns, costs.rows.iter().map(row).collect(), Vec::new()))
        }
    }
}

fn of_batches(number: usize, file: &str, batches: &Batches, figure: &Figure) -> Markup {
    let row = |point: &crate::Point| {
        vec![
            format!("{}, {}", point.algorithm, point.backend),
            point.batch.to_string(),
            optional(point.per_key.core_cycles.map(grouped)),
            grouped(point.per_key.nanoseconds),
            optional(point.latency_core_cycles().map(grouped)),
            grouped(point.latency_nanoseconds()),
            measure::bytes(point.memory_bytes() as f64),
            measure::percent(point.per_key.spread),
        ]
    };
    let columns = [
        "parameter set",
        "batch",
        "cycles per key",
        "ns per key",
        "latency, cycles",
        "latency, ns",
        "memory",
        "spread",
    ];
    html! {
        section id={ "batches-" (number) } {
            h2 { "Batches of keys: " (file) }
            (inline(figure))
            (table("What a key costs by the size of its batch", &columns, batches.points.iter().map(row).collect(), Vec::new()))
        }
    }
}
