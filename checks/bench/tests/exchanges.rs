//! Random exchanges with every implementation, in both directions, rejections included.

use bench::exchange::{self, X25519};
use bench::kem::streamlined::*;
use bench::kem::{Kem, StoredKeys};
use bench::openssl::OpenSsl;
use bench::signature::{self, Ed25519};
use curve25519::x25519::PublicKey;
use sntrup::*;

const EXCHANGES: usize = 1000;
/// Exchanges for one key pair of the peer's, as its key generation is slow.
const FOR_A_PEERS_KEY: usize = 10;

fn exchange<A: StoredKeys, B: StoredKeys>(ours: &A, peer: &B) {
    assert_eq!(ours.algorithm(), peer.algorithm());
    let case = format!("{} with {}", ours.algorithm(), peer.name());
    let mut theirs = peer.key_pair();
    for round in 0..EXCHANGES {
        // fastkex's key, the peer's ciphertext.
        let (public, secret) = ours.key_pair();
        let (mut ciphertext, shared) = peer.encapsulate(&public);
        assert_eq!(ours.decapsulate(&secret, &ciphertext), shared, "{case}");
        // Each reads the other's secret keys, so both can compute the same rejection.
        let place = round % ciphertext.len();
        ciphertext[place] ^= 1 << (round % 8);
        let rejected = ours.decapsulate(&secret, &ciphertext);
        assert_ne!(rejected, shared, "{case}");
        let carried = peer.secret_key(&ours.secret_key_bytes(&secret));
        assert_eq!(rejected, peer.decapsulate(&carried, &ciphertext), "{case}");

        // The peer's key, fastkex's ciphertext.
        if round % FOR_A_PEERS_KEY == 0 {
            theirs = peer.key_pair();
        }
        let (ciphertext, shared) = ours.encapsulate(&theirs.0);
        assert_eq!(peer.decapsulate(&theirs.1, &ciphertext), shared, "{case}");
        let carried = ours.secret_key(&peer.secret_key_bytes(&theirs.1));
        assert_eq!(ours.decapsulate(&carried, &ciphertext), shared, "{case}");
    }
}

macro_rules! exchanges {
    ($($name:ident: $set:ty, $peer:expr;)*) => {$(
        #[test]
        fn $name() {
            exchange(&Ours::<$set>::on(Backend::best()), &$peer);
        }
    )*};
}

exchanges! {
    sntrup761_crate: Sntrup761, Sntrup761Crate;
    sntrup_crate_653: Sntrup653, SntrupCrate653;
    sntrup_crate_761: Sntrup761, SntrupCrate761;
    sntrup_crate_857: Sntrup857, SntrupCrate857;
    sntrup_crate_953: Sntrup953, SntrupCrate953;
    sntrup_crate_1013: Sntrup1013, SntrupCrate1013;
    sntrup_crate_1277: Sntrup1277, SntrupCrate1277;
    pqclean_653: Sntrup653, PqClean653;
    pqclean_761: Sntrup761, PqClean761;
    pqclean_857: Sntrup857, PqClean857;
    pqclean_953: Sntrup953, PqClean953;
    pqclean_1013: Sntrup1013, PqClean1013;
    pqclean_1277: Sntrup1277, PqClean1277;
}

#[cfg(feature = "peers")]
exchanges! {
    liboqs_761: Sntrup761, Liboqs::new();
}

/// Returns the system's OpenSSL, if it has `algorithm`.
fn system_openssl(algorithm: &str) -> Option<OpenSsl> {
    let openssl = OpenSsl::system().unwrap();
    let found = openssl.has(algorithm);
    if !found {
        println!("skipped: {openssl} has no {algorithm}");
    }
    found.then_some(openssl)
}

fn x25519_exchanges<P: X25519>(peer: &P) {
    for ours in Backend::available().map(exchange::Ours) {
        let pairs = ours.key_pairs(EXCHANGES);
        let (publics, secrets): (Vec<_>, Vec<_>) =
            (0..pairs.len()).map(|_| peer.key_pair()).unzip();
        let own: Vec<_> = pairs.iter().map(|pair| pair.secret.clone()).collect();
        let theirs: Vec<_> = publics.iter().map(|public| PublicKey(*public)).collect();
        let together = ours.derive_all(&own, &theirs);
        for i in 0..EXCHANGES {
            let shared = ours.derive(&own[i], &publics[i]);
            assert_eq!(shared, peer.derive(&secrets[i], &pairs[i].public.0), "{}", peer.name());
            assert_eq!(shared, *together[i].as_bytes());
        }
    }
}

#[test]
fn x25519() {
    x25519_exchanges(&exchange::Dalek);
    x25519_exchanges(&exchange::Graviola);
    #[cfg(feature = "peers")]
    x25519_exchanges(&exchange::AwsLc);
    if let Some(openssl) = system_openssl(exchange::NAME) {
        x25519_exchanges(&openssl);
    }
}

fn ed25519_signatures<P: Ed25519>(peer: &P) {
    for ours in Backend::available().map(signature::Ours) {
        for i in 0..EXCHANGES {
            let mut seed = [0; signature::KEY_BYTES];
            generator::fill(&mut seed).unwrap();
            let message = vec![i as u8; i];
            let (public, key) = ours.key_pair(&seed);
            let (their_public, their_key) = peer.key_pair(&seed);
            assert_eq!(public, their_public, "{}", peer.name());
            let mut signature = ours.sign(&key, &message);
            assert_eq!(signature, peer.sign(&their_key, &message), "{}", peer.name());
            for valid in [true, false] {
                assert_eq!(ours.verify(&public, &message, &signature), valid);
                assert_eq!(peer.verify(&public, &message, &signature), valid, "{}", peer.name());
                signature[i % signature::SIGNATURE_BYTES] ^= 1 << (i % 8);
            }
        }
    }
}

#[test]
fn ed25519() {
    ed25519_signatures(&signature::Dalek);
    ed25519_signatures(&signature::Graviola);
    #[cfg(feature = "peers")]
    ed25519_signatures(&signature::AwsLc);
    if let Some(openssl) = system_openssl(signature::NAME) {
        ed25519_signatures(&openssl);
    }
}

/// Checks that PQClean draws from this workspace's generator. Otherwise the cost of its own random
/// bytes could exceed the cost of its computation.
#[test]
fn pqclean_draws_from_our_generator() {
    let start = generator::drawn();
    PqClean761.key_pair();
    let for_a_key = generator::drawn() - start;
    let p = Sntrup761::P as u64;
    assert!(for_a_key >= 8 * p, "{for_a_key} bytes for a key");
}
