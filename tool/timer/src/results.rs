//! The results of a timer: the output of `--json`, and the input of figures and reports.

use measure::{Machine, quantile, sorted};
use serde::{Deserialize, Serialize};

use crate::in_process::Cost;
use crate::label::Label;

/// One run: several candidates that took turns with one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The workload.
    pub what: What,
    /// The server, as `host:port`.
    pub target: String,
    /// The client's OpenSSL, such as `OpenSSL 3.0.22`.
    pub client: String,
    /// The servers, if the tool started them.
    pub scene: Option<Scene>,
    /// The client's machine.
    pub machine: Machine,
    /// The load average over one minute at the beginning: the number of processes that ran or
    /// waited to run. `None` if the system does not report it.
    pub load: Option<f64>,
    /// The numbers of samples and connections.
    pub plan: Plan,
    /// True if all requested measurements were made.
    pub complete: bool,
    /// The measurements of each candidate, in the requested order.
    pub series: Vec<Series>,
    /// The server's peak for each candidate, if it was requested.
    pub peaks: Vec<Peak>,
}

/// Processor times of handshakes in one process: the output of `fastkex speed --handshakes --json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandshakeCosts {
    /// The version of OpenSSL, such as `3.0.22`.
    pub openssl: String,
    /// The machine and the time of the measurement.
    pub machine: Machine,
    /// The method of measurement.
    pub method: String,
    /// The measurements in the order of the table.
    pub rows: Vec<CostRow>,
}

/// The processor time of handshakes with one group and certificate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CostRow {
    /// The key type of the server's certificate.
    pub certificate: String,
    /// The group of both sides.
    pub group: String,
    /// The part that the module has.
    pub module: ModuleUse,
    /// The processor time.
    #[serde(flatten)]
    pub cost: Cost,
}

/// The part that the module has in a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleUse {
    /// The module is not loaded.
    NotLoaded,
    /// The module is loaded, and the handshake does not use it.
    Unused,
    /// The module computes the key exchange. It signs, too, if it has the signature algorithm.
    Used,
}

impl ModuleUse {
    /// All parts, in the order of tables.
    pub const ALL: [ModuleUse; 3] = [ModuleUse::NotLoaded, ModuleUse::Unused, ModuleUse::Used];

    /// Returns the text in tables.
    pub const fn text(self) -> &'static str {
        match self {
            ModuleUse::NotLoaded => "not loaded",
            ModuleUse::Unused => "loaded, not used",
            ModuleUse::Used => "used",
        }
    }
}

/// The workload of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Full handshakes and nothing else (OpenSSLNTRU, section 4.4).
    Tls,
    /// A handshake and one DNS query (ENG25519, section 4.4).
    Dot,
    /// A handshake and HTTP requests, timed from before the TCP connection to the last byte of the
    /// last response (the AWS benchmark).
    Http,
}

/// Servers that the tool has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// The scene's name in the command: `handshake`, `dot`, `http`.
    pub name: String,
    /// The programs with their versions, such as `nginx 1.22.1`; the TLS server is the first.
    pub servers: Vec<String>,
    /// The version of the TLS server's OpenSSL, such as `3.0.22`.
    pub openssl: String,
    /// The processors of the client and of the servers, such as `0` and `1`, or `any` if there are
    /// too few.
    pub processors: [String; 2],
    /// The link between them, such as `20 ms, 10 Mbit/s`; `None` for an unchanged loopback device.
    pub link: Option<String>,
}

/// The numbers of samples and connections of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The number of samples of each candidate; candidates take turns by sample.
    pub samples: usize,
    /// The number of connections in a sample.
    pub connections: usize,
    /// The number of connections before each sample that are not counted.
    pub warm_up: usize,
    /// The number of simultaneous connections.
    pub concurrency: usize,
}

/// The measurements of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The candidate's name in reports: the offered groups, as they were given.
    pub label: String,
    /// The number of requests on a connection, for HTTP.
    pub requests: Option<usize>,
    /// The negotiated group, with the tool's name or libssl's.
    pub group: String,
    /// The code point of the group.
    pub group_id: u16,
    /// True if the server asked for a key share of another group than the client had sent. This
    /// takes a second round trip.
    #[serde(default)]
    pub hello_retry: bool,
    /// The kind and size of the key in the server's certificate, such as `RSA-2048`.
    pub certificate: String,
    /// The traffic of one connection, in bytes.
    pub traffic: Traffic,
    /// The samples, in the order of measurement.
    pub samples: Vec<Sample>,
    /// The error of the first connection that failed.
    pub first_failure: Option<String>,
}

