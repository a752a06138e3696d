//! `fastkex-lab plot batches`: costs of key batches by their size, as a table and as a figure
//! (OpenSSLNTRU, table 3 and figure 2).

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use figures::{Batches, Input, Point};
use indicatif::ProgressBar;
use measure::{Align, Options, Table};
use serde::{Deserialize, Serialize};
use sntrup::{Backend, Error};

use super::{check_writable, write};
use crate::heap;
use fastkex::json;
use fastkex::kem::Kem;
use fastkex::measuring::{
    self, backends, core_cycles, measure_fallible, progress_bar, random, warn_of_noise,
};
use fastkex::sets::{self, ForSet, for_set};
use output::{Failure, Outcome};

/// Measure key generation by the size of the batch, and draw it
///
/// Prints a table and writes a figure of three panels: the latency of a batch, the cost of a key in
/// it, and the memory it takes.
#[derive(Args, Debug)]
pub(crate) struct Measure {
    /// The figure, an SVG file
    #[arg(long, value_name = "FILE", default_value = "fastkex-plot.svg")]
    output: PathBuf,
    /// Write what was measured to this file, too
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw what an earlier --json wrote, and measure nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "algorithm", "backend", "batches", "seconds"])]
    from: Option<PathBuf>,
    /// Parameter sets, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sets::parser(), default_value = "all")]
    algorithm: Vec<String>,
    /// Instruction sets, comma-separated: portable, avx2, avx512 [default: the best that this
    /// machine has]
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = measuring::backend)]
    backend: Vec<Backend>,
    /// Sizes of batches: the powers of two from one to another
    #[arg(long, value_name = "FROM..TO", value_parser = Sizes::parse, default_value = "1..1024")]
    batches: Sizes,
    /// Seconds for the time of each batch size
    #[arg(long, value_name = "SECONDS", value_parser = measuring::seconds, default_value = "0.2")]
    seconds: Duration,
    /// Print the memory of a batch as JSON, and nothing else. The measurement starts a process with
    /// this option for each batch
    #[arg(long, hide = true)]
    memory: bool,
}

/// Memory of a batch.
#[derive(Serialize, Deserialize)]
struct Memory {
    heap_bytes: usize,
    /// `None` if the kernel's page map cannot be read.
    stack_bytes: Option<usize>,
}

/// A range of powers of two.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    from: usize,
    to: usize,
}

impl Sizes {
    fn parse(text: &str) -> Result<Self, String> {
        let size = |text: &str| text.parse::<usize>().ok().filter(|size| size.is_power_of_two());
        let ends = text.split_once("..").and_then(|(from, to)| Some((size(from)?, size(to)?)));
        match ends {
            Some((from, to)) if from <= to && to <= measuring::MAX_BATCH => Ok(Sizes { from, to }),
            _ => Err(format!(
                "expected two powers of two, such as 1..1024, up to {}",
                measuring::MAX_BATCH
            )),
        }
    }

    fn all(self) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(self.from), |size| Some(2 * size))
            .take_while(move |&size| size <= self.to)
    }
}

const MEMORY_METHOD: &str = "heap is the most that a counting allocator saw allocated at once, and the \
     pages of protected memory; stack is what was touched of a fresh thread's stack, in pages, by the \
     kernel's page map; both of one batch in a process of its own, the keys included";

impl Measure {
    pub(crate) fn run(&self) -> Outcome {
        if self.memory {
            for name in &self.algorithm {
                for &backend in &self.backend {
                    for batch in self.batches.all() {
                        let memory = for_set(name, MemoryOfSet { backend, batch });
                        let memory = memory.ok_or_else(|| unknown(name))?;
                        output::line(json::text(&memory.map_err(Failure::about(name))?)?)?;
                    }
                }
            }
            return Ok(true);
        }
        for path in [Some(&self.output), self.json.as_ref()].into_iter().flatten() {
            check_writable(path)?;
        }
        let report = match &self.from {
            Some(path) => read(path)?,
            None => self.measure()?,
        };
        let figure = report.figure().map_err(Failure::about("cannot draw"))?;
        if let Some(path) = &self.json {
            write(path, (json::text(&report)? + "\n").as_bytes())?;
        }
        write(&self.output, figure.svg.as_bytes())?;
        print_table(&report)?;
        output::line(format_args!("Figure: {}", self.output.display()))?;
        Ok(true)
    }

    fn measure(&self) -> Result<Batches, Failure> {
        let algorithms = sets::selected(&self.algorithm);
        let backends =
            if self.backend.is_empty() { vec![Backend::best()] } else { backends(&self.backend) };
        let steps = algorithms.len() * backends.len() * self.batches.all().count();
        let progress = progress_bar(steps, self.seconds);
        let options = Options { time: self.seconds, ..Options::default() };
        let mut points = Vec::with_capacity(steps);
        for name in algorithms {
            for &backend in &backends {
                for batch in self.batches.all() {
                    let progress = &progress;
                    let memory = memory_in_a_process(name, backend, batch)?;
                    let set = OfSet { options, backend, batch, memory, progress };
                    let point = for_set(name, set).ok_or_else(|| unknown(name))?;
                    points.push(point.map_err(Failure::about(name))?);
                }
            }
        }
        progress.finish_and_clear();
        let (method, memory_method) = (measure::METHOD.into(), MEMORY_METHOD.into());
        Ok(Batches { machine: measure::machine(), method, memory_method, points })
    }
}

