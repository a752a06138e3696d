//! A temporary folder with processes, for tests and commands that run installed programs. Both are
//! removed when the stage is dropped or a signal ends this process (SIGKILL excepted).

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt;
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

/// Time limit for a server to start, and for a program that runs once to end.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(5);

/// The folder that is private to its user, in a home folder.
const RUNTIME: &str = "run";
/// Variables that name folders in a home folder.
const HOMES: [(&str, &str); 6] = [
    ("TMPDIR", "tmp"),
    ("XDG_CACHE_HOME", "cache"),
    ("XDG_CONFIG_HOME", "config"),
    ("XDG_DATA_HOME", "data"),
    ("XDG_RUNTIME_DIR", RUNTIME),
    ("XDG_STATE_HOME", "state"),
];
/// Variables of the user's session and proxies.
const SESSION: [&str; 9] = [
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// A folder and the processes in it.
pub struct Stage {
    folder: PathBuf,
    state: Arc<Mutex<State>>,
}

struct State {
    folder: Option<TempDir>,
    children: Vec<Child>,
}

/// A process that runs until the stage is cleared.
pub struct Server {
    name: String,
    process: u32,
    log: PathBuf,
}

/// The result of a process that ran to its end.
pub struct Finished {
    /// Exit status.
    pub status: ExitStatus,
    /// Standard output.
    pub output: String,
    /// Standard error.
    pub errors: String,
}

/// All stages, for the signal handler to clear.
static STAGES: Mutex<Vec<Weak<Mutex<State>>>> = Mutex::new(Vec::new());

/// Set by the first SIGINT if [`interrupts`] was called.
static INTERRUPTED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Returns a flag that the first SIGINT sets instead of ending this process, so that the caller can
/// report its results so far. A second SIGINT ends the process as usual.
///
/// # Errors
/// The signal handlers cannot be installed.
pub fn interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let flag = INTERRUPTED.get_or_init(Arc::default).clone();
    heed_signals()?;
    Ok(flag)
}

/// Installs handlers for SIGINT, SIGTERM and SIGHUP that clear all stages and then end this
/// process.
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
                // Locked until the process ends, so that no process is started meanwhile.
                let all = lock(&STAGES);
                let stages: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
                let mut held: Vec<_> = stages.iter().map(|state| lock(state)).collect();
                held.iter_mut().for_each(|state| state.clear());
                // Ends this process with the default action of the signal.
                let _ = emulate_default_handler(signal);
            }
        });
        Ok(())
    };
    OUTCOME.get_or_init(start).clone().map_err(Failure::about("signals"))
}

impl Stage {
    /// Makes the folder, and installs handlers for SIGINT, SIGTERM and SIGHUP that clear the stage
    /// before they end this process.
    ///
    /// # Errors
    /// The folder cannot be made.
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

    /// Returns a command for an installed program, without the user's settings of OpenSSL.
    pub fn stock(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        command
    }

    /// Sets the environment of [`Stage::stock`] for a program.
    pub fn prepare(&self, command: &mut Command) {
        command
            .stdin(Stdio::null())
            .current_dir(&self.folder)
            .env("PATH", path())
            .env("LC_ALL", "C")
            .env_remove("OPENSSL_CONF")
            .env_remove("OPENSSL_MODULES");
    }

    /// Gives a program a home folder of its own in the folder, which is returned, and an
    /// environment without the user's session, screen and proxies.
    ///
    /// # Errors
    /// The home folder cannot be made.
    pub fn at_home(&self, name: &str, command: &mut Command) -> Result<PathBuf, Failure> {
        let home = self.folder.join(name);
        for (variable, folder) in HOMES {
            let folder = home.join(folder);
            fs::create_dir_all(&folder).map_err(Failure::about(folder.display()))?;
            command.env(variable, folder);
        }
        command.env("HOME", &home);
        // Programs do not use one that others can enter.
        let private = Permissions::from_mode(0o700);
        fs::set_permissions(home.join(RUNTIME), private).map_err(Failure::about(home.display()))?;
        for variable in SESSION {
            command.env_remove(variable);
        }
        // The bus of the user's session. Without an address, some programs start one.
        command.env("DBUS_SESSION_BUS_ADDRESS", "disabled:");
        Ok(home)
    }

    /// Returns the folder, in which all processes run.
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

