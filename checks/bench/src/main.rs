//! Measures other implementations and fastkex, in one run and in the same units.

#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bench::comparison::{Comparison, DECAPSULATE, DERIVE, ENCAPSULATE, Figure, KEYGEN, Side};
use bench::exchange::{self, X25519};
use bench::kem::Kem;
use bench::kem::ml_kem::{self, MlKem};
use bench::kem::streamlined::{self, Ours};
use bench::openssl::OpenSsl;
use bench::report::Report;
use bench::{signature, versions};
use clap::{Parser, ValueEnum};
use curve25519::x25519::PublicKey;
use measure::{Options, Subject};
use mlkem::{MlKem512, MlKem768, MlKem1024};
use output::{Failure, Outcome};
use sntrup::{Backend, Operations, ParameterSet as _};

/// Batch sizes of fastkex's key generation.
const BATCHES: [usize; 2] = [32, 256];
/// Batch sizes for X25519: a full vector, and the batch of the paper's ENGINE.
const KEY_BATCHES: [usize; 2] = [8, 128];
/// Key pairs with which each peer's ML-KEM is compared with ours before it is measured.
const AGREEMENT_ROUNDS: usize = 10;
/// Key exchanges in a vector.
const EIGHT: usize = 8;

const METHOD: &str = "implementations of an operation take turns; public keys, ciphertexts and key shares come and go as bytes, \
    secret keys are ready; ours draws random bytes from AES-256 in counter mode, and so do the others for sntrup, with OpenSSL's in liboqs, and \
    libcrux-ml-kem and ml-kem; for the rest they draw as they themselves do; each peer's ML-KEM has been compared with ours on random and hostile inputs; Ed25519 signs what a TLS server signs; a handshake of rustls is that of client and server in memory, with an ECDSA P-256 certificate and AWS-LC for all but the key exchange; OpenSSL is used as its libssl does, with a fresh context for each operation";

/// Measures other implementations and fastkex.
#[derive(Parser)]
struct Arguments {
    /// Seconds for each figure.
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    seconds: f64,
    /// Only this algorithm (may be repeated).
    #[arg(long = "algorithm", value_name = "NAME", value_enum)]
    algorithms: Vec<Algorithm>,
    /// Another OpenSSL beside the system's: the folder of its libcrypto and libssl (may be
    /// repeated).
    #[arg(long = "openssl", value_name = "FOLDER")]
    openssl: Vec<PathBuf>,
    /// JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Also write bench-PROCESSOR.md and .json into this folder.
    #[arg(long, value_name = "FOLDER")]
    results: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=60.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number from 0 to 60".into()),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Algorithm {
    Sntrup653,
    Sntrup761,
    Sntrup857,
    Sntrup953,
    Sntrup1013,
    Sntrup1277,
    X25519,
    Ed25519,
    Mlkem512,
    Mlkem768,
    Mlkem1024,
    #[cfg(feature = "handshakes")]
    Rustls,
    Random,
}

fn main() -> ExitCode {
    output::main("bench", run)
}

