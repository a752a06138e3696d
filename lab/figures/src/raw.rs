//! The data of figures for other programs: a row for each sample, each connection, and each number
//! of clients.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use csv::Writer;
use output::Failure;
use serde::Serialize;
use timer::results::{HandshakeCosts, Run, What};

use crate::{Batches, Input, Point};

/// One of the kinds of content of a file.
#[derive(Serialize)]
#[serde(untagged)]
enum Any<'a> {
    Run(&'a Run),
    Batches(&'a Batches),
    Costs(&'a HandshakeCosts),
}

/// The first columns of a row, which identify its run and series.
#[derive(Serialize)]
struct Of<'a> {
    run: usize,
    file: &'a str,
    what: What,
    target: &'a str,
    server: &'a str,
    link: &'a str,
    complete: bool,
    label: &'a str,
    group: &'a str,
    certificate: &'a str,
}

impl<'a> Of<'a> {
    fn new(
        number: usize,
        (file, run): &'a (String, Run),
        [label, group, certificate]: [&'a str; 3],
    ) -> Self {
        let scene = run.scene.as_ref();
        Of {
            run: number,
            file,
            what: run.what,
            target: &run.target,
            server: scene.and_then(|scene| scene.servers.first()).map_or("", |server| server),
            link: scene.and_then(|scene| scene.link.as_deref()).unwrap_or(""),
            complete: run.complete,
            label,
            group,
            certificate,
        }
    }
}

#[derive(Serialize)]
struct SampleRow {
    requests: Option<usize>,
    group_id: u16,
    sample: usize,
    connections: usize,
    failures: usize,
    seconds: f64,
    connections_per_second: Option<f64>,
    user_seconds: f64,
    kernel_seconds: f64,
    server_seconds: Option<f64>,
}

/// Without the columns of its sample, as there are very many rows.
#[derive(Serialize)]
struct ConnectionRow<'a> {
    run: usize,
    label: &'a str,
    requests: Option<usize>,
    sample: usize,
    connection: usize,
    microseconds: u32,
}

#[derive(Serialize)]
struct StepRow {
    clients: usize,
    served: usize,
    failures: usize,
    seconds: f64,
    per_minute: f64,
    server_seconds: Option<f64>,
}

#[derive(Serialize)]
struct PointRow<'a> {
    run: usize,
    file: &'a str,
    algorithm: &'a str,
    backend: &'a str,
    batch: usize,
    core_cycles_per_key: Option<f64>,
    nanoseconds_per_key: f64,
    keys_bytes: usize,
    heap_bytes: usize,
    stack_bytes: Option<usize>,
}

#[derive(Serialize)]
struct CostRow<'a> {
    run: usize,
    file: &'a str,
    openssl: &'a str,
    certificate: &'a str,
    group: &'a str,
    module: &'a str,
    microseconds: f64,
    client_microseconds: f64,
    server_microseconds: f64,
    ratio: f64,
    spread: f64,
    handshakes: usize,
}

