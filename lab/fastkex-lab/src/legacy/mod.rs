//! `fastkex-lab demo-1.1.1`: OpenSSLNTRU's handshakes on OpenSSL 1.1.1, with an ENGINE (section
//! 4.4; appendix F.5.2).

mod comparison;
mod outcome;
mod stunnel;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use openssl_runtime::{KeyType, Libraries};

use output::{Failure, Outcome};
use testbed::Set;
use testbed::{Stage, processor};
use timer::results::{Plan, Run};

use crate::prerequisites;
use crate::programs::Programs;
use comparison::{Comparison, Prefixes};

/// Programs and their Debian packages.
const PROGRAMS: [(&str, &str); 1] = [("stunnel", "stunnel4")];
/// Programs that build stunnel, and their packages.
const BUILD_PROGRAMS: [(&str, &str); 3] = [("cc", "gcc"), ("make", "make"), ("curl", "curl")];

/// Time handshakes with OpenSSL 1.1.1 and the ENGINE, as OpenSSLNTRU has it
///
/// Builds a stunnel for patched OpenSSL 1.1.1 from Debian's source, and starts it on loopback in
/// front of a small HTTP server. Times full TLS 1.3 handshakes, one after the other, of a client
/// with OpenSSL 1.1.1: sntrup761 by the ENGINE with keys in batches and one by one, and by the
/// reference implementation if it has been built; sntrup857, X25519 and P-256. They take turns,
/// sample by sample. Then times the same groups with the system's OpenSSL, the module and stock
/// stunnel, and with OpenSSL 4.0 if 'make test-matrix' has built it. Reports whether the artifact's
/// claims hold (appendix F.5.2), and leaves samples, figures and a page. Exits with 0 if every
/// connection succeeded with the right group, with 1 if one did not, with 2 if the measurement
/// could not run.
#[derive(Args, Debug)]
pub(crate) struct DemoLegacy {
    /// The paper's 100 samples of 8192 connections: hours
    #[arg(long, conflicts_with_all = ["samples", "connections"])]
    full: bool,
    /// Samples of each candidate
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=10_000), default_value_t = 10)]
    samples: u32,
    /// Connections in a sample; the artifact's short form has 1024
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=1_000_000), default_value_t = 1024)]
    connections: u32,
    /// Leave out all but OpenSSL 1.1.1
    #[arg(long)]
    alone: bool,
    /// Folder for samples, figures and the page [default: demo-1.1.1 in cargo's target folder]
    #[arg(long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// The source of stunnel, if it is not to be fetched
    #[arg(long, value_name = "FILE")]
    source: Option<PathBuf>,
}

/// Connections before each sample that are not counted. They suffice for batches to grow to their
/// full size in a new process.
const WARM_UP: usize = 384;
/// The groups of the ENGINE, and the groups they are compared with.
const LATTICES: [&str; 2] = ["sntrup761", "sntrup857"];
const CURVES: [&str; 2] = ["X25519", "P-256"];
/// The kind of the server's certificate.
const CERTIFICATE: KeyType = KeyType::EcP256;

impl DemoLegacy {
    pub(crate) fn run(&self) -> Outcome {
        let patched = absolute(&artifacts::legacy_openssl(true).ok_or_else(|| {
            Failure::new("no patched OpenSSL 1.1.1; 'lab/legacy/openssl-1.1.1/build' builds it")
        })?)?;
        let mut needed = PROGRAMS.to_vec();
        if !stunnel::is_built(&patched) {
            needed.extend(BUILD_PROGRAMS);
        }
        prerequisites::check("demo-1.1.1", &needed, &[])?;
        let reference = artifacts::legacy_reference();
        if reference.is_none() {
            eprintln!(
                "left out: the reference code; 'lab/legacy/openssl-1.1.1/build --reference' builds it"
            );
        }
        let reference = reference.as_deref().map(absolute).transpose()?;
        let prefixes = Prefixes { patched, reference };
        let programs = Programs::build()?;
        let engine = artifacts::engine().map_err(Failure::about("the ENGINE"))?;
        let program = stunnel::provide(&prefixes.patched, self.source.as_deref())?;
        let output = match &self.output {
            Some(folder) => folder.clone(),
            None => artifacts::target_folder().join("demo-1.1.1"),
        };
        fs::create_dir_all(&output).map_err(Failure::about(output.display()))?;
        let output = absolute(&output)?;

        // Read before any thread is bound to a processor.
        let (machine, load) = (measure::machine(), measure::load());
        let (client, server) = match processor::allowed()[..] {
            [first, .., last] => (Some(first), Some(last)),
            _ => (None, None),
        };
        let libraries = Libraries::system().map_err(Failure::new)?;
        let tool = std::env::current_exe().map_err(Failure::about("this program"))?;
        let set = Set::new(&libraries, &programs.module, &tool)?.on(server);
        let plan = self.plan();
        let comparison =
            Comparison::start(&set, &programs, &prefixes, &program, &absolute(&engine)?)?;
        eprintln!(
            "{} candidates on OpenSSL 1.1.1: {} rounds of {} connections each",
            comparison.size(),
            plan.samples,
            plan.connections
        );
        let measured = on(client, || comparison.run(&plan, [client, server], machine, load))?;
        drop(comparison);
        let first = outcome::write(&output, "openssl-1.1.1.json", &measured)?;
        let mut files = vec![first];
        if !self.alone {
            files.extend(self.others(&set.stage, &programs, &plan, &output)?);
        }
        drop(set);
        outcome::report(&measured, &files, &output)
    }

