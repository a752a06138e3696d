//! A display in memory.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use output::Failure;
use testbed::{Server, Stage, wait_for};

use super::picture::Picture;

/// Width in pixels.
pub(crate) const WIDTH: u32 = 1024;
/// Height in pixels.
pub(crate) const HEIGHT: u32 = 720;
/// The folder of X servers' sockets. X servers make it if necessary, and leave it.
const SOCKETS: &str = "/tmp/.X11-unix";
/// The least area of the page's coloured band, in pixels.
const LEAST_PIXELS: usize = 5000;
/// A picture that does not change for this time is complete.
const STILL: Duration = Duration::from_millis(400);

/// A running Xvfb.
pub(crate) struct Screen {
    _server: Server,
    file: PathBuf,
    /// The number of the display.
    display: u32,
}

/// The folder of the sockets. It is removed on drop if it did not exist before.
pub(crate) struct SocketFolder {
    is_ours: bool,
}

impl SocketFolder {
    /// Records whether the folder exists.
    pub(crate) fn before() -> Self {
        Self { is_ours: !Path::new(SOCKETS).exists() }
    }
}

impl Drop for SocketFolder {
    fn drop(&mut self) {
        if self.is_ours {
            // Fails, as intended, if other X servers use the folder.
            let _ = fs::remove_dir(SOCKETS);
        }
    }
}

impl Screen {
    /// Starts Xvfb on the first free display.
    pub(crate) fn start(stage: &Stage) -> Result<Self, Failure> {
        let mut command = stage.stock("Xvfb");
        command.args(["-displayfd", "1", "-screen", "0", &format!("{WIDTH}x{HEIGHT}x24")]).args([
            "-nolisten",
            "tcp",
            "-fbdir",
            ".",
        ]);
        let server = stage.start("Xvfb", &mut command, |log| display_in(log).is_some())?;
        let display = display_in(&server.log()?);
        let display = display.ok_or_else(|| Failure::new("Xvfb does not tell its display"))?;
        Ok(Self { _server: server, file: stage.folder().join("Xvfb_screen0"), display })
    }

    /// Returns the value for `DISPLAY`.
    pub(crate) fn display(&self) -> String {
        format!(":{}", self.display)
    }

    /// Returns the screen once a large part of it has a colour and it no longer changes.
    pub(crate) fn picture_with(&self, colour: [u8; 3]) -> Result<Picture, Failure> {
        let mut last = None;
        let still = wait_for(|| {
            let now = Picture::of_screen(&fs::read(&self.file).ok()?)?;
            if now.count(colour) >= LEAST_PIXELS && last.as_ref() == Some(&now) {
                return Some(now);
            }
            last = Some(now);
            thread::sleep(STILL);
            None
        });
        still.ok_or_else(|| {
            let count = last.map_or(0, |picture| picture.count(colour));
            Failure::new(format!("the page does not appear: {count} pixels of its colour"))
        })
    }
}

/// Returns the display in Xvfb's log, a line with only a number.
fn display_in(log: &str) -> Option<u32> {
    // The last line may be incomplete.
    let (lines, _) = log.rsplit_once('\n')?;
    lines.lines().find_map(|line| line.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_is_a_line_with_a_number() {
        assert_eq!(display_in("12\n"), Some(12));
        assert_eq!(display_in("The XKEYBOARD keymap compiler 1 warns\n99\nmore"), Some(99));
        assert_eq!(display_in("1"), None);
        assert_eq!(display_in("(EE) Server is already active for display 0\n"), None);
    }
}
