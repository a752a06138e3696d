//! Formats a run as text.

use measure::{Align, Table, grouped, percent, quantile};
use timer::results::{PeakStep, Run, Series, What};

/// Returns the tables of a run, and a description of its measurement.
pub(crate) fn text(run: &Run) -> String {
    let mut parts = Vec::new();
    if !run.series.is_empty() {
        parts.push(times(run));
        parts.push(traffic(run));
    }
    if !run.peaks.is_empty() {
        parts.push(peaks(run));
    }
    parts.push(about(run));
    parts.join("\n\n")
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), grouped)
}

fn times(run: &Run) -> String {
    let mut columns = vec![("groups", Align::Left)];
    let http = run.what == What::Http;
    if http {
        columns.push(("requests", Align::Right));
    }
    columns.extend([
        ("connections/s", Align::Right),
        ("quartiles", Align::Right),
        ("of the first", Align::Right),
        ("p50 \u{b5}s", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("client user \u{b5}s", Align::Right),
        ("kernel", Align::Right),
        ("server", Align::Right),
        ("failed", Align::Right),
        ("negotiated", Align::Left),
        ("certificate", Align::Left),
    ]);
    let mut table = Table::new(&columns);
    for series in &run.series {
        let (rates, times) = (series.rates(), series.microseconds());
        let rate = |part| number(quantile(&rates, part));
        let processor = series.processor_microseconds();
        let mut row = vec![series.label.clone()];
        if http {
            row.push(series.requests.map_or_else(String::new, |requests| requests.to_string()));
        }
        row.extend([rate(0.5), format!("{}-{}", rate(0.25), rate(0.75))]);
        // The first series with the same number of requests.
        let first = run.series.iter().find(|other| other.requests == series.requests);
        let ratio = first.and_then(|first| series.ratio_to(first));
        row.push(ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}")));
        row.extend([0.5, 0.9, 0.99, 0.999].map(|part| number(quantile(&times, part))));
        row.extend([
            number(processor.map(|(user, _, _)| user)),
            number(processor.map(|(_, kernel, _)| kernel)),
            number(processor.and_then(|(_, _, server)| server)),
            series.failures().to_string(),
            negotiated(series),
            series.certificate.clone(),
        ]);
        table.row(row);
    }
    table.to_string()
}

fn negotiated(series: &Series) -> String {
    let retry = if series.hello_retry { " after a retry" } else { "" };
    format!("{}{retry}", series.group)
}

/// Returns the table of bytes of one connection, by message.
fn traffic(run: &Run) -> String {
    let mut names: Vec<&str> = Vec::new();
    for message in run.series.iter().flat_map(|series| series.traffic.handshake_messages()) {
        if !names.contains(&message.name.as_str()) {
            names.push(&message.name);
        }
    }
    let mut columns = vec![("bytes of a connection", Align::Left)];
    let http = run.what == What::Http;
    if http {
        columns.push(("requests", Align::Right));
    }
    columns.extend(names.iter().map(|name| (*name, Align::Right)));
    columns.extend(
        ["other", "handshake", "data sent", "received", "all sent", "received"]
            .map(|name| (name, Align::Right)),
    );
    let mut table = Table::new(&columns);
    for series in &run.series {
        let traffic = &series.traffic;
        let of = |name: &str| {
            let messages = traffic.handshake_messages().filter(|message| message.name == name);
            messages.map(|message| message.bytes).sum::<usize>()
        };
        let mut row = vec![series.label.clone()];
        if http {
            row.push(series.requests.map_or_else(String::new, |requests| requests.to_string()));
        }
        row.extend(names.iter().map(|name| of(name).to_string()));
        let counts = [
            traffic.handshake_other(),
            traffic.handshake_sent + traffic.handshake_received,
            traffic.data_sent,
            traffic.data_received,
            traffic.sent,
            traffic.received,
        ];
        row.extend(counts.map(|count| count.to_string()));
        table.row(row);
    }
    table.to_string()
}

fn peaks(run: &Run) -> String {
    let what = if run.what == What::Dot { "queries" } else { "connections" };
    let rate = format!("{what}/min at the peak");
    let mut table = Table::new(&[
        ("groups", Align::Left),
        (&rate, Align::Right),
        ("clients", Align::Right),
        ("server's processor", Align::Right),
        ("server \u{b5}s each", Align::Right),
        ("failed", Align::Right),
        ("negotiated", Align::Left),
        ("certificate", Align::Left),
    ]);
    for peak in &run.peaks {
        let best = peak.best();
        let busy = best.and_then(|best| Some(best.server_seconds? / best.seconds));
        let each = best.and_then(PeakStep::server_microseconds);
        table.row([
            peak.label.clone(),
            number(best.map(|best| best.per_minute())),
            best.map_or_else(String::new, |best| best.clients.to_string()),
            busy.map_or_else(|| "-".into(), percent),
            number(each),
            peak.failures().to_string(),
            peak.group.clone(),
            peak.certificate.clone(),
        ]);
    }
    table.to_string()
}

fn about(run: &Run) -> String {
    let mut lines = Vec::new();
    if !run.complete {
        lines.push("INCOMPLETE: not everything that was asked for was measured.".into());
    }
    let failed =
        run.series.iter().map(|series| (&series.label, series.failures(), &series.first_failure));
    let failed_peaks =
        run.peaks.iter().map(|peak| (&peak.label, peak.failures(), &peak.first_failure));
    for (label, count, first) in failed.chain(failed_peaks) {
        if let Some(first) = first {
            lines.push(format!("{label}: {count} connections failed; the first: {first}"));
        }
    }
    let Run { plan, client, target, .. } = run;
    let what = match run.what {
        What::Tls => "full TLS 1.3 handshakes, ended cleanly, without application data",
        What::Dot => "full TLS 1.3 handshakes with one DNS query each, ended cleanly",
        What::Http => {
            "full TLS 1.3 handshakes with HTTP requests, timed from before TCP to the last byte of the last response"
        }
    };
    let sizes = if plan.samples > 0 {
        format!(
            "; {} samples of {} connections each, in turns, {} at a time; medians and quartiles of samples; ratios are medians of those within a round; times of single connections",
            plan.samples, plan.connections, plan.concurrency
        )
    } else {
        String::new()
    };
    lines.push(format!("Measured: {what}, with {target}, by {client}{sizes}."));
    if let Some(scene) = &run.scene {
        let [client, server] = &scene.processors;
        let link = scene.link.as_deref().unwrap_or("loopback");
        lines.push(format!(
            "Scene: {}, OpenSSL {}; processor {client} for the client, {server} for servers; link: {link}.",
            scene.servers.join(", "),
            scene.openssl
        ));
    }
    let load = run.load.map_or_else(|| "unknown".into(), |load| format!("{load:.2}"));
    lines.push(format!("Machine: {}; load {load}.", run.machine));
    lines.join("\n")
}
