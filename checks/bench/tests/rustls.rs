//! Handshakes of rustls with our group on one side and rustls's own on the other.

#![cfg(feature = "handshakes")]

use bench::handshake::{Handshake, ours};
use rustls::crypto::aws_lc_rs::kx_group;

/// Handshakes in each direction.
const HANDSHAKES: usize = 50;

#[test]
fn rustls_own_groups_agree_with_ours() {
    let theirs = [
        kx_group::X25519MLKEM768,
        kx_group::SECP256R1MLKEM768,
        kx_group::MLKEM768,
        kx_group::MLKEM1024,
    ];
    let mut compared = 0;
    for theirs in theirs {
        let named =
            |ours: &&'static dyn rustls::crypto::SupportedKxGroup| ours.name() == theirs.name();
        let Some(ours) = fastkex_rustls::groups().find(named) else { continue };
        compared += 1;
        for handshake in [Handshake::new(ours, theirs), Handshake::new(theirs, ours)] {
            for _ in 0..HANDSHAKES {
                assert_eq!(handshake.run(), ours.name());
            }
        }
    }
    assert!(compared >= 3);
}

#[test]
fn ours_replace_rustls_own() {
    let own = rustls::crypto::aws_lc_rs::default_provider();
    let count = own.kx_groups.len();
    let first = own.kx_groups[0].name();
    let both = fastkex_rustls::with(own, [ours("X25519MLKEM768"), ours("MLKEM768")]);
    let names: Vec<_> = both.kx_groups.iter().map(|group| group.name()).collect();
    let times = |name| names.iter().filter(|other| **other == name).count();
    assert!(names.iter().all(|&name| times(name) == 1), "{names:?}");
    assert!(names.contains(&first) && names.len() <= count + 2);
    assert_eq!(format!("{:?}", both.kx_groups[0]), "X25519MLKEM768");
}
