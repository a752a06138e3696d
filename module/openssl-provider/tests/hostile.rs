//! A hundred thousand handshakes with hostile key shares, towards servers and towards clients: the
//! right alert each time, and the next good handshake works. `FASTKEX_TEST_HOSTILE_SHARES` sets the
//! number of shares of each group.

mod common;

use std::collections::BTreeMap;
use std::sync::Mutex;

use common::{client, context, libraries, server};
use kex::{GroupVisitor, TLS_GROUPS, TlsGroup, TlsKem, visit_groups};
use openssl_runtime::{
    Direction, InMemoryHandshake, Libraries, MemoryConnection, Progress, SslContext, Summary, wire,
};

/// Hostile shares of each group.
const SHARES: usize = 5_600;
/// One of so many is a server's; the others are clients'.
const TOWARDS_CLIENTS: usize = 4;
/// Hostile handshakes between two good ones.
const BETWEEN: usize = 500;

const BAD_RECORD_MAC: u8 = 20;
const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;
const INTERNAL_ERROR: u8 = 80;

/// Whether a share is taken.
type Takes = Box<dyn Fn(&[u8]) -> bool + Send>;

/// A group, and whether a server must take a client's share of it, and a client a server's.
struct Case {
    group: &'static TlsGroup,
    server_takes: fn(&[u8]) -> bool,
    client_takes: Takes,
}

fn cases() -> Vec<Case> {
    struct Visitor(Vec<Case>);
    impl GroupVisitor for Visitor {
        fn visit<K: TlsKem>(&mut self) {
            let backend = kex::Backend::best();
            let key = kex::KeyPair::<K>::generate(backend, &mut getrandom::SysRng).unwrap();
            self.0.push(Case {
                group: K::GROUP,
                server_takes: |share| K::read_public_key(kex::Backend::best(), share).is_ok(),
                client_takes: Box::new(move |share| {
                    let mut secret = vec![0; K::SHARED_SECRET_BYTES];
                    K::decapsulate(&key.secret, backend, share, &mut secret).is_ok()
                }),
            });
        }
    }
    let mut visitor = Visitor(Vec::new());
    visit_groups(&mut visitor);
    visitor.0
}

/// A fixed stream of numbers: a failure can be repeated.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }

    fn bytes(&mut self, length: usize) -> Vec<u8> {
        (0..length).map(|_| self.below(256) as u8).collect()
    }
}

/// A share that some peer could send instead of `good`.
fn hostile(numbers: &mut Numbers, good: &[u8]) -> (&'static str, Vec<u8>) {
    let length = good.len();
    match numbers.below(9) {
        0 => {
            let shorter = 1 + numbers.below(length - 1);
            ("short", good[..shorter].to_vec())
        }
        1 => {
            let more = 1 + numbers.below(4000);
            ("long", [good, &numbers.bytes(more)].concat())
        }
        2 => ("empty", Vec::new()),
        3 => ("all ones", vec![0xff; length]),
        4 => ("all zeros", vec![0; length]),
        5 => {
            // Bytes of ones somewhere: values beyond the moduli.
            let mut share = good.to_vec();
            let (at, run) = (numbers.below(length), 1 + numbers.below(40));
            for byte in share[at..].iter_mut().take(run) {
                *byte = 0xff;
            }
            ("out of range", share)
        }
        6 => {
            let mut share = good.to_vec();
            share[numbers.below(length)] ^= 1 << numbers.below(8);
            ("one bit flipped", share)
        }
        7 => {
            // X25519's part of a hybrid, or the end of another share: a point of small order.
            let mut share = good.to_vec();
            share[length - 32..].fill(0);
            share[length - 32] = numbers.below(2) as u8;
            ("small order", share)
        }
        _ => ("random", numbers.bytes(length)),
    }
}

fn alert_of(summary: &Summary) -> Option<u8> {
    summary.alert_sent.filter(|alert| alert.is_fatal()).map(|alert| alert.number)
}

/// The first messages of both sides in a good handshake.
fn capture(client: &SslContext, server: &SslContext) -> (Vec<u8>, Vec<u8>) {
    let (mut from_client, mut from_server) = (Vec::new(), Vec::new());
    let report = InMemoryHandshake::new(client, server)
        .run(&mut |direction, flight| {
            let captured = match direction {
                Direction::ClientToServer => &mut from_client,
                Direction::ServerToClient => &mut from_server,
            };
            if captured.is_empty() {
                captured.clone_from(flight);
            }
        })
        .unwrap();
    assert!(report.is_ok(), "{}", report.client);
    (from_client, from_server)
}

fn still_serves(client: &SslContext, server: &SslContext) {
    let report = InMemoryHandshake::new(client, server).echo(100).run(&mut |_, _| {}).unwrap();
    assert!(report.is_ok(), "{} / {}", report.client, report.server);
}

type Counts = BTreeMap<String, usize>;