    fn plan(&self) -> Plan {
        let (samples, connections) = match self.full {
            true => (100, 8192),
            false => (self.samples as usize, self.connections as usize),
        };
        Plan { samples, connections, warm_up: WARM_UP, concurrency: 1 }
    }

    /// Times the same groups with later releases and the module. Returns the files that
    /// `fastkex-lab scene` wrote.
    fn others(
        &self,
        stage: &Stage,
        programs: &Programs,
        plan: &Plan,
        output: &Path,
    ) -> Result<Vec<PathBuf>, Failure> {
        let groups = [LATTICES, CURVES].concat();
        let mut files = Vec::new();
        let newer = newer_libraries();
        // Stock stunnel is linked to the system's OpenSSL. The minimal server serves other major
        // versions.
        for (server, libraries) in [("stunnel", None)]
            .into_iter()
            .chain(newer.iter().map(|folder| ("minimal", Some(folder))))
        {
            let folder = stage.folder().join(format!("scene-{}", files.len()));
            let mut scene = programs.lab(stage)?;
            scene.args(["scene", "handshake", "--server", server, "--certificate", "ecdsa-p-256"]);
            scene.args(["--groups", &groups.join(",")]).args(comparison::sizes(plan, plan.samples));
            scene.arg("--output").arg(&folder);
            if let Some(libraries) = libraries {
                scene.arg("--libssl").arg(libraries);
            }
            let name =
                libraries.map_or("the system's OpenSSL".into(), |path| path.display().to_string());
            eprintln!("the same groups with {name} and the module");
            let timeout = comparison::timeout(plan, plan.samples * groups.len());
            let finished = stage.run_within(timeout, &mut scene)?;
            // 1 means that connections failed. The page reports them.
            if !matches!(finished.status.code(), Some(0 | 1)) {
                return Err(Failure::new(format!("fastkex-lab scene: {}", finished.complaint())));
            }
            for entry in fs::read_dir(&folder).map_err(Failure::about("fastkex-lab scene"))? {
                let entry = entry.map_err(Failure::about("fastkex-lab scene"))?;
                let target = output.join(entry.file_name());
                fs::copy(entry.path(), &target).map_err(Failure::about(target.display()))?;
                files.push(target);
            }
        }
        Ok(files)
    }
}

/// Returns the folder of OpenSSL 4's libraries, if `matrix` has built them.
fn newer_libraries() -> Option<PathBuf> {
    let entries = fs::read_dir(artifacts::root().join("checks/matrix/target")).ok()?;
    let is_one = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Written last.
        name.starts_with("openssl-4.") && path.join("recipe").exists()
    };
    let prefix = entries.filter_map(Result::ok).map(|entry| entry.path()).find(is_one)?;
    Some(prefix.join("lib"))
}

/// Runs `work` in a thread that is bound to a processor, with the processes that it starts.
fn on(
    processor: Option<usize>,
    work: impl FnOnce() -> Result<Run, Failure> + Send,
) -> Result<Run, Failure> {
    let work = || processor::stay_on(processor).and_then(|()| work());
    thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|_| Err(Failure::new("the comparison ended without a word")))
}

fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    path.canonicalize().map_err(Failure::about(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_installs_all_of_it() {
        let all = PROGRAMS.iter().chain(&BUILD_PROGRAMS);
        prerequisites::assert_installed_by_script("demo-1.1.1", all);
    }
}
