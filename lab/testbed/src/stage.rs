//! A folder and processes for stock programs in tests and commands. All of them are removed with
//! the stage, also on signals. (SIGKILL to the process that has the stage is the exception.)

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

pub use rustix::process::Signal;
use rustix::process::{Pid, WaitId, WaitIdOptions, kill_process, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use tempfile::TempDir;

use output::Failure;

/// Time for a server to start, and for a program that runs once to end.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// The folder, and the processes in it.
pub struct Stage {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    folder: Option<TempDir>,
    children: Vec<Child>,
}

/// A process that stays until the stage is cleared.
pub struct Server {
    name: String,
    process: u32,
    log: PathBuf,
}

/// The result of a process that ran to its end.
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub errors: String,
}

/// All stages, for signals to clear.
static STAGES: Mutex<Vec<Weak<Mutex<State>>>> = Mutex::new(Vec::new());

/// Set by the first SIGINT, where somebody wants to know of it before all is over.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag for the first SIGINT, which then ends nothing: who asked for it tells what it has, and
/// ends. A second one is as without this.
///
/// # Errors
/// The system takes no handler.
pub fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let flag = INTERRUPTED.get_or_init(Arc::default).clone();
    heed_signals()?;
    Ok(flag)
}

/// Sees to it that SIGINT, SIGTERM and SIGHUP clear all stages before they end this process.
fn heed_signals() -> Result<(), Failure> {
    static OUTCOME: OnceLock<Result<(), String>> = OnceLock::new();
    let start = || {
        let mut signals =
            Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| error.to_string())?;
        thread::spawn(move || {
            for signal in signals.forever() {
                if signal == SIGINT
                    && INTERRUPTED.get().is_some_and(|flag| !flag.swap(true, Ordering::Relaxed))
                {
                    continue;
                }
                // Held to the end, so that nothing new is started.
                let all = lock(&STAGES);
                let stages: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
                let mut held: Vec<_> = stages.iter().map(|state| lock(state)).collect();
                held.iter_mut().for_each(|state| state.clear());
                // Ends this process as the signal would have without us.
                let _ = emulate_default_handler(signal);
            }
        });
        Ok(())
    };
    OUTCOME.get_or_init(start).clone().map_err(Failure::about("signals"))
}

impl Stage {
    /// Makes the folder, and sees to it that SIGINT, SIGTERM and SIGHUP clear the stage before they
    /// end this process.
    ///
    /// # Errors
    /// There is no place for a folder.
    pub fn new() -> Result<Self, Failure> {
        heed_signals()?;
        let folder = tempfile::Builder::new()
            .prefix("fastkex-")
            .tempdir()
            .map_err(Failure::about("temporary folder"))?;
        let path = folder.path().to_path_buf();
        let state = Arc::new(Mutex::new(State { folder: Some(folder), children: Vec::new() }));
        let mut stages = lock(&STAGES);
        stages.retain(|state| state.strong_count() > 0);
        stages.push(Arc::downgrade(&state));
        Ok(Self { folder: path, state })
    }

    /// A program as it is installed, without settings of the user that would change what it does.
    pub fn stock(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        command
    }

    /// Gives a program the environment of [`Stage::stock`].
    pub fn prepare(&self, command: &mut Command) {
        // Where Debian keeps servers, which only root has in PATH.
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(":/usr/sbin:/sbin");
        command
            .stdin(Stdio::null())
            .current_dir(&self.folder)
            .env("PATH", path)
            .env("LC_ALL", "C")
            .env_remove("OPENSSL_CONF")
            .env_remove("OPENSSL_MODULES");
    }

