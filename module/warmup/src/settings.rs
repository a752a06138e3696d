//! Settings: the mode and the range of medium load.

use core::time::Duration;

/// When vector units are kept awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The mode.
    pub mode: Mode,
    /// Medium load, for [`Mode::On`] and [`Mode::Auto`].
    pub load: Load,
}

/// Whether the vector units are kept awake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Never.
    Off,
    /// Under medium load.
    On,
    /// Under medium load, on a processor whose units are slow after a pause, which is measured when
    /// there first is such a load.
    Auto,
}

/// Range of medium load, in handshakes a second of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Lower bound, included.
    pub from: u32,
    /// Upper bound, excluded: with more handshakes the units stay awake anyway.
    pub below: u32,
}

impl Load {
    /// Whether `handshakes` within `time` are medium load.
    pub(crate) fn has(&self, handshakes: u64, time: Duration) -> bool {
        let in_time = |rate: u32| f64::from(rate) * time.as_secs_f64();
        let handshakes = handshakes as f64;
        in_time(self.from) <= handshakes && handshakes < in_time(self.below)
    }
}

impl Default for Settings {
    /// Off: no benefit has been measured on a current processor. The load is that of ENG25519,
    /// 60,000 to 120,000 handshakes a minute; the latter is one every half millisecond.
    fn default() -> Self {
        Settings { mode: Mode::Off, load: Load { from: 1000, below: 2000 } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medium_is_between() {
        let load = Settings::default().load;
        for (handshakes, milliseconds, medium) in
            [(64, 64, true), (64, 65, false), (64, 33, true), (64, 32, false), (0, 1000, false)]
        {
            let time = Duration::from_millis(milliseconds);
            assert_eq!(load.has(handshakes, time), medium, "{handshakes} in {time:?}");
        }
    }
}