    /// Reads a file in the folder. Bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(&self, name: &str) -> Result<String, Failure> {
        let bytes = fs::read(self.folder.join(name)).map_err(Failure::about(name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Starts a server and waits until `ready` returns true for its log.
    ///
    /// # Errors
    /// The server cannot be started, ends, or is not ready after 20 seconds. The failure holds the
    /// last line of its log.
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

    /// Runs a program like [`Stage::run`], with another time limit.
    ///
    /// # Errors
    /// The same as for [`Stage::run`].
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
        // A process group of its own: some servers signal their whole group, and the group finds
        // the processes that a server leaves behind.
        let child = command
            .current_dir(&self.folder)
            .process_group(0)
            .spawn()
            .map_err(Failure::about(name))?;
        let process = child.id();
        state.children.push(child);
        Ok(process)
    }

    /// Returns the exit status of a server if it has ended.
    ///
    /// # Errors
    /// The system does not report it.
    pub fn end_of(&self, server: &Server) -> Result<Option<ExitStatus>, Failure> {
        self.ended(server.process)
    }

    /// Sends a signal to a server's first process only.
    ///
    /// # Errors
    /// The server has ended.
    pub fn signal(&self, server: &Server, signal: Signal) -> Result<(), Failure> {
        let mut state = lock(&self.state);
        let child = state.children.iter_mut().find(|child| child.id() == server.process);
        // Checked first: the id of a child that was waited for may belong to another process.
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
    /// Returns the output of a program that must have succeeded.
    ///
    /// # Errors
    /// The program failed. The failure holds its first line on standard error.
    pub fn output_of(self, program: &str) -> Result<String, Failure> {
        if self.status.success() {
            return Ok(self.output);
        }
        Err(Failure::new(format!("{program} failed ({}): {}", self.status, self.complaint())))
    }

    /// Returns the first line on standard error that is not empty.
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
    /// Returns the id of the process that was started.
    pub fn id(&self) -> u32 {
        self.process
    }

    /// Returns the file with the output.
    pub fn log_file(&self) -> &Path {
        &self.log
    }

    /// Returns the output so far.
    ///
    /// # Errors
    /// The log cannot be read.
    pub fn log(&self) -> Result<String, Failure> {
        let bytes = fs::read(&self.log).map_err(Failure::about(&self.name))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl State {
    /// Ends all processes and removes the folder.
    fn clear(&mut self) {
        for child in &mut self.children {
            // SIGTERM first, on which servers end their workers.
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

/// Returns the exit status of a child if it has ended, and then ends the rest of its process group.
fn status_of(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let process = Pid::from_child(child);
    // The group is killed before the child is waited for. Afterwards another process may have the
    // id.
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if let Ok(Some(_)) = waitid(WaitId::Pid(process), options) {
        let _ = kill_process_group(process, Signal::KILL);
    }
    child.try_wait()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if a program is installed where [`Stage::prepare`] looks for it.
pub fn is_installed(program: &str) -> bool {
    std::env::split_paths(&path()).any(|folder| folder.join(program).exists())
}

/// Returns the folders of programs. Debian installs servers in the last two, and only root has
/// these in PATH.
fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    path.push(":/usr/sbin:/sbin");
    path
}

/// Makes an empty file for the output of a program. It is opened to append: some programs open
/// their standard error again, and the two descriptors must not overwrite each other.
fn new_log(path: &Path) -> io::Result<File> {
    File::create(path)?;
    File::options().append(true).open(path)
}

/// Calls `what` until it returns a value, for 20 seconds at most.
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

/// Returns different ports on loopback that are free now.
///
/// # Errors
/// There are none.
pub fn free_ports<const N: usize>() -> Result<[u16; N], Failure> {
    let mut ports = [0; N];
    ports.copy_from_slice(&free_port_list(N)?);
    Ok(ports)
}

/// Returns `count` ports like [`free_ports`].
///
/// # Errors
/// There are too few.
pub fn free_port_list(count: usize) -> Result<Vec<u16>, Failure> {
    let bind = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // All are bound at the same time, so that they differ.
    let listeners: io::Result<Vec<_>> = (0..count).map(bind).collect();
    let port = |listener: &TcpListener| Ok(listener.local_addr()?.port());
    listeners
        .and_then(|listeners| listeners.iter().map(port).collect())
        .map_err(Failure::about("a free port on 127.0.0.1"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_running;

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
    fn what_a_process_leaves_goes_with_it() {
        let stage = Stage::new().unwrap();
        let left = |server: &Server| wait_for(|| server.log().ok()?.trim().parse().ok()).unwrap();
        // Two servers: one ends at once, and one ignores SIGTERM, as does its child.
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
    fn a_home_is_in_the_folder() {
        let stage = Stage::new().unwrap();
        let mut command = Command::new("sh");
        command.env("https_proxy", "http://192.0.2.1/");
        let home = stage.at_home("home", &mut command).unwrap();
        assert_eq!(home, stage.folder().join("home"));
        let script =
            "cd && touch \"$TMPDIR/a\" && stat -c %a \"$XDG_RUNTIME_DIR\"; echo $https_proxy";
        let finished = stage.run(command.args(["-c", script])).unwrap();
        assert_eq!((finished.output.trim(), finished.errors.as_str()), ("700", ""));
        assert!(home.join("tmp/a").exists());
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
