//! Hostile key shares, towards servers and towards clients: the right error and alert each time,
//! and the next good handshake works.

mod common;

use artifacts::Numbers;
use common::{X25519, accept, alert, client, feed, open, server, shake};
use kex::{Backend, GroupVisitor, TlsGroup, TlsKem, visit_groups};
use openssl_runtime::Direction;
use openssl_runtime::wire::{find_client_key_shares, find_server_key_share};
use rustls::{Error, InvalidMessage, PeerMisbehaved};

const ILLEGAL_PARAMETER: u8 = 47;
const DECODE_ERROR: u8 = 50;

/// Handshakes with each kind of share of each group.
const ROUNDS: usize = 12;

/// A group.
struct Case {
    group: &'static TlsGroup,
    /// The code point of the key exchange in a hybrid.
    exchange: Option<u16>,
    /// Whether a server must take a share of it.
    takes: fn(&[u8]) -> bool,
}

fn cases() -> Vec<Case> {
    struct Visitor(Vec<Case>);
    impl GroupVisitor for Visitor {
        fn visit<K: TlsKem>(&mut self) {
            let takes = |share: &[u8]| K::read_public_key(Backend::best(), share).is_ok();
            let exchange = K::EXCHANGE.map(|part| part.code_point);
            self.0.push(Case { group: K::GROUP, exchange, takes });
        }
    }
    let mut visitor = Visitor(Vec::new());
    visit_groups(&mut visitor);
    visitor.0
}

impl Case {
    /// Whether its shares end with one of X25519.
    fn ends_with_x25519(&self) -> bool {
        self.exchange == Some(X25519)
    }

    /// The place of the coefficients in the client's share: 12 bits each, below 3329.
    fn ml_kem_bytes(&self) -> Option<usize> {
        let ml_kem = self.group.name.trim_start_matches("X25519").starts_with("MLKEM");
        let after = if self.ends_with_x25519() { 32 + 32 } else { 32 };
        ml_kem.then(|| self.group.public_key_bytes - after)
    }
}

/// Kinds of shares that a peer could send instead of a good one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Short,
    Long,
    Empty,
    Random,
    Ones,
    Zeros,
    BitFlipped,
    NotCanonical,
    SmallOrder,
}

const KINDS: [Kind; 9] = [
    Kind::Short,
    Kind::Long,
    Kind::Empty,
    Kind::Random,
    Kind::Ones,
    Kind::Zeros,
    Kind::BitFlipped,
    Kind::NotCanonical,
    Kind::SmallOrder,
];

/// A share of that kind; `None` if the group has none.
fn hostile(kind: Kind, case: &Case, good: &[u8], numbers: &mut Numbers) -> Option<Vec<u8>> {
    let mut random =
        |count: usize| -> Vec<u8> { (0..count).map(|_| numbers.bits() as u8).collect() };
    let mut share = good.to_vec();
    match kind {
        Kind::Short => share.truncate(numbers.below(share.len() - 1) + 1),
        Kind::Long => share.extend(random(1 + good.len() % 31)),
        Kind::Empty => share.clear(),
        Kind::Random => share = random(good.len()),
        Kind::Ones => share.fill(0xff),
        Kind::Zeros => share.fill(0),
        Kind::BitFlipped => share[numbers.below(good.len())] ^= 1 << numbers.below(8),
        Kind::NotCanonical => {
            // The smallest value that is not below q = 3329, or the largest of 12 bits.
            let pair = numbers.below(case.ml_kem_bytes()? / 3) * 3;
            let value = if numbers.below(2) == 0 { 3329u16 } else { 4095 };
            share[pair] = value as u8;
            share[pair + 1] = share[pair + 1] & 0xf0 | (value >> 8) as u8;
        }
        Kind::SmallOrder => {
            if !case.ends_with_x25519() {
                return None;
            }
            let mut points = [[0u8; 32]; 4];
            points[1][0] = 1;
            // -1, and 0 not reduced.
            points[2] = [0xff; 32];
            (points[2][0], points[2][31]) = (0xec, 0x7f);
            points[3] = [0xff; 32];
            (points[3][0], points[3][31]) = (0xed, 0x7f);
            let start = share.len() - 32;
            share[start..].copy_from_slice(&points[numbers.below(points.len())]);
        }
    }
    Some(share)
}

const REFUSED: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