    /// The folder, in which all processes run.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes a file into the folder.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        fs::write(self.folder.join(name), text).map_err(Failure::about(name))
    }

    /// Reads a file in the folder, whatever is in it.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, name: &str) -> Result<String, Failure> {
        let bytes = fs::read(self.folder.join(name)).map_err(Failure::about(name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Starts a server and waits until it is ready, which `ready` tells by its log.
    ///
    /// # Errors
    /// It cannot be started, ends, or does not become ready in 20 seconds; with the last line of
    /// its log.
    pub fn start(
        &self,
        name: &str,
        command: &mut Command,
        ready: impl Fn(&str) -> bool,
    ) -> Result<Server, Failure> {
        let log = self.folder.join(format!("{name}.log"));
        let file = new_log(&log).map_err(Failure::about(log.display()))?;
        let both = file.try_clone().map_err(Failure::about(log.display()))?;
        let process = self.spawn(command.stdout(both).stderr(file))?;
        let server = Server { name: name.into(), process, log };
        let give_up = Instant::now() + TIMEOUT;
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
    ///
    /// # Errors
    /// It cannot be started, or does not end in 20 seconds.
    pub fn run(&self, command: &mut Command) -> Result<Finished, Failure> {
        self.run_within(TIMEOUT, command)
    }

    /// As [`Stage::run`], for a program that may take longer.
    ///
    /// # Errors
    /// As [`Stage::run`], with another time limit.
    pub fn run_within(
        &self,
        timeout: Duration,
        command: &mut Command,
    ) -> Result<Finished, Failure> {
        let name = command.get_program().display().to_string();
        let (output, errors) = ("run.out", "run.err");
        let create = |name: &str| new_log(&self.folder.join(name)).map_err(Failure::about(name));
        let process = self.spawn(command.stdout(create(output)?).stderr(create(errors)?))?;
        let give_up = Instant::now() + timeout;
        let status = loop {
            if let Some(status) = self.ended(process)? {
                break status;
            }
            if Instant::now() > give_up {
                return Err(Failure::new(format!("{name} does not end")));
            }
            thread::sleep(POLL);
        };
        lock(&self.state).children.retain(|child| child.id() != process);
        Ok(Finished { status, output: self.read(output)?, errors: self.read(errors)? })
    }

    fn spawn(&self, command: &mut Command) -> Result<u32, Failure> {
        let mut state = lock(&self.state);
        let name = command.get_program().display().to_string();
        // A group of its own: some servers signal their whole group, and what they leave is found
        // by it.
        let child = command
            .current_dir(&self.folder)
            .process_group(0)
            .spawn()
            .map_err(Failure::about(name))?;
        let process = child.id();
        state.children.push(child);
        Ok(process)
    }

    /// How a server ended, if it has.
    ///
    /// # Errors
    /// The system does not say.
    pub fn end_of(&self, server: &Server) -> Result<Option<ExitStatus>, Failure> {
        self.ended(server.process)
    }

    /// Sends a signal to a server, the process that was started only.
    ///
    /// # Errors
    /// It has ended.
    pub fn signal(&self, server: &Server, signal: Signal) -> Result<(), Failure> {
        let mut state = lock(&self.state);
        let child = state.children.iter_mut().find(|child| child.id() == server.process);
        // A child that was waited for may have lent its id to another.
        match child.map(|child| (status_of(child), Pid::from_child(child))) {
            Some((Ok(None), process)) => {
                kill_process(process, signal).map_err(Failure::about(&server.name))
            }
            _ => Err(Failure::new(format!("{} has ended", server.name))),
        }
    }

    fn ended(&self, process: u32) -> Result<Option<ExitStatus>, Failure> {
        let mut state = lock(&self.state);
        let child = state.children.iter_mut().find(|child| child.id() == process);
        child.map_or(Ok(None), |child| status_of(child).map_err(Failure::about("waiting")))
    }
}

impl Finished {
    /// The output of a program that must have succeeded.
    ///
    /// # Errors
    /// It did not; with its complaint.
    pub fn output_of(self, program: &str) -> Result<String, Failure> {
        if self.status.success() {
            return Ok(self.output);
        }
        Err(Failure::new(format!("{program} failed ({}): {}", self.status, self.complaint())))
    }

    /// The first line it printed as an error.
    pub fn complaint(&self) -> &str {
        let mut lines = self.errors.lines().filter(|line| !line.trim().is_empty());
        lines.next().unwrap_or("without a word")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        lock(&self.state).clear();
    }
}

impl Server {
    /// The process that was started.
    pub fn id(&self) -> u32 {
        self.process
    }

    /// Its output so far.
    ///
    /// # Errors
    /// Its log cannot be read.
    pub fn log(&self) -> Result<String, Failure> {
        let bytes = fs::read(&self.log).map_err(Failure::about(&self.name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl State {
    /// Ends all processes and removes the folder.
    fn clear(&mut self) {
        for child in &mut self.children {
            // SIGTERM, as servers end their workers then.
            if let Ok(None) = status_of(child) {
                let _ = kill_process(Pid::from_child(child), Signal::TERM);
            }
        }
        let give_up = Instant::now() + GRACE;
        for mut child in self.children.drain(..) {
            while let Ok(None) = status_of(&mut child) {
                if Instant::now() > give_up {
                    let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
                }
                thread::sleep(POLL);
            }
        }
        self.folder = None;
    }
}

/// How a child ended, if it has. What is left of its group then ends too.
fn status_of(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let process = Pid::from_child(child);
    // Looked at before it is waited for: from then on, another process may have its id, and another
    // group.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if let Ok(Some(_)) = waitid(WaitId::Pid(process), options) {
        let _ = kill_process_group(process, Signal::KILL);
    }
    child.try_wait()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An empty file for what a program prints. Some open their standard error anew and write through
/// both, which must not write over each other.
fn new_log(path: &Path) -> io::Result<File> {
    File::create(path)?;
    File::options().append(true).open(path)
}

/// Calls `what` until it returns something, for 20 seconds at most.
pub fn wait_for<T>(mut what: impl FnMut() -> Option<T>) -> Option<T> {
    let give_up = Instant::now() + TIMEOUT;
    loop {
        let got = what();
        if got.is_some() || Instant::now() > give_up {
            return got;
        }
        thread::sleep(POLL);
    }
}

/// Different ports on loopback that are free now.
///
/// # Errors
/// There are none.
pub fn free_ports<const N: usize>() -> Result<[u16; N], Failure> {
    let mut ports = [0; N];
    ports.copy_from_slice(&free_port_list(N)?);
    Ok(ports)
}

/// As [`free_ports`], so many.
///
/// # Errors
/// There are not so many.
pub fn free_port_list(count: usize) -> Result<Vec<u16>, Failure> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // Held until all are found, so that they differ.
    let listeners: io::Result<Vec<_>> = (0..count).map(bind).collect();
    let port = |listener: &TcpListener| Ok(listener.local_addr()?.port());
    listeners
        .and_then(|listeners| listeners.iter().map(port).collect())
        .map_err(Failure::about("a free port on 127.0.0.1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_alive(process: u32) -> bool {
        Path::new("/proc").join(process.to_string()).exists()
    }

    /// A process without a parent may stay as a zombie, where nobody waits for such.
    fn is_running(process: u32) -> bool {
        let stat = fs::read_to_string(format!("/proc/{process}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
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
    fn what_a_process_leaves_goes_with_it() {
        let stage = Stage::new().unwrap();
        let left = |server: &Server| wait_for(|| server.log().ok()?.trim().parse().ok()).unwrap();
        // One that ends at once, and one that minds no SIGTERM and whose child minds none.
        let mut command = Command::new("sh");
        let ended =
            stage.start("ended", command.args(["-c", "sleep 60 & echo $!; sleep 0.2"]), |log| {
                log.ends_with('\n')
            });
        let ended: u32 = left(&ended.unwrap());
        assert!(is_alive(ended));
        let mut command = Command::new("sh");
        let script = "trap '' TERM; sleep 60 & echo $!; wait; wait";
        let stubborn =
            stage.start("stubborn", command.args(["-c", script]), |log| log.ends_with('\n'));
        let stubborn: u32 = left(&stubborn.unwrap());
        drop(stage);
        for process in [ended, stubborn] {
            assert!(wait_for(|| (!is_running(process)).then_some(())).is_some());
        }
    }

    #[test]
    fn logs_that_are_opened_twice_lose_nothing() {
        let stage = Stage::new().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", "echo first >&2; echo second >> /dev/stderr; echo third >&2; sleep 9"]);
        let server = stage.start("twice", &mut command, |log| log.ends_with("third\n")).unwrap();
        assert_eq!(server.log().unwrap(), "first\nsecond\nthird\n");
    }

    #[test]
    fn signals_reach_servers_that_run() {
        let stage = Stage::new().unwrap();
        let mut command = Command::new("sh");
        let script = "trap 'echo heard; exit 4' USR1; echo ready; while :; do sleep 0.01; done";
        let server = stage.start("server", command.args(["-c", script]), |log| log == "ready\n");
        let server = server.unwrap();
        assert_eq!(stage.end_of(&server).unwrap(), None);
        stage.signal(&server, Signal::USR1).unwrap();
        let status = wait_for(|| stage.end_of(&server).unwrap()).unwrap();
        assert_eq!((status.code(), server.log().unwrap().as_str()), (Some(4), "ready\nheard\n"));
        assert!(stage.signal(&server, Signal::USR1).is_err());
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
