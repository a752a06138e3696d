//! The results of a timer: the output of `--json`, and the input of figures and reports.

use measure::{Machine, quantile, sorted};
use serde::{Deserialize, Serialize};

use crate::label::Label;

/// One run: several candidates that took turns with one server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The workload.
    pub what: What,
    /// The server, as `host:port`.
    pub target: String,
    /// The client's OpenSSL, as `OpenSSL 3.0.22`.
    pub client: String,
    /// The servers, if the tool started them.
    pub scene: Option<Scene>,
    /// The client's machine.
    pub machine: Machine,
    /// Processes that were running or waiting to when it began, on average over a minute; `None` if
    /// the system does not tell.
    pub load: Option<f64>,
    /// Sizes.
    pub plan: Plan,
    /// Whether everything that was asked for was measured.
    pub complete: bool,
    /// How each candidate fared, in the order they were asked for.
    pub series: Vec<Series>,
    /// The server's peak for each candidate, if that was asked for.
    pub peaks: Vec<Peak>,
}

/// Kinds of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// Full handshakes and nothing else (OpenSSLNTRU, section 4.4).
    Tls,
    /// A handshake and one DNS query (ENG25519, section 4.4).
    Dot,
    /// From before the TCP connection to the last byte of the last response (the AWS benchmark).
    Http,
}

/// Servers that the tool has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scene {
    /// As the command calls it: `handshake`, `dot`, `http`.
    pub name: String,
    /// Programs with their versions, the one that speaks TLS first: `nginx 1.22.1`.
    pub servers: Vec<String>,
    /// The OpenSSL of the one that speaks TLS, as `3.0.22`.
    pub openssl: String,
    /// The processors of client and servers, as `0` and `1`, or `any` where there are too few.
    pub processors: [String; 2],
    /// The link between them, as `20 ms, 10 Mbit/s`; `None` for loopback as it is.
    pub link: Option<String>,
}

/// Sizes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Samples of each candidate; they take turns by sample.
    pub samples: usize,
    /// Connections in a sample.
    pub connections: usize,
    /// Connections before each sample that are not counted.
    pub warm_up: usize,
    /// Connections at a time.
    pub concurrency: usize,
}

/// The measurements of one candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name in reports: the groups it offered, as they were given.
    pub label: String,
    /// Requests on a connection, for HTTP.
    pub requests: Option<usize>,
    /// The negotiated group, as libssl or the tool calls it.
    pub group: String,
    /// Its code point.
    pub group_id: u16,
    /// Whether the server wanted a key share of another group than the one that was sent, which
    /// takes a second round trip.
    #[serde(default)]
    pub hello_retry: bool,
    /// The server's certificate: kind and size of its key, as `RSA-2048`.
    pub certificate: String,
    /// Bytes of one connection.
    pub traffic: Traffic,
    /// In the order they were taken.
    pub samples: Vec<Sample>,
    /// The error of the first connection that failed.
    pub first_failure: Option<String>,
}

/// A turn of a candidate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Connections that succeeded; all else is of these, but for the time that failures took.
    pub connections: usize,
    /// Connections that failed.
    pub failures: usize,
    /// Elapsed seconds, failures included.
    pub seconds: f64,
    /// Seconds of the client's processor time outside the kernel.
    pub user_seconds: f64,
    /// And in the kernel.
    pub kernel_seconds: f64,
    /// Seconds of the server's processor time, where the tool has started it.
    pub server_seconds: Option<f64>,
    /// Of each connection, from before TCP to its end, in the order they ended.
    pub microseconds: Vec<u32>,
}

/// Bytes of one connection, counted at the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Handshake messages, as libssl tells of them, in their order.
    pub messages: Vec<MessageBytes>,
    /// Bytes written to the socket until the handshake was finished, the client's last message
    /// included.
    pub handshake_sent: usize,
    /// Bytes read from the socket until then.
    pub handshake_received: usize,
    /// All bytes written to the socket.
    pub sent: usize,
    /// All bytes read from the socket.
    pub received: usize,
    /// Application data sent, before encryption.
    pub data_sent: usize,
    /// Application data received, after decryption.
    pub data_received: usize,
}

