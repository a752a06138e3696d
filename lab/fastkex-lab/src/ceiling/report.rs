//! The report of the samples.

use std::fmt;

use measure::{Align, Quartiles, Table, grouped};
use serde::Serialize;

use output::Failure;

use super::plan::{self, NULL, NULL_SMALL, Results, Samples, X25519};
use super::{Answering, ServerKind, in_process};

/// All results.
pub(crate) struct Report {
    rounds: usize,
    seconds: f64,
    core: Option<usize>,
    pub(crate) rows: Vec<Row>,
    /// Handshakes in one process.
    in_process: Vec<InProcessRow>,
    failures: usize,
}

/// One group with one certificate, client and server.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    server: ServerKind,
    server_name: String,
    server_openssl: String,
    /// The version of the client's OpenSSL.
    openssl: String,
    certificate: String,
    group: &'static str,
    client_share_bytes: usize,
    server_share_bytes: usize,
    /// The median of all rounds.
    connections_per_second: f64,
    /// Quartiles of connections per second.
    p25: f64,
    p50: f64,
    p75: f64,
    /// The difference of third and first quartile, divided by the median.
    spread: f64,
    /// The median of the ratios to the null group with key shares of sntrup761's size, in the same
    /// round.
    ratio_to_null: Option<f64>,
    /// Quartiles of these ratios.
    ratio_to_null_p25: Option<f64>,
    ratio_to_null_p75: Option<f64>,
    /// The median of the ratios to the null group with small key shares.
    ratio_to_null_small: Option<f64>,
    /// The median of the ratios to OpenSSL's own X25519.
    ratio_to_x25519: Option<f64>,
    /// Processor time of one connection.
    client_microseconds: f64,
    server_microseconds: Option<f64>,
    /// Processor time of client and server for a connection with the null group of sntrup761's
    /// size, divided by the same time for this group.
    cpu_ratio_to_null: Option<f64>,
    connections: usize,
    rounds: usize,
    seconds_per_round: f64,
}

/// Handshakes in one process, with one group and one certificate.
#[derive(Debug, Serialize)]
pub(crate) struct InProcessRow {
    server: ServerKind,
    openssl: String,
    certificate: String,
    group: &'static str,
    client_share_bytes: usize,
    server_share_bytes: usize,
    /// The processor time of both sides, of the client and of the server: lower quartiles.
    microseconds: f64,
    client_microseconds: f64,
    server_microseconds: f64,
    spread: f64,
    /// The processor time with the null group of sntrup761's size, divided by the time with this
    /// group: the median of all rounds.
    cpu_ratio_to_null: f64,
    handshakes: usize,
}