/// The measurements of one turn of a candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The number of connections that succeeded. All other fields cover only these, except that the
    /// times include failed connections.
    pub connections: usize,
    /// The number of connections that failed.
    pub failures: usize,
    /// The elapsed time in seconds, including failures.
    pub seconds: f64,
    /// The client's processor time outside the kernel, in seconds.
    pub user_seconds: f64,
    /// The client's processor time in the kernel, in seconds.
    pub kernel_seconds: f64,
    /// The server's processor time in seconds, if the tool has started the server.
    pub server_seconds: Option<f64>,
    /// The duration of each connection, from before TCP to its end, in the order in which they
    /// ended.
    pub microseconds: Vec<u32>,
}

/// The traffic of one connection in bytes, counted at the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// The handshake messages that libssl reports, in their order.
    pub messages: Vec<MessageBytes>,
    /// Bytes written to the socket until the handshake was finished, including the client's last
    /// message.
    pub handshake_sent: usize,
    /// Bytes read from the socket until then.
    pub handshake_received: usize,
    /// All bytes written to the socket.
    pub sent: usize,
    /// All bytes read from the socket.
    pub received: usize,
    /// Application data sent, before encryption, in bytes.
    pub data_sent: usize,
    /// Application data received, after decryption, in bytes.
    pub data_received: usize,
}

/// A handshake message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageBytes {
    /// The name in RFC 8446, such as `ClientHello`.
    pub name: String,
    /// True if the client sent it.
    pub sent: bool,
    /// The size with the message's header, before encryption.
    pub bytes: usize,
}

/// A server's peak.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// As in [`Series`].
    pub label: String,
    /// As in [`Series`].
    pub group: String,
    /// As in [`Series`].
    pub certificate: String,
    /// The steps with increasing numbers of clients, until the rate no longer grew.
    pub steps: Vec<PeakStep>,
    /// As in [`Series`].
    pub first_failure: Option<String>,
}

/// One step of the search: a number of clients at once, and its results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakStep {
    /// The number of clients. Each starts a new connection as soon as the last one has ended.
    pub clients: usize,
    /// The number of connections that were served.
    pub served: usize,
    /// The number of connections that failed.
    pub failures: usize,
    /// The elapsed time in seconds.
    pub seconds: f64,
    /// The server's processor time in seconds, if the tool has started the server.
    pub server_seconds: Option<f64>,
}

impl Run {
    /// Returns the number of connections that failed.
    pub fn failures(&self) -> usize {
        let series: usize = self.series.iter().map(Series::failures).sum();
        series + self.peaks.iter().map(Peak::failures).sum::<usize>()
    }
}

impl Series {
    /// Returns the number of connections that succeeded.
    pub fn connections(&self) -> usize {
        self.samples.iter().map(|sample| sample.connections).sum()
    }

    /// Returns the number of connections that failed.
    pub fn failures(&self) -> usize {
        self.samples.iter().map(|sample| sample.failures).sum()
    }

    /// Returns the connections per second of each sample with at least one success, lowest first.
    pub fn rates(&self) -> Vec<f64> {
        sorted(self.samples.iter().filter_map(Sample::rate).collect())
    }

    /// Returns the ratio of the connections per second to those of `other` in the same round: the
    /// median over all rounds that both have. Changes between rounds therefore do not matter.
    pub fn ratio_to(&self, other: &Self) -> Option<f64> {
        let rounds = self.samples.iter().zip(&other.samples);
        let ratios = rounds.filter_map(|(own, other)| Some(own.rate()? / other.rate()?));
        quantile(&sorted(ratios.collect()), 0.5)
    }

    /// Returns the parts of the label.
    pub fn parts(&self) -> Label<'_> {
        Label::of(&self.label)
    }

    /// Returns the durations of all connections in microseconds, lowest first.
    pub fn microseconds(&self) -> Vec<f64> {
        let all = self.samples.iter().flat_map(|sample| &sample.microseconds);
        sorted(all.map(|&time| time.into()).collect())
    }

    /// Returns the processor time of a connection in microseconds: the client's outside the kernel,
    /// the client's in the kernel, and the server's if known.
    pub fn processor_microseconds(&self) -> Option<(f64, f64, Option<f64>)> {
        let connections = self.connections();
        let each = |of: fn(&Sample) -> Option<f64>| {
            let all = self.samples.iter().map(of).sum::<Option<f64>>()?;
            (connections > 0).then(|| 1e6 * all / connections as f64)
        };
        let user = each(|sample| Some(sample.user_seconds))?;
        let kernel = each(|sample| Some(sample.kernel_seconds))?;
        Some((user, kernel, each(|sample| sample.server_seconds)))
    }
}

