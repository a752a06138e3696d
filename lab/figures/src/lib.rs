//! Figures, tables of samples and a report, made from timer results ([`timer::results::Run`]) and
//! from measured costs of key batches ([`Batches`]) and of handshakes
//! ([`timer::results::HandshakeCosts`]).
//!
//! Figures are SVG by `plotters`. [`png`] renders them with a built-in font, so the machine needs
//! no fonts.

#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod axis;
mod batches;
mod costs;
mod findings;
mod input;
mod layout;
mod names;
mod png;
mod published;
mod raw;
mod report;
mod runs;
mod style;

pub use batches::{Batches, Point};
pub use findings::{Claim, claims};
pub use input::Input;
pub use png::png;
pub use report::page;

/// A figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its name in file names: `rates`, `times`, `latency`, `peaks`, `clients`, `batches`,
    /// `handshakes`.
    pub name: String,
    /// Its title for readers.
    pub title: String,
    /// The text of an SVG file.
    pub svg: String,
}

impl Figure {
    fn new(name: &str, layout: &layout::Layout) -> Result<Self, String> {
        Ok(Figure { name: name.into(), title: layout.title.clone(), svg: layout.svg()? })
    }
}
