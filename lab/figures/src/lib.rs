//! Figures, tables of samples and a report, made from timer results ([`timer::results::Run`]) and
//! from measured costs of key batches ([`Batches`]).
//!
//! Figures are SVG by `plotters`. [`png`] renders them with a built-in font, so the machine needs
//! no fonts.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod axis;
mod batches;
mod findings;
mod png;
mod published;
mod raw;
mod recorded;
mod report;
mod runs;
mod sheet;
mod style;
mod words;

pub use batches::{Batches, Point};
pub use findings::{Claim, claims};
pub use png::png;
pub use recorded::Recorded;
pub use report::page;

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in file names: `rates`, `times`, `latency`, `peaks`, `clients`, `batches`.
    pub name: String,
    /// Its title for readers.
    pub title: String,
    /// The text of an SVG file.
    pub svg: String,
}

impl Figure {
    fn new(name: &str, sheet: &sheet::Sheet) -> Result<Self, String> {
        Ok(Figure { name: name.into(), title: sheet.title.clone(), svg: sheet.svg()? })
    }
}