/// A row of the JSON file.
#[derive(Serialize)]
#[serde(untagged)]
pub(crate) enum AnyRow<'a> {
    InProcess(&'a InProcessRow),
    Server(&'a Row),
}

impl Report {
    pub(crate) fn new(rounds: usize, seconds: f64, core: Option<usize>) -> Self {
        Report { rounds, seconds, core, rows: Vec::new(), in_process: Vec::new(), failures: 0 }
    }

    /// Prints a failure and records it.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        eprintln!("ceiling: left out: {failure}");
        self.failures += 1;
    }

    /// Returns true if nothing failed.
    pub(crate) fn is_complete(&self) -> bool {
        self.failures == 0
    }

    /// Returns all rows, handshakes in one process first.
    pub(crate) fn all_rows(&self) -> Vec<AnyRow<'_>> {
        let in_process = self.in_process.iter().map(AnyRow::InProcess);
        in_process.chain(self.rows.iter().map(AnyRow::Server)).collect()
    }

    /// Adds results of handshakes in one process. The null group, which the others are compared
    /// with, comes first for each certificate.
    pub(crate) fn add_in_process(&mut self, results: in_process::Results) {
        let candidates = plan::candidates();
        for in_process::LabeledCost { certificate, label, cost } in results.costs {
            let Some(candidate) = candidates.iter().find(|one| one.label == label) else {
                continue;
            };
            self.in_process.push(InProcessRow {
                server: ServerKind::InProcess,
                openssl: results.openssl.clone(),
                certificate,
                group: candidate.label,
                client_share_bytes: candidate.group.client_bytes,
                server_share_bytes: candidate.group.server_bytes,
                microseconds: cost.microseconds,
                client_microseconds: cost.client_microseconds,
                server_microseconds: cost.server_microseconds,
                spread: cost.spread,
                cpu_ratio_to_null: 1.0 / cost.ratio,
                handshakes: cost.handshakes,
            });
        }
    }

    /// Adds a client's results with a server.
    pub(crate) fn add(&mut self, server: &Answering, results: Results) {
        for samples in &results.samples {
            let other = |label: &str| {
                let same = |other: &&Samples| {
                    other.certificate == samples.certificate && other.label == label
                };
                results.samples.iter().find(same)
            };
            let ratios = |label: &str| {
                let pairs = samples.rates.iter().zip(&other(label)?.rates);
                Quartiles::of(&pairs.map(|(rate, null)| rate / null).collect::<Vec<_>>())
            };
            let candidates = plan::candidates();
            let Some(candidate) = candidates.iter().find(|one| one.label == samples.label) else {
                continue;
            };
            let Some(rates) = Quartiles::of(&samples.rates) else { continue };
            let to_null = ratios(NULL);
            let null_time = other(NULL).and_then(processor_time);
            self.rows.push(Row {
                server: server.kind,
                server_name: server.name.clone(),
                server_openssl: server.openssl.clone(),
                openssl: results.openssl.clone(),
                certificate: samples.certificate.clone(),
                group: candidate.label,
                client_share_bytes: candidate.group.client_bytes,
                server_share_bytes: candidate.group.server_bytes,
                connections_per_second: rates.median,
                p25: rates.first,
                p50: rates.median,
                p75: rates.third,
                spread: (rates.third - rates.first) / rates.median,
                ratio_to_null: to_null.map(|ratios| ratios.median),
                ratio_to_null_p25: to_null.map(|ratios| ratios.first),
                ratio_to_null_p75: to_null.map(|ratios| ratios.third),
                ratio_to_null_small: ratios(NULL_SMALL).map(|ratios| ratios.median),
                ratio_to_x25519: ratios(X25519).map(|ratios| ratios.median),
                client_microseconds: 1e6 * samples.client_seconds / samples.connections as f64,
                server_microseconds: samples
                    .server_seconds
                    .map(|seconds| 1e6 * seconds / samples.connections as f64),
                cpu_ratio_to_null: null_time
                    .zip(processor_time(samples))
                    .map(|(null, own)| null / own),
                connections: samples.connections,
                rounds: self.rounds,
                seconds_per_round: self.seconds,
            });
        }
    }
}

/// Returns the processor time of client and server for one connection, in seconds.
fn processor_time(samples: &Samples) -> Option<f64> {
    Some((samples.client_seconds + samples.server_seconds?) / samples.connections as f64)
}