fn run(arguments: Arguments) -> Outcome {
    let options = Options {
        time: Duration::from_secs_f64(arguments.seconds),
        samples: usize::MAX,
        rest: None,
    };
    let (openssls, mut skipped) = openssls(&arguments.openssl)?;
    let algorithms = match &*arguments.algorithms {
        [] => Algorithm::value_variants(),
        chosen => chosen,
    };
    let mut figures = Vec::new();
    for &algorithm in algorithms {
        figures.extend(measure_algorithm(algorithm, &options, &openssls, &mut skipped));
    }
    if !cfg!(feature = "peers") {
        skipped.push("liboqs and aws-lc-rs: built without the feature peers".into());
    }
    let mut versions = versions::measured();
    versions.extend(openssls.iter().map(|openssl| {
        let text = openssl.version_text();
        let (name, version) = text.split_once(' ').unwrap_or((&text, ""));
        (name.to_owned(), version.to_owned())
    }));
    let report = Report {
        machine: measure::machine(),
        versions,
        method: format!("{}; {METHOD}", measure::METHOD),
        seconds: arguments.seconds,
        figures,
        skipped,
    };
    let json = || serde_json::to_string_pretty(&report).map_err(Failure::new);
    if let Some(folder) = &arguments.results {
        let base = format!("bench-{}", report.machine.processor_in_file_names());
        let write = |ending: &str, text: String| {
            let path = folder.join(format!("{base}.{ending}"));
            fs::write(&path, text).map_err(Failure::about(path.display()))
        };
        fs::create_dir_all(folder).map_err(Failure::about(folder.display()))?;
        write("md", report.page("make bench"))?;
        write("json", json()? + "\n")?;
    }
    if arguments.json {
        println!("{}", json()?);
    } else {
        print!("{}", report.table());
    }
    Ok(true)
}

/// Opens the system's OpenSSL and the ones in `folders`. The second list has a line if the system
/// has none.
fn openssls(folders: &[PathBuf]) -> Result<(Vec<OpenSsl>, Vec<String>), Failure> {
    let (mut found, mut skipped) = (Vec::new(), Vec::new());
    match OpenSsl::system() {
        Ok(openssl) => found.push(openssl),
        Err(error) => skipped.push(format!("the system's OpenSSL: {error}")),
    }
    for folder in folders {
        let folder: &Path = folder;
        found.push(OpenSsl::in_directory(folder).map_err(Failure::about(folder.display()))?);
    }
    Ok((found, skipped))
}

fn measure_algorithm(
    algorithm: Algorithm,
    options: &Options,
    openssls: &[OpenSsl],
    skipped: &mut Vec<String>,
) -> Vec<Figure> {
    use streamlined::*;
    let comparison = match algorithm {
        Algorithm::Sntrup653 => sntrup::<sntrup::Sntrup653>(PqClean653, SntrupCrate653),
        Algorithm::Sntrup761 => {
            let mut comparison = sntrup::<sntrup::Sntrup761>(PqClean761, SntrupCrate761);
            #[cfg(feature = "peers")]
            comparison.add_kem(Side::Peer, Liboqs::new());
            comparison.add_kem(Side::Peer, Sntrup761Crate);
            comparison
        }
        Algorithm::Sntrup857 => sntrup::<sntrup::Sntrup857>(PqClean857, SntrupCrate857),
        Algorithm::Sntrup953 => sntrup::<sntrup::Sntrup953>(PqClean953, SntrupCrate953),
        Algorithm::Sntrup1013 => sntrup::<sntrup::Sntrup1013>(PqClean1013, SntrupCrate1013),
        Algorithm::Sntrup1277 => sntrup::<sntrup::Sntrup1277>(PqClean1277, SntrupCrate1277),
        Algorithm::X25519 => x25519(openssls),
        Algorithm::Ed25519 => ed25519(openssls),
        Algorithm::Mlkem512 => {
            let (libcrux, rust_crypto) = (ml_kem::Libcrux512, ml_kem::RustCrypto512);
            ml_kem::<MlKem512>(libcrux, rust_crypto, openssls, skipped)
        }
        Algorithm::Mlkem768 => {
            let (libcrux, rust_crypto) = (ml_kem::Libcrux768, ml_kem::RustCrypto768);
            let mut comparison = ml_kem::<MlKem768>(libcrux, rust_crypto, openssls, skipped);
            add_ml_kem_peer::<MlKem768>(&mut comparison, ml_kem::Graviola);
            comparison
        }
        Algorithm::Mlkem1024 => {
            let (libcrux, rust_crypto) = (ml_kem::Libcrux1024, ml_kem::RustCrypto1024);
            ml_kem::<MlKem1024>(libcrux, rust_crypto, openssls, skipped)
        }
        #[cfg(feature = "handshakes")]
        Algorithm::Rustls => handshakes(),
        Algorithm::Random => random(),
    };
    comparison.run(options)
}

