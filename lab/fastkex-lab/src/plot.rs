//! `fastkex-lab plot`: figures of recorded runs and measurements.

mod batches;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use figures::Input;
use output::{Failure, Outcome};

/// Draw the output of --json of 'fastkex time', 'speed --handshakes', 'scene' or 'plot batches'
///
/// Draws all data in the files: cumulative distributions of connections per second and of the time
/// of a connection, latency by number of requests, peaks, batch sizes, processor time of
/// handshakes. Beside the figures, NAME.json and NAME*.csv hold the data. A file called 'batches'
/// must be given as './batches'.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(crate) struct Plot {
    #[command(subcommand)]
    command: Option<Command>,
    /// Files that --json wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Start of the names of all files that are written
    #[arg(long, value_name = "NAME", default_value = "fastkex-plot")]
    output: PathBuf,
    /// Kinds of figures, comma-separated
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,
}

#[derive(Subcommand, Debug)]
enum Command {
    Batches(batches::Measure),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Svg,
    Png,
}

impl Plot {
    pub(crate) fn run(&self) -> Outcome {
        if let Some(Command::Batches(measure)) = &self.command {
            return measure.run();
        }
        check_base(&self.output)?;
        let input = Input::read(&self.files)?;
        let figures = input.figures()?;
        let mut written = input.write_raw(&self.output, &self.files)?;
        for figure in &figures {
            let path = |ending: &str| {
                let mut path = self.output.clone().into_os_string();
                path.push(format!("-{}.{ending}", figure.name));
                PathBuf::from(path)
            };
            if self.format.contains(&Format::Svg) {
                write(&path("svg"), figure.svg.as_bytes())?;
                written.push(path("svg"));
            }
            if self.format.contains(&Format::Png) {
                let png = figures::png(&figure.svg).map_err(Failure::about("cannot draw"))?;
                write(&path("png"), &png)?;
                written.push(path("png"));
            }
        }
        for path in written {
            output::line(path.display())?;
        }
        if figures.is_empty() {
            output::line("No figure: no connection succeeded.")?;
        }
        Ok(!figures.is_empty())
    }
}

/// Checks before a measurement that its file can be written afterwards.
fn check_writable(path: &Path) -> Result<(), Failure> {
    if path.is_dir() {
        let problem = "is a folder: expected the name of a file";
        return Err(Failure::new(format!("{}: {problem}", path.display())));
    }
    check_folder(path)
}

/// Checks the same for a prefix of file names.
pub(crate) fn check_base(path: &Path) -> Result<(), Failure> {
    if path.file_name().is_none() || path.as_os_str().to_string_lossy().ends_with('/') {
        let problem = "expected what the names of files begin with, such as figures/run";
        return Err(Failure::new(format!("{}: {problem}", path.display())));
    }
    check_folder(path)
}

fn check_folder(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if folder.is_some_and(|folder| !folder.is_dir()) {
        return Err(Failure::new(format!("{}: its folder does not exist", path.display())));
    }
    Ok(())
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(Failure::about(path.display()))
}
