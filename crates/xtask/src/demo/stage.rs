//! Where the demonstration plays: a folder and processes, all of which go when it ends, however it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

use cli::Failure;

/// Time for a server to start, and for a program that runs once to end.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// The folder, and the processes in it.
pub(crate) struct Stage {
    folder: PathBuf,
    props: Arc<Mutex<Props>>,
}

struct Props {
    folder: Option<TempDir>,
    children: Vec<Child>,
}

/// A process that stays until the stage is cleared.
pub(crate) struct Server {
    name: String,
    process: u32,
    log: PathBuf,
}

/// What a process that ran to its end left.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Stage {
    /// Makes the folder, and sees to it that SIGINT, SIGTERM and SIGHUP clear the stage before they end this process.
    pub(crate) fn new() -> Result<Self, Failure> {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(Failure::about("signals"))?;
        let folder = tempfile::Builder::new()
            .prefix("fastkex-demo-")
            .tempdir()
            .map_err(Failure::about("temporary folder"))?;
        let path = folder.path().to_path_buf();
        let props = Arc::new(Mutex::new(Props { folder: Some(folder), children: Vec::new() }));
        let shared = Arc::clone(&props);
        thread::spawn(move || {
            for signal in signals.forever() {
                // Held to the end, so that nothing new is started.
                let mut props = lock(&shared);
                props.clear();
                // Ends this process as the signal would have without us.
                let _ = emulate_default_handler(signal);
            }
        });
        Ok(Self { folder: path, props })
    }

    /// The folder, in which all processes run.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file into the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        fs::write(self.folder.join(name), text).map_err(Failure::about(name))
    }

    /// Reads a file in the folder, whatever is in it.
    pub(crate) fn read(&self, name: &str) -> Result<String, Failure> {
        let bytes = fs::read(self.folder.join(name)).map_err(Failure::about(name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Starts a server and waits until it is ready, which `ready` tells by its log.
    pub(crate) fn start(
        &self,
        name: &str,
        command: &mut Command,
        ready: impl Fn(&str) -> bool,
    ) -> Result<Server, Failure> {
        let log = self.folder.join(format!("{name}.log"));
        let file = File::create(&log).map_err(Failure::about(log.display()))?;
        let both = file.try_clone().map_err(Failure::about(log.display()))?;
        let process = self.spawn(command.stdout(both).stderr(file))?;
        let server = Server { name: name.into(), process, log };
        let give_up = Instant::now() + PATIENCE;
        loop {
            let log = server.log()?;
            if ready(&log) {
                return Ok(server);
            }
            let last = log.lines().last().unwrap_or("it said nothing");
            if let Some(status) = self.ended(server.process)? {
                return Err(Failure::new(format!("{name} ended ({status}): {last}")));
            }
            if Instant::now() > give_up {
                return Err(Failure::new(format!("{name} does not become ready: {last}")));
            }
            thread::sleep(POLL);
        }
    }

    /// Runs a program to its end and returns what it printed.
    pub(crate) fn run(&self, command: &mut Command) -> Result<Finished, Failure> {
        let name = command.get_program().display().to_string();
        let (output, errors) = ("run.out", "run.err");
        let create =
            |name: &str| File::create(self.folder.join(name)).map_err(Failure::about(name));
        let process = self.spawn(command.stdout(create(output)?).stderr(create(errors)?))?;
        let give_up = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.ended(process)? {
                break status;
            }
            if Instant::now() > give_up {
                return Err(Failure::new(format!("{name} does not end")));
            }
            thread::sleep(POLL);
        };
        lock(&self.props).children.retain(|child| child.id() != process);
        Ok(Finished { status, output: self.read(output)?, errors: self.read(errors)? })
    }

    fn spawn(&self, command: &mut Command) -> Result<u32, Failure> {
        let mut props = lock(&self.props);
        let name = command.get_program().display().to_string();
        let child = command.current_dir(&self.folder).spawn().map_err(Failure::about(name))?;
        let process = child.id();
        props.children.push(child);
        Ok(process)
    }

    /// How a server ended, if it has.
    pub(crate) fn end_of(&self, server: &Server) -> Result<Option<ExitStatus>, Failure> {
        self.ended(server.process)
    }

    fn ended(&self, process: u32) -> Result<Option<ExitStatus>, Failure> {
        let mut props = lock(&self.props);
        let child = props.children.iter_mut().find(|child| child.id() == process);
        child.map_or(Ok(None), |child| child.try_wait().map_err(Failure::about("waiting")))
    }
}

impl Finished {
    /// The first line it printed as an error.
    pub(crate) fn complaint(&self) -> &str {
        let mut lines = self.errors.lines().filter(|line| !line.trim().is_empty());
        lines.next().unwrap_or("without a word")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        lock(&self.props).clear();
    }
}

impl Server {
    /// What it has printed so far.
    pub(crate) fn log(&self) -> Result<String, Failure> {
        let bytes = fs::read(&self.log).map_err(Failure::about(&self.name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Props {
    /// Ends all processes and removes the folder.
    fn clear(&mut self) {
        for child in &mut self.children {
            // SIGTERM, as nginx ends its workers then. A child that was waited for may have lent its id to another.
            if let Ok(None) = child.try_wait() {
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
            }
        }
        let give_up = Instant::now() + GRACE;
        for mut child in self.children.drain(..) {
            while let Ok(None) = child.try_wait() {
                if Instant::now() > give_up {
                    let _ = child.kill();
                }
                thread::sleep(POLL);
            }
        }
        self.folder = None;
    }
}

fn lock(props: &Mutex<Props>) -> MutexGuard<'_, Props> {
    props.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until `what` gives something, or patience ends.
pub(crate) fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> Option<T> {
    let give_up = Instant::now() + PATIENCE;
    loop {
        let got = what();
        if got.is_some() || Instant::now() > give_up {
            return got;
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_alive(process: u32) -> bool {
        Path::new("/proc").join(process.to_string()).exists()
    }

    #[test]
    fn nothing_stays_when_the_stage_goes() {
        let stage = Stage::new().unwrap();
        let server = stage.start("sleep", Command::new("sleep").arg("60"), |_| true).unwrap();
        assert!(stage.folder().join("sleep.log").exists() && is_alive(server.process));
        let folder = stage.folder().to_path_buf();
        drop(stage);
        assert!(!folder.exists() && !is_alive(server.process));
    }

    #[test]
    fn programs_run_to_their_end() {
        let stage = Stage::new().unwrap();
        let mut command = Command::new("sh");
        let finished = stage.run(command.args(["-c", "pwd; echo oh >&2; exit 3"])).unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(
            (finished.output.trim_end(), finished.complaint()),
            (stage.folder().to_str().unwrap(), "oh")
        );
        let absent = stage.run(&mut Command::new("no-such-program")).err().unwrap();
        assert!(absent.to_string().starts_with("no-such-program: "), "{absent}");
    }

    #[test]
    fn a_server_that_ends_is_not_waited_for() {
        let stage = Stage::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo first; echo why >&2; exit 1"]);
        let failure = stage.start("server", &mut command, |_| false).err().unwrap();
        assert!(
            failure.to_string().contains("exit status: 1") && failure.to_string().ends_with("why")
        );
    }
}