fn sntrup<P: Operations>(
    pqclean: impl Kem + 'static,
    sntrup: impl Kem + 'static,
) -> Comparison<'static> {
    let mut comparison = Comparison::new(P::NAME);
    for backend in Backend::available() {
        add_ours(&mut comparison, Ours::<P>::on(backend));
    }
    comparison.add_kem(Side::Peer, pqclean);
    comparison.add_kem(Side::Peer, sntrup);
    comparison
}

fn add_ours<P: Operations>(comparison: &mut Comparison<'_>, ours: Ours<P>) {
    comparison.add_kem(Side::Ours, ours);
    let name = || (ours.name(), ours.backend());
    for count in BATCHES {
        let subject = Subject::new(count, move || ours.key_pairs(count));
        comparison.add_variant(name(), KEYGEN, format!("batch of {count}"), subject);
    }

    let (public, secret) = ours.key_pair();
    let (ciphertext, _) = ours.encapsulate(&public);
    let subject = Subject::prepared(
        1,
        move || ours.prepare(),
        move |prepared| ours.encapsulate_prepared(prepared, &public),
    );
    comparison.add_variant(name(), ENCAPSULATE, "prepared", subject);
    let key = ours.expand(&secret);
    let subject = Subject::new(1, move || ours.decapsulate_expanded(&key, &ciphertext));
    comparison.add_variant(name(), DECAPSULATE, "expanded key", subject);
}

fn x25519(openssls: &[OpenSsl]) -> Comparison<'static> {
    let mut comparison = Comparison::new(exchange::NAME);
    let (peer, _) = exchange::Dalek.key_pair();
    for backend in Backend::available() {
        add_our_exchange(&mut comparison, exchange::Ours(backend), peer);
    }
    comparison.add_exchange(Side::Peer, exchange::Dalek, peer);
    comparison.add_exchange(Side::Peer, exchange::Graviola, peer);
    #[cfg(feature = "peers")]
    comparison.add_exchange(Side::Peer, exchange::AwsLc, peer);
    for openssl in openssls {
        comparison.add_exchange(Side::Peer, openssl.clone(), peer);
    }
    comparison
}

fn add_our_exchange(comparison: &mut Comparison<'_>, ours: exchange::Ours, peer: [u8; 32]) {
    comparison.add_exchange(Side::Ours, ours, peer);
    let name = || (ours.name(), ours.backend());
    for count in KEY_BATCHES {
        let subject = Subject::new(count, move || ours.key_pairs(count));
        comparison.add_variant(name(), KEYGEN, format!("batch of {count}"), subject);
    }
    let secrets: Vec<_> = ours.key_pairs(EIGHT).into_iter().map(|pair| pair.secret).collect();
    let peers = [PublicKey(peer); EIGHT];
    let subject = Subject::new(EIGHT, move || ours.derive_all(&secrets, &peers));
    comparison.add_variant(name(), DERIVE, "eight at once", subject);
}

fn ed25519(openssls: &[OpenSsl]) -> Comparison<'static> {
    let mut comparison = Comparison::new(signature::NAME);
    for backend in Backend::available() {
        comparison.add_signature(Side::Ours, signature::Ours(backend));
    }
    comparison.add_signature(Side::Peer, signature::Dalek);
    comparison.add_signature(Side::Peer, signature::Graviola);
    #[cfg(feature = "peers")]
    comparison.add_signature(Side::Peer, signature::AwsLc);
    for openssl in openssls {
        comparison.add_signature(Side::Peer, openssl.clone());
    }
    comparison
}

