//! `fastkex kat`: replays known-answer files.

mod ml_kem;
mod streamlined;

use std::path::{Path, PathBuf};

use clap::Args;
use reference::kat::{self, KatFile, Mismatch};
use reference::ml_kem::kat as ml_kem_kat;
use serde::Serialize;
use sntrup::Backend;

use crate::json;
use crate::kem::Streamlined;
use crate::sets::{ForFamily, for_family};
use output::{Failure, Outcome};

/// The sizes of the batches in which keys are generated.
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

impl Replayed {
    /// Counts the records without a mismatch.
    fn of(
        records: impl Iterator<Item = Vec<Mismatch>>,
        file: &str,
        parameter_set: &'static str,
        backend: Backend,
        batch: usize,
    ) -> Self {
        let (file, backend) = (file.to_owned(), backend.name());
        let (mut all, mut matched, mut mismatches) = (0, 0, Vec::new());
        for record in records {
            all += 1;
            matched += usize::from(record.is_empty());
            mismatches.extend(record.iter().map(ToString::to_string));
        }
        Replayed { file, parameter_set, backend, batch, records: all, matched, mismatches }
    }
}

/// A file of known answers, by the family of its parameter set.
enum File {
    Streamlined(KatFile),
    MlKem(ml_kem_kat::KatFile),
}

impl File {
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(Failure::about(path.display()))?;
        // Files of Streamlined NTRU Prime begin with a record.
        let file = if text.trim_start().starts_with("parameters=") {
            ml_kem_kat::parse(&text).map(File::MlKem)
        } else {
            kat::parse(&text).map(File::Streamlined)
        };
        file.map_err(Failure::about(path.display()))
    }

    fn replay(
        &self,
        path: &Path,
        backend: Backend,
        results: &mut Vec<Replayed>,
    ) -> Result<(), Failure> {
        let name = match self {
            File::Streamlined(file) => {
                file.parameters().map_err(Failure::about(path.display()))?.name
            }
            File::MlKem(file) => file.params.name,
        };
        for_family(name, Replay { path, file: self, backend, results })
            .ok_or_else(|| Failure::new(format!("{}: {name} is not known", path.display())))?
    }
}

struct Replay<'a> {
    path: &'a Path,
    file: &'a File,
    backend: Backend,
    results: &'a mut Vec<Replayed>,
}

impl Replay<'_> {
    /// The format of a file and its parameter set belong to different families.
    fn mismatch(&self, parameter_set: &str) -> Failure {
        let path = self.path.display();
        Failure::new(format!("{path}: {parameter_set} has known answers of another format"))
    }
}

impl ForFamily for Replay<'_> {
    type Output = Result<(), Failure>;

    fn streamlined<P: sntrup::Operations>(self) -> Result<(), Failure> {
        let File::Streamlined(file) = self.file else { return Err(self.mismatch(P::NAME)) };
        let path = self.path.display().to_string();
        streamlined::replay_on::<Streamlined<P>>(&path, file, self.backend, self.results);
        Ok(())
    }

    fn ml_kem<P: mlkem::Operations>(self) -> Result<(), Failure> {
        let File::MlKem(file) = self.file else { return Err(self.mismatch(P::NAME)) };
        let path = self.path.display().to_string();
        ml_kem::replay_on::<P>(&path, file, self.backend, self.results)
            .map_err(Failure::about(path))
    }
}

impl Kat {
    pub(crate) fn run(&self) -> Outcome {
        let mut results = Vec::new();
        for path in &self.files {
            let file = File::read(path)?;
            for backend in Backend::available() {
                file.replay(path, backend, &mut results)?;
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
