//! `fastkex-lab report`: one page with all recorded runs and measurements.

use std::path::PathBuf;

use clap::Args;
use figures::Input;
use output::{Failure, Outcome};

use crate::plot::{check_base, write};

/// Make one page of what --json of 'fastkex time', 'scene' or 'plot batches' wrote
///
/// The page holds all figures and tables, beside published numbers of the papers, and is
/// self-contained. Files with the page's name beside it hold the data as JSON and CSV.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Files that --json wrote
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// The page
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    output: PathBuf,
    /// Its title
    #[arg(long, value_name = "TEXT", default_value = "fastkex: measurements")]
    title: String,
}

impl Report {
    pub(crate) fn run(&self) -> Outcome {
        check_base(&self.output)?;
        if self.output.extension().is_none_or(|extension| extension != "html") {
            return Err(Failure::new(format!(
                "{}: expected a name that ends in .html",
                self.output.display()
            )));
        }
        let base = self.output.with_extension("");
        let input = Input::read(&self.files)?;
        let raw = input.write_raw(&base, &self.files)?;
        let name =
            |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
        let names: Vec<String> = raw.iter().filter_map(name).collect();
        let page = figures::page(&input, &self.title, &names)?;
        write(&self.output, page.as_bytes())?;
        for path in raw.iter().chain([&self.output]) {
            output::line(path.display())?;
        }
        Ok(true)
    }
}