fn towards_server(
    case: &Case,
    shares: usize,
    client: &SslContext,
    server: &SslContext,
    counts: &mut Counts,
) {
    let group = case.group;
    let (hello, _) = capture(client, server);
    let good = wire::find_client_key_shares(&hello).unwrap()[0].clone();
    let good_share = &hello[good.bytes.clone()];
    let mut numbers = Numbers(group.code_point.into());
    for round in 0..shares {
        let (kind, share) = hostile(&mut numbers, good_share);
        let flight = good.replace(&hello, &share).unwrap();
        let mut connection = MemoryConnection::new(server, None).unwrap();
        connection.feed(&flight).unwrap();
        let progress = connection.handshake();
        let summary = connection.summary();
        let where_ = format!("{} server, {kind} share, round {round}: {summary}", group.name);
        let outcome = if (case.server_takes)(&share) {
            // Nothing wrong with it: the server answers, and waits for the client to finish.
            assert!(matches!(progress, Ok(Progress::NeedsInput)), "{where_}");
            let answer = connection.take_outgoing();
            let answer = wire::find_server_key_share(&answer).unwrap();
            assert_eq!(answer.group, group.code_point, "{where_}");
            assert_eq!(answer.bytes.len(), group.ciphertext_bytes, "{where_}");
            "answered"
        } else {
            assert!(progress.is_err(), "{where_}");
            let expected = if share.is_empty() { DECODE_ERROR } else { ILLEGAL_PARAMETER };
            assert_eq!(alert_of(&summary), Some(expected), "{where_}");
            "refused"
        };
        *counts.entry(format!("server {outcome} {kind}")).or_default() += 1;
        if round % BETWEEN == 0 {
            still_serves(client, server);
        }
    }
    still_serves(client, server);
}

/// Position of the session identifier in a hello, which a server must repeat: after headers,
/// version and random.
const SESSION_ID: std::ops::Range<usize> = 44..76;

fn towards_client(
    case: &Case,
    shares: usize,
    client: &SslContext,
    server: &SslContext,
    counts: &mut Counts,
) {
    let group = case.group;
    let (_, mut answer) = capture(client, server);
    let good = wire::find_server_key_share(&answer).unwrap();
    let good_share = answer[good.bytes.clone()].to_vec();
    let mut numbers = Numbers(!u64::from(group.code_point));
    for round in 0..shares {
        let (kind, share) = hostile(&mut numbers, &good_share);
        let mut connection = MemoryConnection::new(client, None).unwrap();
        assert_eq!(connection.handshake().unwrap(), Progress::NeedsInput);
        let hello = connection.take_outgoing();
        answer[SESSION_ID].copy_from_slice(&hello[SESSION_ID]);
        connection.feed(&good.replace(&answer, &share).unwrap()).unwrap();
        let progress = connection.handshake();
        let summary = connection.summary();
        let where_ = format!("{} client, {kind} share, round {round}: {summary}", group.name);
        assert!(progress.is_err(), "{where_}");
        let alert = alert_of(&summary).unwrap_or_else(|| panic!("{where_}"));
        if share.is_empty() {
            assert_eq!(alert, DECODE_ERROR, "{where_}");
        } else if (case.client_takes)(&share) {
            // Rejected implicitly: the keys differ, and the next record cannot be read.
            assert_eq!(alert, BAD_RECORD_MAC, "{where_}");
        } else {
            // libssl's alert when decapsulation fails.
            assert_eq!(alert, INTERNAL_ERROR, "{where_}");
        }
        *counts.entry(format!("client alert {alert} {kind}")).or_default() += 1;
        if round % BETWEEN == 0 {
            still_serves(client, server);
        }
    }
    still_serves(client, server);
}

/// Resident memory of this process in bytes.
fn resident() -> usize {
    const PAGE_BYTES: usize = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0) * PAGE_BYTES
}

fn run(libraries: &Libraries, shares: usize, cases: &Mutex<Vec<Case>>, counts: &Mutex<Counts>) {
    let (ours, theirs) = (context(libraries), context(libraries));
    loop {
        let Some(case) = cases.lock().unwrap().pop() else { return };
        let (client, server) = (client(&ours, case.group.name), server(&theirs, case.group.name));
        let mut of_group = Counts::new();
        let to_client = shares / TOWARDS_CLIENTS;
        towards_server(&case, shares - to_client, &client, &server, &mut of_group);
        towards_client(&case, to_client, &client, &server, &mut of_group);
        for (what, count) in of_group {
            *counts.lock().unwrap().entry(what).or_default() += count;
        }
    }
}

#[test]
fn hostile_shares_get_the_right_alert() {
    const GROWTH: usize = 64 << 20;

    let Some(libraries) = libraries() else { return };
    let shares = match std::env::var("FASTKEX_TEST_HOSTILE_SHARES") {
        Ok(count) => count.parse().expect("FASTKEX_TEST_HOSTILE_SHARES: expected a number"),
        Err(_) => SHARES,
    };
    let (cases, counts) = (Mutex::new(cases()), Mutex::new(Counts::new()));
    let before = resident();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| run(&libraries, shares, &cases, &counts));
        }
    });
    let counts = counts.into_inner().unwrap();
    let total: usize = counts.values().sum();
    for (what, count) in &counts {
        println!("{count:>7} {what}");
    }
    artifacts::say(&format!("{total} hostile handshakes, all with the right alert"));
    assert_eq!(total, shares * TLS_GROUPS.len());
    // Every kind was met, and some shares were taken.
    assert!(counts.keys().any(|what| what.starts_with("server answered")));
    let grown = resident().saturating_sub(before);
    assert!(grown < GROWTH, "memory grew by {grown} bytes");
}
