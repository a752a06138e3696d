//! Handshakes inside one process: their processor time, without sockets, kernel and servers.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use openssl_runtime::KeyType;
use serde::{Deserialize, Serialize};
use timer::{Cost, Sides, handshake_costs};

use output::{Failure, Outcome};
use testbed::{Stage, processor};

use super::plan::{self, Plan};
use super::role_output;

/// The process of `ceiling` that is client and server
#[derive(Args, Debug)]
#[command(hide = true)]
pub(crate) struct CeilingInProcess {
    task: PathBuf,
}

/// The parameters of the process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) plan: Plan,
    /// The names of the certificates' key types.
    pub(crate) certificates: Vec<String>,
    /// The time for each group with each certificate.
    pub(crate) seconds: f64,
}

/// The results of the process.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Results {
    /// The version of its OpenSSL.
    pub(crate) openssl: String,
    pub(crate) costs: Vec<LabeledCost>,
}

/// The processor time of handshakes with one certificate and one group.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LabeledCost {
    pub(crate) certificate: String,
    /// The label of the candidate.
    pub(crate) label: String,
    pub(crate) cost: Cost,
}

impl Task {
    /// Returns the least time that the process takes.
    pub(crate) fn expected_time(&self) -> Duration {
        let turns = self.certificates.len() * plan::candidates().len();
        Duration::from_secs_f64(turns as f64 * self.seconds)
    }
}

/// Runs the measurement in a process of its own, which may have another OpenSSL.
pub(crate) fn run(stage: &Stage, task: &Task) -> Result<Results, Failure> {
    /// The time limit beyond twice the expected time.
    const OVERHEAD: Duration = Duration::from_secs(120);
    let timeout = OVERHEAD + 2 * task.expected_time();
    role_output(stage, "ceiling-in-process", task, timeout)
}

impl CeilingInProcess {
    pub(crate) fn run(&self) -> Outcome {
        let task: Task = plan::read(&self.task)?;
        processor::stay_on(task.plan.core)?;
        let contexts = task.plan.contexts().map_err(Failure::new)?;
        let known = plan::known(&contexts.stock);
        let mut costs = Vec::new();
        for name in &task.certificates {
            let kind: KeyType = name.parse().map_err(Failure::new)?;
            let mut sides = Vec::new();
            for candidate in &known {
                let both = Sides::self_signed(contexts.of(candidate), kind, candidate.group.name);
                sides.push(both.map_err(Failure::about(candidate.group.name))?);
            }
            let time = Duration::from_secs_f64(task.seconds * known.len() as f64);
            let found = handshake_costs(&sides, time, &mut |_| {})?;
            costs.extend(known.iter().zip(found).map(|(candidate, cost)| LabeledCost {
                certificate: kind.title().into(),
                label: candidate.label.into(),
                cost,
            }));
        }
        let openssl = contexts.stock.libraries().version().to_string();
        let results = Results { openssl, costs };
        output::line(serde_json::to_string(&results).map_err(Failure::new)?)?;
        Ok(true)
    }
}