#[test]
fn servers_refuse_hostile_shares_and_go_on() {
    let mut taken = 0;
    for case in cases() {
        let (name, numbers) = (case.group.name, &mut Numbers::new(case.group.code_point.into()));
        let (client, server) = (client(&[name]), server(&[name]));
        let hello = shake(&client, &server).unwrap().hello;
        let good = find_client_key_shares(&hello).unwrap().remove(0);
        for (kind, _) in KINDS.iter().flat_map(|&kind| (0..ROUNDS).map(move |round| (kind, round)))
        {
            let Some(share) = hostile(kind, &case, &hello[good.bytes.clone()], numbers) else {
                continue;
            };
            let flight = good.replace(&hello, &share).unwrap();
            let (answer, result) = feed(&mut accept(&server), &flight);
            if (case.takes)(&share) {
                // Nothing is wrong with it.
                let can_be_good = [Kind::Random, Kind::Zeros, Kind::BitFlipped].contains(&kind);
                assert!(can_be_good && result.is_ok(), "{name}, {kind:?}: {result:?}");
                let bytes = find_server_key_share(&answer).unwrap().bytes.len();
                assert_eq!(bytes, case.group.ciphertext_bytes);
                taken += 1;
                continue;
            }
            let error = result.expect_err(name);
            if kind == Kind::Empty {
                assert!(matches!(error, Error::InvalidMessage(InvalidMessage::IllegalEmptyValue)));
                assert_eq!(alert(&answer), Some(DECODE_ERROR), "{name}, {kind:?}");
            } else {
                assert_eq!(error, REFUSED, "{name}, {kind:?}");
                assert_eq!(alert(&answer), Some(ILLEGAL_PARAMETER), "{name}, {kind:?}");
            }
        }
        shake(&client, &server).unwrap();
    }
    assert!(taken > 0);
}

#[test]
fn clients_refuse_hostile_shares_and_go_on() {
    for case in cases() {
        let (name, numbers) =
            (case.group.name, &mut Numbers::new(!u64::from(case.group.code_point)));
        let (client, server) = (client(&[name]), server(&[name]));
        for (kind, _) in KINDS.iter().flat_map(|&kind| (0..ROUNDS).map(move |round| (kind, round)))
        {
            let (mut ours, mut theirs) = (open(&client), accept(&server));
            let (hello, _) = feed(&mut ours, &[]);
            let (answer, _) = feed(&mut theirs, &hello);
            let good = find_server_key_share(&answer).unwrap();
            // A ciphertext of ML-KEM has no value that is not canonical.
            let share = match kind {
                Kind::NotCanonical => None,
                kind => hostile(kind, &case, &answer[good.bytes.clone()], numbers),
            };
            let Some(share) = share else { continue };
            let (last, result) = feed(&mut ours, &good.replace(&answer, &share).unwrap());
            let error = result.expect_err(name);
            if kind == Kind::Empty {
                assert!(matches!(error, Error::InvalidMessage(InvalidMessage::IllegalEmptyValue)));
                assert_eq!(alert(&last), Some(DECODE_ERROR), "{name}, {kind:?}");
                continue;
            }
            let refused = share.len() != case.group.ciphertext_bytes
                || kind == Kind::SmallOrder
                || kind == Kind::Zeros && case.ends_with_x25519();
            // Other key exchanges refuse more: what is not on their curve.
            if refused || error == REFUSED && !matches!(case.exchange, None | Some(X25519)) {
                assert_eq!(error, REFUSED, "{name}, {kind:?}");
                assert_eq!(alert(&last), Some(ILLEGAL_PARAMETER), "{name}, {kind:?}");
            } else {
                // Rejected implicitly: the keys differ, and the next record cannot be read. The
                // alert is encrypted.
                assert_eq!(error, Error::DecryptError, "{name}, {kind:?}");
                assert!(!last.is_empty() && alert(&last).is_none(), "{name}, {kind:?}");
            }
        }
        shake(&client, &server).unwrap();
    }
}

#[test]
fn a_hybrids_second_share_is_checked_as_well() {
    let (client, server) = (client(&["X25519SNTRUP761", "X25519"]), server(&["X25519"]));
    for point in [[0; 32].to_vec(), [[1].to_vec(), [0; 31].to_vec()].concat(), [9; 31].to_vec()] {
        let (mut ours, mut theirs) = (open(&client), accept(&server));
        let (hello, _) = feed(&mut ours, &[]);
        let (answer, _) = feed(&mut theirs, &hello);
        let good = find_server_key_share(&answer).unwrap();
        let (last, result) = feed(&mut ours, &good.replace(&answer, &point).unwrap());
        assert_eq!((result, alert(&last)), (Err(REFUSED), Some(ILLEGAL_PARAMETER)));
    }
    assert!(!matches!(shake(&client, &server), Err((Direction::ServerToClient, _))));
}
