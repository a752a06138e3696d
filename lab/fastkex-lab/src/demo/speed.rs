//! Handshakes per second with several groups, against the same server.

use std::path::Path;
use std::time::{Duration, Instant};

use measure::quantile;
use openssl_runtime::{Error, Key, LibraryContext};

use output::Failure;

use crate::client::{self, Client};
use crate::groups::{self, Group};

/// Turns of every group.
pub(crate) const ROUNDS: usize = 15;
/// Duration of a turn.
const TURN: Duration = Duration::from_millis(100);
/// Key pairs timed in each round.
const KEY_PAIRS: u32 = 10;

/// The measurements.
pub(crate) struct Measured {
    /// The version of the client's libssl.
    pub(crate) libssl: String,
    pub(crate) rates: Vec<Rates>,
}

/// The results of one group.
pub(crate) struct Rates {
    pub(crate) group: Group,
    /// Handshakes per second in each round, lowest first.
    sorted: Vec<f64>,
    pub(crate) handshakes: usize,
    /// The number of failed handshakes, including those with another group. The reason for the
    /// first one is in `first_failure`.
    failures: usize,
    first_failure: Option<Failure>,
    /// The time of one key pair in each round, in seconds, shortest first. Empty for OpenSSL's
    /// groups.
    key_pairs: Vec<f64>,
}

impl Rates {
    fn new(group: Group) -> Self {
        Self {
            group,
            sorted: Vec::new(),
            handshakes: 0,
            failures: 0,
            first_failure: None,
            key_pairs: Vec::new(),
        }
    }

    /// Returns the median of handshakes per second.
    pub(crate) fn median(&self) -> f64 {
        quantile(&self.sorted, 0.5).unwrap_or_default()
    }

    /// Returns handshakes per second in the slowest round.
    pub(crate) fn lowest(&self) -> f64 {
        quantile(&self.sorted, 0.0).unwrap_or_default()
    }

    /// Returns handshakes per second in the fastest round.
    pub(crate) fn highest(&self) -> f64 {
        quantile(&self.sorted, 1.0).unwrap_or_default()
    }

    /// Describes the error, if a handshake failed.
    pub(crate) fn wrong(&self) -> Option<String> {
        let (first, name) = (self.first_failure.as_ref()?, self.group.name);
        let failures = self.failures;
        Some(format!("{failures} timed handshakes with {name} failed, the first because: {first}"))
    }

    /// Returns the median time of one key pair, in seconds.
    pub(crate) fn key_pair(&self) -> Option<f64> {
        quantile(&self.key_pairs, 0.5)
    }
}

/// Times full TLS 1.3 handshakes over loopback, one after another, with the groups `names` in turn.
pub(crate) fn measure(
    names: &[&str],
    port: u16,
    authority: &str,
    module: &Path,
) -> Result<Measured, Failure> {
    let context = client::context(module)?;
    let mut rates = Vec::new();
    let mut clients = Vec::new();
    for name in names {
        let client = Client::new(&context, name, authority)?;
        rates.push(Rates::new(client.group));
        clients.push(client);
    }
    let mut order: Vec<_> = (0..names.len()).collect();
    // The first round warms up.
    for round in 0..=ROUNDS {
        for &i in &order {
            let rates = &mut rates[i];
            let (start, mut done) = (Instant::now(), 0_u32);
            while start.elapsed() < TURN {
                match clients[i].connect(port).and_then(client::finish) {
                    Ok(()) => done += 1,
                    Err(failure) => {
                        rates.failures += 1;
                        rates.first_failure.get_or_insert(failure);
                        break;
                    }
                }
            }
            if round > 0 {
                rates.handshakes += done as usize;
                rates.sorted.push(f64::from(done) / start.elapsed().as_secs_f64());
                if groups::ours().any(|group| group == rates.group) {
                    let time = time_key_pair(&context, rates.group);
                    let time = time.map_err(Failure::about(rates.group.name))?;
                    rates.key_pairs.push(time.as_secs_f64());
                }
            }
        }
        order.rotate_left(1);
    }
    for rates in &mut rates {
        rates.sorted.sort_by(f64::total_cmp);
        rates.key_pairs.sort_by(f64::total_cmp);
    }
    Ok(Measured { libssl: context.libraries().version_text(), rates })
}

/// Returns the average time of a key pair, generated in the same way as libssl does.
fn time_key_pair(context: &LibraryContext, group: Group) -> Result<Duration, Error> {
    let start = Instant::now();
    for _ in 0..KEY_PAIRS {
        Key::generate(context, group.name, None)?;
    }
    Ok(start.elapsed() / KEY_PAIRS)
}