impl Sample {
    /// Returns the connections per second; `None` if no connection succeeded.
    pub fn rate(&self) -> Option<f64> {
        (self.connections > 0 && self.seconds > 0.0).then(|| self.connections as f64 / self.seconds)
    }
}

impl Traffic {
    /// Returns the number of bytes on the socket during the handshake outside of handshake
    /// messages: record headers, tags, ChangeCipherSpec.
    pub fn handshake_other(&self) -> usize {
        let messages: usize = self.handshake_messages().map(|message| message.bytes).sum();
        (self.handshake_sent + self.handshake_received).saturating_sub(messages)
    }

    /// Returns the messages up to the client's Finished, which ends the handshake. Later messages
    /// (tickets) are not part of it.
    pub fn handshake_messages(&self) -> impl Iterator<Item = &MessageBytes> {
        let last = self.messages.iter().rposition(|message| message.sent);
        self.messages.iter().take(last.map_or(0, |last| last + 1))
    }
}

impl Peak {
    /// Returns the parts of the label.
    pub fn parts(&self) -> Label<'_> {
        Label::of(&self.label)
    }

    /// Returns the number of connections that failed.
    pub fn failures(&self) -> usize {
        self.steps.iter().map(|step| step.failures).sum()
    }

    /// Returns the step with the most connections per second.
    pub fn best(&self) -> Option<&PeakStep> {
        self.steps.iter().max_by(|a, b| a.per_minute().total_cmp(&b.per_minute()))
    }
}

impl PeakStep {
    /// Returns the server's processor time for each served connection, in microseconds; `None` if
    /// the time is not known or no connection was served.
    pub fn server_microseconds(&self) -> Option<f64> {
        (self.served > 0).then_some(1e6 * self.server_seconds? / self.served as f64)
    }

    /// Returns the number of connections served per minute.
    pub fn per_minute(&self) -> f64 {
        if self.seconds > 0.0 { 60.0 * self.served as f64 / self.seconds } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(connections: usize, seconds: f64) -> Sample {
        Sample {
            connections,
            seconds,
            user_seconds: 0.001,
            kernel_seconds: 0.002,
            ..Sample::default()
        }
    }

    fn series(samples: Vec<Sample>) -> Series {
        Series {
            label: "X25519".into(),
            requests: None,
            group: "X25519".into(),
            group_id: 29,
            hello_retry: false,
            certificate: "RSA-2048".into(),
            traffic: Traffic::default(),
            samples,
            first_failure: None,
        }
    }

    #[test]
    fn samples_without_connections_have_no_rate() {
        let series = series(vec![sample(10, 2.0), sample(0, 1.0), sample(10, 4.0)]);
        assert_eq!(series.rates(), [2.5, 5.0]);
        let (user, kernel, server) = series.processor_microseconds().unwrap();
        assert!((user - 150.0).abs() < 1e-9 && (kernel - 300.0).abs() < 1e-9 && server.is_none());
        assert_eq!(self::series(vec![]).processor_microseconds(), None);
    }

    #[test]
    fn ratios_are_those_within_a_round() {
        let own = series(vec![sample(10, 1.0), sample(10, 10.0), sample(10, 2.0), sample(0, 1.0)]);
        let other =
            series(vec![sample(10, 2.0), sample(10, 20.0), sample(10, 4.0), sample(1, 1.0)]);
        assert_eq!((own.ratio_to(&other), other.ratio_to(&own)), (Some(2.0), Some(0.5)));
        assert_eq!(own.ratio_to(&series(vec![])), None);
    }

    #[test]
    fn tickets_are_not_of_the_handshake() {
        let message = |name: &str, sent, bytes| MessageBytes { name: name.into(), sent, bytes };
        let traffic = Traffic {
            messages: vec![
                message("ClientHello", true, 200),
                message("ServerHello", false, 100),
                message("Finished", true, 36),
                message("NewSessionTicket", false, 250),
            ],
            handshake_sent: 250,
            handshake_received: 105,
            ..Traffic::default()
        };
        assert_eq!(traffic.handshake_messages().count(), 3);
        assert_eq!(traffic.handshake_other(), 355 - 336);
    }

    #[test]
    fn json_goes_there_and_back() {
        let run = Run {
            what: What::Tls,
            target: "localhost:443".into(),
            client: "OpenSSL 3.0.22".into(),
            scene: Some(Scene::default()),
            machine: measure::machine(),
            load: Some(0.5),
            plan: Plan { samples: 1, connections: 10, warm_up: 1, concurrency: 1 },
            complete: true,
            series: vec![series(vec![sample(10, 2.0)])],
            peaks: Vec::new(),
        };
        let text = serde_json::to_string(&run).unwrap();
        assert!(text.contains("\"what\":\"tls\""));
        assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    }
}
