//! Measures implementations of the same operation, a few samples of each in turn.

use std::rc::Rc;

use measure::{Measurement, Options, Subject, measure_in_turn};
use serde::Serialize;

use crate::exchange::X25519;
use crate::kem::Kem;
use crate::signature::{self, Ed25519};

/// The name of key generation in figures.
pub const KEYGEN: &str = "keygen";
/// The name of encapsulation in figures.
pub const ENCAPSULATE: &str = "encapsulate";
/// The name of decapsulation in figures.
pub const DECAPSULATE: &str = "decapsulate";
/// The name of deriving a shared secret in figures.
pub const DERIVE: &str = "derive";
/// The name of signing in figures.
pub const SIGN: &str = "sign";
/// The name of verifying in figures.
pub const VERIFY: &str = "verify";
/// The name of a handshake in figures.
pub const HANDSHAKE: &str = "handshake";

/// The owner of an implementation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// fastkex.
    Ours,
    /// A peer.
    Peer,
}

/// One measured operation of one implementation.
#[derive(Clone, Serialize)]
pub struct Figure {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The implementation.
    pub implementation: String,
    /// The instruction set, if it is known.
    pub backend: Option<&'static str>,
    /// The operation.
    pub operation: String,
    /// The time of one operation.
    #[serde(flatten)]
    pub measurement: Measurement,
    /// For fastkex: the fastest peer's time divided by this time, for the operation without its
    /// variant.
    pub best_peer_ratio: Option<f64>,
}

/// An operation to measure.
struct Entry<'a> {
    side: Side,
    implementation: String,
    backend: Option<&'static str>,
    operation: &'static str,
    /// The difference between fastkex's variant and the peers' operation, such as "batch of 32".
    variant: Option<String>,
    subject: Subject<'a>,
}

/// All operations to measure for one algorithm.
pub struct Comparison<'a> {
    algorithm: &'static str,
    entries: Vec<Entry<'a>>,
}

impl<'a> Comparison<'a> {
    /// Makes an empty comparison.
    pub fn new(algorithm: &'static str) -> Self {
        Comparison { algorithm, entries: Vec::new() }
    }

    /// Adds a handshake of both sides in turn with `side`'s key exchange.
    #[cfg(feature = "handshakes")]
    pub fn add_handshake(
        &mut self,
        side: Side,
        name: &str,
        handshake: crate::handshake::Handshake,
    ) {
        let subject = Subject::new(1, move || handshake.run());
        self.push(side, name.into(), None, HANDSHAKE, None, subject);
    }

    /// Adds an operation of a peer, or one without a counterpart.
    pub fn add(
        &mut self,
        implementation: impl Into<String>,
        operation: &'static str,
        subject: Subject<'a>,
    ) {
        self.push(Side::Peer, implementation.into(), None, operation, None, subject);
    }

    /// Adds a variant that only fastkex has, by implementation name and instruction set.
    pub fn add_variant(
        &mut self,
        (name, backend): (String, Option<&'static str>),
        operation: &'static str,
        variant: impl Into<String>,
        subject: Subject<'a>,
    ) {
        self.push(Side::Ours, name, backend, operation, Some(variant.into()), subject);
    }

    /// Adds the three operations of a KEM.
    ///
    /// # Panics
    /// Decapsulation does not return the encapsulated secret.
    pub fn add_kem<K: Kem + 'a>(&mut self, side: Side, kem: K) {
        assert_eq!(kem.algorithm(), self.algorithm);
        let (name, backend) = (kem.name(), kem.backend());
        let kem = Rc::new(kem);
        let (public, secret) = kem.key_pair();
        let (ciphertext, shared) = kem.encapsulate(&public);
        assert_eq!(kem.decapsulate(&secret, &ciphertext), shared, "{name}");

        let this = Rc::clone(&kem);
        let subject = Subject::new(1, move || this.key_pair());
        self.push(side, name.clone(), backend, KEYGEN, None, subject);
        let this = Rc::clone(&kem);
        let subject = Subject::new(1, move || this.encapsulate(&public));
        self.push(side, name.clone(), backend, ENCAPSULATE, None, subject);
        let subject = Subject::new(1, move || kem.decapsulate(&secret, &ciphertext));
        self.push(side, name, backend, DECAPSULATE, None, subject);
    }

    /// Adds the two operations of a key exchange with the public value `peer`.
    pub fn add_exchange<X: X25519 + 'a>(&mut self, side: Side, exchange: X, peer: [u8; 32]) {
        let (name, backend) = (exchange.name(), exchange.backend());
        let exchange = Rc::new(exchange);
        let (_, secret) = exchange.key_pair();
        let this = Rc::clone(&exchange);
        let subject = Subject::new(1, move || this.key_pair());
        self.push(side, name.clone(), backend, KEYGEN, None, subject);
        let subject = Subject::new(1, move || exchange.derive(&secret, &peer));
        self.push(side, name, backend, DERIVE, None, subject);
    }

    /// Adds signing and verifying of a message of the size that a TLS server signs.
    ///
    /// # Panics
    /// The implementation rejects its own signature.
    pub fn add_signature<S: Ed25519 + 'a>(&mut self, side: Side, algorithm: S) {
        let (name, backend) = (algorithm.name(), algorithm.backend());
        let (message, algorithm) = ([0x5a; signature::MESSAGE_BYTES], Rc::new(algorithm));
        let (public, key) = algorithm.key_pair(&[7; signature::KEY_BYTES]);
        let signature = algorithm.sign(&key, &message);
        assert!(algorithm.verify(&public, &message, &signature), "{name}");

        let this = Rc::clone(&algorithm);
        let subject = Subject::new(1, move || this.sign(&key, &message));
        self.push(side, name.clone(), backend, SIGN, None, subject);
        let subject = Subject::new(1, move || algorithm.verify(&public, &message, &signature));
        self.push(side, name, backend, VERIFY, None, subject);
    }

    fn push(
        &mut self,
        side: Side,
        implementation: String,
        backend: Option<&'static str>,
        operation: &'static str,
        variant: Option<String>,
        subject: Subject<'a>,
    ) {
        self.entries.push(Entry { side, implementation, backend, operation, variant, subject });
    }

    /// Measures all entries, operation by operation.
    pub fn run(mut self, options: &Options) -> Vec<Figure> {
        let mut figures = Vec::new();
        while let Some(operation) = self.entries.first().map(|entry| entry.operation) {
            let (now, later): (Vec<_>, Vec<_>) =
                self.entries.into_iter().partition(|entry| entry.operation == operation);
            self.entries = later;
            figures.extend(in_turn(self.algorithm, options, now));
        }
        figures
    }
}