impl Report {
    /// Writes the table of handshakes in one process, if there are any.
    fn write_in_process(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.in_process.is_empty() {
            return Ok(());
        }
        let mut table = Table::new(&[
            ("OpenSSL", Align::Left),
            ("certificate", Align::Left),
            ("group", Align::Left),
            ("both \u{b5}s", Align::Right),
            ("client \u{b5}s", Align::Right),
            ("server \u{b5}s", Align::Right),
            ("of null", Align::Right),
            ("spread", Align::Right),
        ]);
        for row in &self.in_process {
            table.row([
                row.openssl.clone(),
                row.certificate.clone(),
                row.group.into(),
                grouped(row.microseconds),
                grouped(row.client_microseconds),
                grouped(row.server_microseconds),
                format!("{:.3}", row.cpu_ratio_to_null),
                measure::percent(row.spread),
            ]);
        }
        writeln!(
            f,
            "{table}\n\n\
             Processor time of full TLS 1.3 handshakes between a client and a server in one process, without sockets: lower quartiles\n\
             of turns of 15 ms. 'of null' is the time with null divided by the time with this group, the median of all rounds.\n"
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_in_process(f)?;
        if self.rows.is_empty() {
            return write!(f, "{}", measure::machine());
        }
        let mut table = Table::new(&[
            ("server", Align::Left),
            ("client", Align::Left),
            ("certificate", Align::Left),
            ("group", Align::Left),
            ("handshakes/s", Align::Right),
            ("quartiles", Align::Right),
            ("of null", Align::Right),
            ("quartiles", Align::Right),
            ("of null-small", Align::Right),
            ("of X25519", Align::Right),
            ("by CPU time", Align::Right),
            ("client \u{b5}s", Align::Right),
            ("server \u{b5}s", Align::Right),
        ]);
        let ratio =
            |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}"));
        for row in &self.rows {
            let both = row.ratio_to_null_p25.zip(row.ratio_to_null_p75);
            table.row([
                format!("{}, {}", row.server_name, row.server_openssl),
                row.openssl.clone(),
                row.certificate.clone(),
                row.group.into(),
                grouped(row.connections_per_second),
                format!("{}-{}", grouped(row.p25), grouped(row.p75)),
                ratio(row.ratio_to_null),
                both.map_or_else(String::new, |(low, high)| format!("{low:.3}-{high:.3}")),
                ratio(row.ratio_to_null_small),
                ratio(row.ratio_to_x25519),
                ratio(row.cpu_ratio_to_null),
                grouped(row.client_microseconds),
                row.server_microseconds.map_or_else(String::new, grouped),
            ]);
        }
        let core = self.core.map_or("any processor".into(), |core| format!("processor {core}"));
        write!(
            f,
            "{table}\n\n\
             Full TLS 1.3 handshakes over loopback, one at a time, each with a new connection: no resumption, no ticket, one key share.\n\
             Client and server are processes on {core}; beside each server is its OpenSSL, beside it the client's (nginx keeps the\n\
             one that it is linked with). Medians and quartiles of {} rounds of {} s for each group, which took turns. Ratios are those\n\
             within a round; null and null-small are key exchanges of constants, which protect nothing: null has key shares as large as\n\
             those of sntrup761, null-small 32 bytes each. Groups with ', fastkex' prefer fastkex and its Ed25519 at both ends; all others\n\
             sign and verify with OpenSSL. CPU time is that of client and server for one connection.\n\
             {}",
            self.rounds,
            self.seconds,
            measure::machine(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(label: &str, rates: &[f64]) -> Samples {
        Samples {
            certificate: "Ed25519".into(),
            label: label.into(),
            rates: rates.to_vec(),
            connections: 10,
            client_seconds: 0.002,
            server_seconds: Some(0.003),
        }
    }

    #[test]
    fn ratios_are_those_within_a_round() {
        let server = Answering {
            kind: ServerKind::Nginx,
            name: "nginx".into(),
            openssl: "3.0.1".into(),
            listeners: Vec::new(),
        };
        let mut report = Report::new(3, 1.0, None);
        let results = Results {
            openssl: "4.0.0".into(),
            samples: vec![
                samples(NULL, &[100.0, 50.0, 10.0]),
                samples("sntrup761", &[90.0, 45.0, 9.0]),
            ],
        };
        report.add(&server, results);
        let json = serde_json::to_value(&report.rows).unwrap();
        assert_eq!(json[0]["ratio_to_null"], 1.0);
        assert_eq!(json[1]["ratio_to_null"], 0.9);
        assert!(json[1]["ratio_to_null_small"].is_null());
        assert_eq!(json[1]["connections_per_second"], 45.0);
        assert_eq!((&json[1]["server"], &json[1]["openssl"]), (&"nginx".into(), &"4.0.0".into()));
        assert_eq!(json[1]["server_microseconds"], 300.0);
        assert_eq!(json[1]["cpu_ratio_to_null"], 1.0);
        assert!(report.is_complete());
    }
}
