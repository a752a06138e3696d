//! `fastkex kat`: replays known-answer files.

use std::path::{Path, PathBuf};

use clap::Args;
use reference::drbg::Drbg;
use reference::kat::{self, Implementation, KatFile, Record, replay};
use serde::Serialize;
use sntrup::{Backend, Error};

use crate::json;
use crate::kem::Kem;
use crate::sets::{ForSet, for_set};
use output::{Failure, Outcome};

/// The sizes of the batches in which a sequence of keys is generated.
const BATCHES: [usize; 7] = [1, 2, 3, 31, 32, 33, 64];

/// Replay known-answer files on every backend of this machine, key by key and in batches
#[derive(Args, Debug)]
pub(crate) struct Kat {
    /// Print one JSON array instead of lines
    #[arg(long)]
    json: bool,
    /// Known-answer files, each for one parameter set
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// The result of one file on one backend.
#[derive(Serialize)]
struct Replayed {
    file: String,
    parameter_set: &'static str,
    backend: &'static str,
    /// The number of keys in a batch; 1 means key by key.
    batch: usize,
    records: usize,
    matched: usize,
    mismatches: Vec<String>,
}

/// A parameter set on a backend. Sequences of keys are generated in batches of a fixed size.
struct OnBackend<K> {
    backend: Backend,
    batch: usize,
    kem: core::marker::PhantomData<K>,
}

/// Returns the encodings of both halves of a key pair.
fn encoded<K: Kem>(pair: K::KeyPair) -> (Vec<u8>, Vec<u8>) {
    let (public, secret) = K::into_parts(pair);
    (K::public_key_bytes(&public).to_vec(), K::secret_key_bytes(&secret).to_vec())
}

impl<K: Kem> Implementation for OnBackend<K> {
    type Error = Error;

    fn key_generation(&mut self, random: &mut Drbg) -> Result<(Vec<u8>, Vec<u8>), Error> {
        Ok(encoded::<K>(K::generate(self.backend, random)?))
    }

    fn key_generation_batch(
        &mut self,
        count: usize,
        random: &mut Drbg,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>, Error> {
        let mut keys = Vec::with_capacity(count);
        while keys.len() < count {
            let size = self.batch.min(count - keys.len());
            let batch = K::generate_batch(self.backend, size, random)?;
            keys.extend(batch.into_iter().map(encoded::<K>));
        }
        Ok(keys)
    }

    fn encapsulate(
        &mut self,
        public_key: &[u8],
        random: &mut Drbg,
    ) -> Result<(Vec<u8>, [u8; 32]), Error> {
        let key = K::read_public_key(self.backend, public_key)?;
        let (ciphertext, shared) = K::encapsulate(&key, self.backend, random)?;
        Ok((K::ciphertext_bytes(&ciphertext).to_vec(), *shared.as_bytes()))
    }

    fn decapsulate(&mut self, secret_key: &[u8], ciphertext: &[u8]) -> Result<[u8; 32], Error> {
        let key = K::read_secret_key(self.backend, secret_key)?;
        let ciphertext = K::read_ciphertext(ciphertext)?;
        Ok(*K::decapsulate(&key, self.backend, &ciphertext).as_bytes())
    }
}

impl Kat {
    pub(crate) fn run(&self) -> Outcome {
        let mut results = Vec::new();
        for path in &self.files {
            let file = read(path)?;
            for backend in Backend::available() {
                replay_on(path, &file, backend, &mut results)?;
            }
        }
        let all = results.iter().all(|result| result.mismatches.is_empty());
        if self.json {
            output::line(json::text(&results)?)?;
        } else {
            print_lines(&results)?;
        }
        Ok(all)
    }
}

fn read(path: &Path) -> Result<KatFile, Failure> {
    let name = path.display();
    let text =
        std::fs::read_to_string(path).map_err(|error| Failure::new(format!("{name}: {error}")))?;
    kat::parse(&text).map_err(|error| Failure::new(format!("{name}: {error}")))
}

fn replay_on(
    path: &Path,
    file: &KatFile,
    backend: Backend,
    results: &mut Vec<Replayed>,
) -> Result<(), Failure> {
    let parameters =
        file.parameters().map_err(|error| Failure::new(format!("{}: {error}", path.display())))?;
    let name = parameters.name;
    for_set(name, Replay { path, file, backend, results })
        .ok_or_else(|| Failure::new(format!("{}: {name} is not known", path.display())))
}

struct Replay<'a> {
    path: &'a Path,
    file: &'a KatFile,
    backend: Backend,
    results: &'a mut Vec<Replayed>,
}

impl ForSet for Replay<'_> {
    type Output = ();

    /// Replays counts once, and sequences in batches of every size.
    fn run<K: Kem>(self) {
        let Replay { path, file, backend, results } = self;
        let has_sequence = file.records.iter().any(|record| matches!(record, Record::Sequence(_)));
        let batches = if has_sequence { &BATCHES[..] } else { &BATCHES[..1] };
        for &batch in batches {
            let mut implementation =
                OnBackend::<K> { backend, batch, kem: core::marker::PhantomData };
            let records: Vec<_> = file
                .records
                .iter()
                .filter(|record| batch == 1 || matches!(record, Record::Sequence(_)))
                .collect();
            let mut result = Replayed {
                file: path.display().to_string(),
                parameter_set: K::NAME,
                backend: backend.name(),
                batch,
                records: records.len(),
                matched: 0,
                mismatches: Vec::new(),
            };
            for record in records {
                let mismatches = replay(record, &mut implementation);
                result.matched += usize::from(mismatches.is_empty());
                result.mismatches.extend(mismatches.iter().map(ToString::to_string));
            }
            results.push(result);
        }
    }
}

fn print_lines(results: &[Replayed]) -> Result<(), Failure> {
    /// The number of mismatches shown for each file and backend.
    const SHOWN: usize = 5;

    for result in results {
        let Replayed { file, parameter_set, backend, batch, records, matched, mismatches } = result;
        let how = match batch {
            1 => "key by key".to_owned(),
            n => format!("in batches of {n}"),
        };
        output::line(format_args!(
            "{file}: {parameter_set} on {backend}, {how}: {matched} of {records} matched"
        ))?;
        for mismatch in mismatches.iter().take(SHOWN) {
            output::line(format_args!("    {mismatch}"))?;
        }
        if mismatches.len() > SHOWN {
            output::line(format_args!("    and {} more", mismatches.len() - SHOWN))?;
        }
    }
    let records: usize = results.iter().map(|result| result.records).sum();
    let matched: usize = results.iter().map(|result| result.matched).sum();
    output::line(format_args!("{matched} of {records} matched"))
}
