//! `--latency` and `--bandwidth`.

use std::time::Duration;

use clap::Args;
use output::Failure;
use shaper::{Link, Shaper};
use timer::Endpoint;

/// A simulated link, slower than the real one.
#[derive(Args, Debug)]
pub(crate) struct LinkArguments {
    /// Connect through a link with this round-trip time, such as 20ms
    #[arg(long, global = true, value_name = "TIME", value_parser = Link::parse_round_trip)]
    latency: Option<Duration>,
    /// Connect through a link with this bandwidth in each direction, such as 10mbit
    #[arg(long, global = true, value_name = "RATE", value_parser = Link::parse_bandwidth)]
    bandwidth: Option<u64>,
}

impl LinkArguments {
    fn link(&self) -> Option<Link> {
        if self.latency.is_none() && self.bandwidth.is_none() {
            return None;
        }
        let round_trip = self.latency.unwrap_or_default();
        Some(Link { round_trip, bits_per_second: self.bandwidth })
    }

    /// Describes the link, if there is one.
    pub(crate) fn name(&self) -> Option<String> {
        self.link().map(|link| link.to_string())
    }

    /// Returns the link as the end of a file's name: `-20ms-10000000bps`, or nothing.
    pub(crate) fn suffix(&self) -> String {
        let latency = self.latency.map(|time| format!("-{}ms", time.as_secs_f64() * 1e3));
        let bandwidth = self.bandwidth.map(|rate| format!("-{rate}bps"));
        latency.into_iter().chain(bandwidth).collect()
    }

    /// Returns the endpoint behind the link, and the link, which must be kept. Without a link,
    /// returns the endpoint itself.
    pub(crate) fn before(&self, endpoint: Endpoint) -> Result<(Endpoint, Option<Shaper>), Failure> {
        let Some(link) = self.link() else { return Ok((endpoint, None)) };
        let shaper = Shaper::start(link, endpoint.address()).map_err(Failure::about("link"))?;
        Ok((endpoint.by_way_of(shaper.address()), Some(shaper)))
    }
}
