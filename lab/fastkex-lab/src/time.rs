//! `fastkex-lab time`: `fastkex time` through a slow link.

use clap::Args;
use output::Outcome;

use crate::link::LinkArguments;

/// As 'fastkex time', through a link with --latency and --bandwidth
#[derive(Args, Debug)]
pub(crate) struct ShapedTime {
    #[command(flatten)]
    link: LinkArguments,
    #[command(flatten)]
    time: fastkex::time::Time,
}

impl ShapedTime {
    pub(crate) fn run(&self) -> Outcome {
        let mut running = None;
        self.time.run_via(&mut |endpoint| {
            let (endpoint, link) = self.link.before(endpoint)?;
            running = link;
            Ok(endpoint)
        })
    }
}