fn unknown(name: &str) -> Failure {
    Failure::new(format!("unknown parameter set {name}"))
}

/// Measures the memory of a batch in a new process, which has made no batch before.
fn memory_in_a_process(name: &str, backend: Backend, batch: usize) -> Result<Memory, Failure> {
    let program = std::env::current_exe().map_err(Failure::about("this program"))?;
    let made = Command::new(program)
        .args(["plot", "batches", "--memory", "--algorithm", name, "--backend", backend.name()])
        .args(["--batches", &format!("{batch}..{batch}")])
        .output()
        .map_err(Failure::about("memory of a batch"))?;
    if !made.status.success() {
        let errors = String::from_utf8_lossy(&made.stderr);
        return Err(Failure::new(format!("memory of a batch: {}: {errors}", made.status)));
    }
    serde_json::from_slice(&made.stdout).map_err(Failure::about("memory of a batch"))
}

struct MemoryOfSet {
    backend: Backend,
    batch: usize,
}

impl ForSet for MemoryOfSet {
    type Output = Result<Memory, Error>;

    fn run<K: Kem>(self) -> Result<Memory, Error> {
        let MemoryOfSet { backend, batch } = self;
        let generate = || K::generate_batch(backend, batch, &mut random());
        // The heap is measured in the same thread as the stack, or here if the stack cannot be
        // measured.
        let in_thread = measure::stack_high_water(|| heap::high_water(generate));
        let ((keys, heap_bytes), stack_bytes) = match in_thread {
            Ok((result, stack_bytes)) => (result, Some(stack_bytes)),
            Err(_) => (heap::high_water(generate), None),
        };
        keys?;
        Ok(Memory { heap_bytes, stack_bytes })
    }
}

struct OfSet<'a> {
    options: Options,
    backend: Backend,
    batch: usize,
    memory: Memory,
    progress: &'a ProgressBar,
}

impl ForSet for OfSet<'_> {
    type Output = Result<Point, Error>;

    fn run<K: Kem>(self) -> Result<Point, Error> {
        let OfSet { options, backend, batch, memory, progress } = self;
        progress.set_message(format!("{} {} {batch}", K::NAME, backend.name()));
        let generate = || K::generate_batch(backend, batch, &mut random());
        let per_key = measure_fallible(&options, batch, generate)?;
        progress.inc(1);
        Ok(Point {
            algorithm: K::NAME.into(),
            backend: backend.name().into(),
            batch,
            per_key,
            keys_bytes: batch * (K::PUBLIC_KEY_BYTES + K::SECRET_KEY_BYTES),
            heap_bytes: memory.heap_bytes,
            stack_bytes: memory.stack_bytes,
        })
    }
}

/// Reads a file with measurements of batches only. This command has no tables for other data.
fn read(path: &Path) -> Result<Batches, Failure> {
    let input = Input::read(&[path.to_owned()])?;
    match <[_; 1]>::try_from(input.batches) {
        Ok([(_, batches)]) if input.runs.is_empty() => Ok(batches),
        _ => Err(Failure::new(format!(
            "{}: not what 'fastkex-lab plot batches --json' writes: try 'fastkex-lab plot {0}'",
            path.display()
        ))),
    }
}

fn print_table(report: &Batches) -> Result<(), Failure> {
    use Align::{Left, Right};
    let mut table = Table::new(&[
        ("algorithm", Left),
        ("backend", Left),
        ("batch", Right),
        ("cycles per key", Right),
        ("time per key", Right),
        ("latency, cycles", Right),
        ("latency", Right),
        ("keys", Right),
        ("heap", Right),
        ("stack", Right),
        ("spread", Right),
    ]);
    let bytes = |number: usize| measure::bytes(number as f64);
    for point in &report.points {
        let Point { algorithm, backend, batch, per_key, keys_bytes, heap_bytes, stack_bytes } =
            point;
        table.row([
            algorithm.clone(),
            backend.clone(),
            batch.to_string(),
            core_cycles(per_key.core_cycles),
            measure::duration(per_key.nanoseconds),
            core_cycles(point.latency_core_cycles()),
            measure::duration(point.latency_nanoseconds()),
            bytes(*keys_bytes),
            bytes(*heap_bytes),
            stack_bytes.map_or_else(|| "-".to_owned(), bytes),
            measure::percent(per_key.spread),
        ]);
    }
    output::line(format_args!("{table}\n"))?;
    output::line(
        "Latency is the time of a whole batch: until the first of its keys can be served.",
    )?;
    output::line(measuring::footer(&report.method, &report.machine))?;
    output::line(format_args!("Memory: {}.", report.memory_method))?;
    let noisy = report.points.iter().filter(|point| point.per_key.is_noisy()).count();
    warn_of_noise(noisy, report.points.len())
}
