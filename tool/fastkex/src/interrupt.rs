//! ^C ends what is being measured, not this program, which tells what it has; a second ^C ends it, too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cli::Failure;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

/// Set by the first ^C.
#[derive(Clone)]
pub(crate) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on, for the rest of the process.
    pub(crate) fn heed() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(SIGINT, Arc::clone(&stop))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)))
            .map_err(Failure::about("signals"))?;
        Ok(Self(stop))
    }

    /// By a flag that somebody else sets.
    pub(crate) fn by(stop: Arc<AtomicBool>) -> Self {
        Self(stop)
    }

    pub(crate) fn is_pending(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Once everything is told: ends this process as the signal would have without us, if there was one.
    pub(crate) fn end(&self) -> Result<(), Failure> {
        if self.is_pending() {
            cli::note("fastkex: incomplete: interrupted");
            emulate_default_handler(SIGINT).map_err(Failure::about("signals"))?;
        }
        Ok(())
    }
}