/// Returns core cycles, or nanoseconds if cycles are not available.
fn duration(measurement: &Measurement) -> f64 {
    measurement.core_cycles.unwrap_or(measurement.nanoseconds)
}

fn in_turn(algorithm: &'static str, options: &Options, entries: Vec<Entry<'_>>) -> Vec<Figure> {
    let mut subjects = Vec::new();
    let mut sides = Vec::new();
    let mut names = Vec::new();
    for entry in entries {
        let Entry { side, implementation, backend, operation, variant, subject } = entry;
        subjects.push(subject);
        sides.push(side);
        let operation = match variant {
            Some(variant) => format!("{operation}, {variant}"),
            None => operation.into(),
        };
        names.push((implementation, backend, operation));
    }
    let measurements = measure_in_turn(options, subjects);
    let ratios = best_peer_ratios(&sides, &measurements);
    let mut figures = Vec::new();
    for (((implementation, backend, operation), measurement), best_peer_ratio) in
        names.into_iter().zip(measurements).zip(ratios)
    {
        figures.push(Figure {
            algorithm,
            implementation,
            backend,
            operation,
            measurement,
            best_peer_ratio,
        });
    }
    figures
}

/// Returns, for each measurement of fastkex, the fastest peer's time divided by its time.
fn best_peer_ratios(sides: &[Side], measurements: &[Measurement]) -> Vec<Option<f64>> {
    let of_peers = sides.iter().zip(measurements).filter(|(side, _)| **side == Side::Peer);
    let best = of_peers.map(|(_, measurement)| duration(measurement)).min_by(f64::total_cmp);
    let ratio = |(side, measurement): (&Side, &Measurement)| match side {
        Side::Ours => best.map(|best| best / duration(measurement)),
        Side::Peer => None,
    };
    sides.iter().zip(measurements).map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use sntrup::{Backend, Sntrup653};

    use super::*;
    use crate::kem::streamlined::{Ours, PqClean653};

    const BRIEFLY: Options = Options { time: Duration::ZERO, samples: 0, rest: None };

    #[test]
    fn ours_are_compared_with_the_best_peer() {
        let measured = |core_cycles, nanoseconds| Measurement {
            core_cycles,
            nanoseconds,
            spread: 0.0,
            samples: 3,
        };
        let sides = [Side::Ours, Side::Peer, Side::Peer, Side::Ours];
        let cycles = [50.0, 300.0, 200.0, 400.0].map(|cycles| measured(Some(cycles), 1.0));
        assert_eq!(best_peer_ratios(&sides, &cycles), [Some(4.0), None, None, Some(0.5)]);
        let nanoseconds = [5.0, 30.0, 20.0, 40.0].map(|nanoseconds| measured(None, nanoseconds));
        assert_eq!(best_peer_ratios(&sides, &nanoseconds), [Some(4.0), None, None, Some(0.5)]);
        assert_eq!(best_peer_ratios(&sides[..1], &cycles[..1]), [None]);
    }

    #[test]
    fn an_operations_figures_stand_together() {
        let ours = Ours::<Sntrup653>::on(Backend::best());
        let mut comparison = Comparison::new("sntrup653");
        comparison.add("one", KEYGEN, Subject::new(1, || ()));
        comparison.add("other", DERIVE, Subject::new(1, || ()));
        comparison.add_variant(
            (ours.name(), ours.backend()),
            KEYGEN,
            "batch of 2",
            Subject::new(2, || ()),
        );
        let figures = comparison.run(&BRIEFLY);
        let operations: Vec<_> = figures.iter().map(|figure| &*figure.operation).collect();
        assert_eq!(operations, [KEYGEN, "keygen, batch of 2", DERIVE]);
    }

    #[test]
    fn a_kem_has_three_figures() {
        let mut comparison = Comparison::new("sntrup653");
        comparison.add_kem(Side::Ours, Ours::<Sntrup653>::on(Backend::best()));
        comparison.add_kem(Side::Peer, PqClean653);
        let figures = comparison.run(&BRIEFLY);
        let operations: Vec<_> = figures.iter().map(|figure| &*figure.operation).collect();
        let expected = [KEYGEN, KEYGEN, ENCAPSULATE, ENCAPSULATE, DECAPSULATE, DECAPSULATE];
        assert_eq!(operations, expected);
        assert!(figures.iter().all(|figure| figure.measurement.nanoseconds > 0.0));
    }
}