/// A handshake message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageBytes {
    /// As RFC 8446 calls it: `ClientHello`.
    pub name: String,
    /// Whether the client sent it.
    pub sent: bool,
    /// With its header, before encryption.
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
    /// More and more clients, until the rate grew no more.
    pub steps: Vec<PeakStep>,
    /// As in [`Series`].
    pub first_failure: Option<String>,
}

/// So many clients at once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PeakStep {
    /// Clients, each of which begins anew as soon as it is served.
    pub clients: usize,
    /// Connections that were served.
    pub served: usize,
    /// Connections that failed.
    pub failures: usize,
    /// Elapsed seconds.
    pub seconds: f64,
    /// Seconds of the server's processor time, where the tool has started it.
    pub server_seconds: Option<f64>,
}

impl Run {
    /// Connections that failed.
    pub fn failures(&self) -> usize {
        let series: usize = self.series.iter().map(Series::failures).sum();
        series + self.peaks.iter().map(Peak::failures).sum::<usize>()
    }
}

impl Series {
    /// Connections that succeeded.
    pub fn connections(&self) -> usize {
        self.samples.iter().map(|sample| sample.connections).sum()
    }

    /// Connections that failed.
    pub fn failures(&self) -> usize {
        self.samples.iter().map(|sample| sample.failures).sum()
    }

    /// Connections per second of each sample that has any, lowest first.
    pub fn rates(&self) -> Vec<f64> {
        sorted(self.samples.iter().filter_map(Sample::rate).collect())
    }

    /// How many times the connections per second of another, in the same round: the median of all
    /// rounds that both have, so that what changes between rounds does not count.
    pub fn ratio_to(&self, other: &Self) -> Option<f64> {
        let rounds = self.samples.iter().zip(&other.samples);
        let ratios = rounds.filter_map(|(own, other)| Some(own.rate()? / other.rate()?));
        quantile(&sorted(ratios.collect()), 0.5)
    }

    /// The label in its parts.
    pub fn parts(&self) -> Label<'_> {
        Label::of(&self.label)
    }

    /// Microseconds of all connections, lowest first.
    pub fn microseconds(&self) -> Vec<f64> {
        let all = self.samples.iter().flat_map(|sample| &sample.microseconds);
        sorted(all.map(|&time| time.into()).collect())
    }

    /// Microseconds of processor time that a connection took: the client's outside the kernel, the
    /// client's in it, the server's if known.
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
    /// Connections per second; `None` if none succeeded.
    pub fn rate(&self) -> Option<f64> {
        (self.connections > 0 && self.seconds > 0.0).then(|| self.connections as f64 / self.seconds)
    }
}

impl Traffic {
    /// Bytes on the socket during the handshake that are no handshake message: record headers,
    /// tags, ChangeCipherSpec.
    pub fn handshake_other(&self) -> usize {
        let messages: usize = self.handshake_messages().map(|message| message.bytes).sum();
        (self.handshake_sent + self.handshake_received).saturating_sub(messages)
    }

    /// The messages up to the client's Finished, which ends the handshake: those that follow,
    /// tickets, are not of it.
    pub fn handshake_messages(&self) -> impl Iterator<Item = &MessageBytes> {
        let last = self.messages.iter().rposition(|message| message.sent);
        self.messages.iter().take(last.map_or(0, |last| last + 1))
    }
}

impl Peak {
    /// The label in its parts.
    pub fn parts(&self) -> Label<'_> {
        Label::of(&self.label)
    }

    /// Connections that failed.
    pub fn failures(&self) -> usize {
        self.steps.iter().map(|step| step.failures).sum()
    }

    /// The step with the most connections per second.
    pub fn best(&self) -> Option<&PeakStep> {
        self.steps.iter().max_by(|a, b| a.per_minute().total_cmp(&b.per_minute()))
    }
}

impl PeakStep {
    /// Microseconds of the server's processor time for each connection that was served; `None` if
    /// that is not known, or there was none.
    pub fn server_microseconds(&self) -> Option<f64> {
        (self.served > 0).then_some(1e6 * self.server_seconds? / self.served as f64)
    }

    /// Connections served in a minute.
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