fn ml_kem<P: mlkem::Operations>(
    libcrux: impl MlKem + 'static,
    rust_crypto: impl MlKem + 'static,
    openssls: &[OpenSsl],
    skipped: &mut Vec<String>,
) -> Comparison<'static> {
    let mut comparison = Comparison::new(P::NAME);
    for backend in Backend::available() {
        add_our_ml_kem(&mut comparison, ml_kem::Ours::<P>::on(backend));
    }
    add_ml_kem_peer::<P>(&mut comparison, libcrux);
    add_ml_kem_peer::<P>(&mut comparison, rust_crypto);
    #[cfg(feature = "peers")]
    {
        add_ml_kem_peer::<P>(&mut comparison, ml_kem::AwsLc::<P>::new());
        add_ml_kem_peer::<P>(&mut comparison, ml_kem::Liboqs::<P>::new());
    }
    for openssl in openssls {
        match ml_kem::OpenSslMlKem::<P>::of(openssl) {
            Some(peer) => add_ml_kem_peer::<P>(&mut comparison, peer),
            None => skipped.push(format!("{} in {openssl}, which came with 3.5", P::NAME)),
        }
    }
    comparison
}

fn add_our_ml_kem<P: mlkem::Operations>(comparison: &mut Comparison<'_>, ours: ml_kem::Ours<P>) {
    comparison.add_kem(Side::Ours, ours);
    let name = || (Kem::name(&ours), Kem::backend(&ours));
    for count in BATCHES {
        let subject = Subject::new(count, move || ours.key_pairs(count));
        comparison.add_variant(name(), KEYGEN, format!("batch of {count}"), subject);
    }
    let (public, secret) = Kem::key_pair(&ours);
    let (ciphertext, _) = Kem::encapsulate(&ours, &public);
    let key = ours.expand(&secret);
    let subject = Subject::new(1, move || ours.decapsulate_expanded(&key, &ciphertext));
    comparison.add_variant(name(), DECAPSULATE, "expanded key", subject);
}

/// Adds a peer that agrees with fastkex.
fn add_ml_kem_peer<P: mlkem::Operations>(
    comparison: &mut Comparison<'_>,
    peer: impl MlKem + 'static,
) {
    ml_kem::assert_agreement(&ml_kem::Ours::<P>::on(Backend::best()), &peer, AGREEMENT_ROUNDS);
    comparison.add_kem(Side::Peer, peer);
}

/// Handshakes of rustls, which differ in their key exchange.
#[cfg(feature = "handshakes")]
fn handshakes() -> Comparison<'static> {
    use bench::comparison::HANDSHAKE;
    use bench::handshake::{Handshake, ours};
    use rustls::crypto::aws_lc_rs::kx_group;

    let group = || ours("X25519MLKEM768");
    let mut comparison = Comparison::new("rustls, X25519MLKEM768");
    comparison.add_handshake(Side::Ours, "fastkex", Handshake::new(group(), group()));
    let theirs = kx_group::X25519MLKEM768;
    comparison.add_handshake(Side::Peer, "aws-lc-rs", Handshake::new(theirs, theirs));
    let hybrid = ours("X25519SNTRUP761");
    let handshake = Handshake::new(hybrid, hybrid);
    let name = ("fastkex".into(), None);
    let subject = Subject::new(1, move || handshake.run());
    comparison.add_variant(name, HANDSHAKE, "X25519SNTRUP761", subject);
    comparison
}

/// Measures random bytes: the amount for a polynomial of sntrup761, and for a key of X25519.
fn random() -> Comparison<'static> {
    const POLYNOMIAL: usize = sntrup::Sntrup761::SAMPLE_BYTES;
    let mut comparison = Comparison::new("random bytes");
    let mut add = |name: &str, fill: fn(&mut [u8])| {
        for (bytes, operation) in [(POLYNOMIAL, "3,044 bytes"), (32, "32 bytes")] {
            let mut buffer = vec![0; bytes];
            comparison.add(name, operation, Subject::new(1, move || fill(&mut buffer)));
        }
    };
    add("AES-256 in counter mode", |bytes| generator::fill(bytes).unwrap());
    add("the operating system", |bytes| getrandom::fill(bytes).unwrap());
    comparison
}