impl Input {
    /// Writes the measurements as `BASE.json`, which can be read again. Also writes the tables that
    /// have rows: `BASE.csv` (samples), `BASE-connections.csv`, `BASE-clients.csv` (the steps
    /// towards a peak), `BASE-batches.csv` and `BASE-handshakes.csv`. Returns their paths.
    ///
    /// `comes_from` are the files that were read. If `BASE.json` is the only one, it is left as it
    /// is.
    ///
    /// # Errors
    /// A file cannot be written, or `BASE.json` is one of several files in `comes_from`.
    pub fn write_raw(&self, base: &Path, comes_from: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
        let json = beside(base, ".json");
        let target = json.canonicalize().ok();
        let is_target = |path: &PathBuf| target.is_some() && path.canonicalize().ok() == target;
        let spared = comes_from.iter().any(is_target);
        if spared && comes_from.len() > 1 {
            let problem = "would be written over: give another --output";
            return Err(Failure::new(format!("{}: {problem}", json.display())));
        }
        if !spared {
            self.write_json(&json)?;
        }
        let tables: [(&str, Fill); 5] = [
            (".csv", Self::samples),
            ("-connections.csv", Self::connections),
            ("-clients.csv", Self::clients),
            ("-batches.csv", Self::points),
            ("-handshakes.csv", Self::costs),
        ];
        let mut paths = vec![json];
        for (ending, fill) in tables {
            let path = beside(base, ending);
            let mut table = Table { path: &path, writer: None };
            fill(self, &mut table)?;
            if table.finish()? {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    fn write_json(&self, json: &Path) -> Result<(), Failure> {
        let runs = self.runs.iter().map(|(_, run)| Any::Run(run));
        let batches = self.batches.iter().map(|(_, batches)| Any::Batches(batches));
        let costs = self.costs.iter().map(|(_, costs)| Any::Costs(costs));
        let all: Vec<_> = runs.chain(batches).chain(costs).collect();
        let text = serde_json::to_string(&all).map_err(Failure::about(json.display()))?;
        std::fs::write(json, text + "\n").map_err(Failure::about(json.display()))
    }

    fn costs(&self, table: &mut Table<'_>) -> Result<(), Failure> {
        for (run, (file, costs)) in self.costs.iter().enumerate() {
            for row in &costs.rows {
                table.row(CostRow {
                    run: run + 1,
                    file,
                    openssl: &costs.openssl,
                    certificate: &row.certificate,
                    group: &row.group,
                    module: row.module.text(),
                    microseconds: row.cost.microseconds,
                    client_microseconds: row.cost.client_microseconds,
                    server_microseconds: row.cost.server_microseconds,
                    ratio: row.cost.ratio,
                    spread: row.cost.spread,
                    handshakes: row.cost.handshakes,
                })?;
            }
        }
        Ok(())
    }

    fn samples(&self, table: &mut Table<'_>) -> Result<(), Failure> {
        for (run, all) in self.runs.iter().enumerate() {
            for series in &all.1.series {
                for (sample, of) in series.samples.iter().enumerate() {
                    let row = SampleRow {
                        requests: series.requests,
                        group_id: series.group_id,
                        sample: sample + 1,
                        connections: of.connections,
                        failures: of.failures,
                        seconds: of.seconds,
                        connections_per_second: of.rate(),
                        user_seconds: of.user_seconds,
                        kernel_seconds: of.kernel_seconds,
                        server_seconds: of.server_seconds,
                    };
                    let names = [&*series.label, &*series.group, &*series.certificate];
                    table.row((Of::new(run + 1, all, names), row))?;
                }
            }
        }
        Ok(())
    }

    fn connections(&self, table: &mut Table<'_>) -> Result<(), Failure> {
        for (run, (_, all)) in self.runs.iter().enumerate() {
            for series in &all.series {
                for (sample, of) in series.samples.iter().enumerate() {
                    for (connection, &microseconds) in of.microseconds.iter().enumerate() {
                        table.row(ConnectionRow {
                            run: run + 1,
                            label: &series.label,
                            requests: series.requests,
                            sample: sample + 1,
                            connection: connection + 1,
                            microseconds,
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    fn clients(&self, table: &mut Table<'_>) -> Result<(), Failure> {
        for (run, all) in self.runs.iter().enumerate() {
            for peak in &all.1.peaks {
                for step in &peak.steps {
                    let row = StepRow {
                        clients: step.clients,
                        served: step.served,
                        failures: step.failures,
                        seconds: step.seconds,
                        per_minute: step.per_minute(),
                        server_seconds: step.server_seconds,
                    };
                    let names = [&*peak.label, &*peak.group, &*peak.certificate];
                    table.row((Of::new(run + 1, all, names), row))?;
                }
            }
        }
        Ok(())
    }

    fn points(&self, table: &mut Table<'_>) -> Result<(), Failure> {
        for (run, (file, all)) in self.batches.iter().enumerate() {
            for point in &all.points {
                let Point { algorithm, backend, batch, per_key, .. } = point;
                table.row(PointRow {
                    run: run + 1,
                    file,
                    algorithm,
                    backend,
                    batch: *batch,
                    core_cycles_per_key: per_key.core_cycles,
                    nanoseconds_per_key: per_key.nanoseconds,
                    keys_bytes: point.keys_bytes,
                    heap_bytes: point.heap_bytes,
                    stack_bytes: point.stack_bytes,
                })?;
            }
        }
        Ok(())
    }
}

type Fill = fn(&Input, &mut Table<'_>) -> Result<(), Failure>;

/// A CSV file that is created with its first row.
struct Table<'a> {
    path: &'a Path,
    writer: Option<Writer<std::fs::File>>,
}

impl Table<'_> {
    fn row(&mut self, row: impl Serialize) -> Result<(), Failure> {
        let about = |error| Failure::new(format!("{}: {error}", self.path.display()));
        let writer = match &mut self.writer {
            Some(writer) => writer,
            none => none.insert(Writer::from_path(self.path).map_err(about)?),
        };
        writer.serialize(row).map_err(about)
    }

    /// Returns true if a file was written.
    fn finish(self) -> Result<bool, Failure> {
        let Some(mut writer) = self.writer else { return Ok(false) };
        writer.flush().map_err(Failure::about(self.path.display()))?;
        Ok(true)
    }
}

/// Appends `ending` to `BASE`.
fn beside(base: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(base);
    name.push(ending);
    name.into()
}
