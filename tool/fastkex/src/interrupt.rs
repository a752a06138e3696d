//! The handling of ^C. The first ^C ends the measurement, and the program then prints its results
//! so far. A second ^C ends the program too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use output::Failure;
use signal_hook::consts::SIGINT;
use signal_hook::flag;
use signal_hook::low_level::emulate_default_handler;

/// Set by the first ^C.
#[derive(Clone)]
pub struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// Handles ^C from now on, for the rest of the process.
    ///
    /// # Errors
    /// The system does not accept the handler.
    pub fn heed() -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        flag::register_conditional_default(SIGINT, Arc::clone(&stop))
            .and_then(|_| flag::register(SIGINT, Arc::clone(&stop)))
            .map_err(Failure::about("signals"))?;
        Ok(Self(stop))
    }

    /// Creates an interrupt for a flag that the caller's own handler sets.
    pub fn by(stop: Arc<AtomicBool>) -> Self {
        Self(stop)
    }

    /// True if ^C was pressed.
    pub fn is_pending(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns the flag, for loops that check it.
    pub fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Ends this process as the signal would have done without a handler, if there was a signal. To
    /// be called after all output is written.
    ///
    /// # Errors
    /// The system does not end the process.
    pub fn end(&self) -> Result<(), Failure> {
        if self.is_pending() {
            output::note("incomplete: interrupted");
            emulate_default_handler(SIGINT).map_err(Failure::about("signals"))?;
        }
        Ok(())
    }
}
