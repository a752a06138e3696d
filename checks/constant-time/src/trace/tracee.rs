//! A program that permits tracing, and the tracer's control of it.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::{fmt, io};

use nix::errno::Errno;
use nix::libc::user_regs_struct;
use nix::sys::personality::{self, Persona};
use nix::sys::ptrace;
use nix::sys::signal::{Signal, raise};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;
use procfs::process::{MemoryMaps, Process};

/// The signal that marks the beginning and the end of a trace.
const MARK: Signal = Signal::SIGUSR1;
/// The breakpoint instruction: `int3`.
const BREAKPOINT: u8 = 0xcc;
/// The beginning of the message of a program that may not be traced.
const REFUSED: &str = "may not be traced: ";

/// The reason for a missing trace.
#[derive(Debug)]
pub enum Failure {
    /// Nothing can be traced on this system, for this reason.
    Refused(String),
    /// An error of the program.
    Broken(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(why) => write!(f, "{REFUSED}{why}"),
            Failure::Broken(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Broken(error.to_string())
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Failure::Broken(error.to_string())
    }
}

/// Called first in the program: restarts it without address randomisation if necessary, and lets
/// the parent trace it.
///
/// # Errors
/// The system does not allow this.
pub fn offer() -> Result<(), String> {
    let refused = |what: &str, error: Errno| format!("{REFUSED}{what}: {error}");
    let persona = personality::get().map_err(|error| refused("personality", error))?;
    if !persona.contains(Persona::ADDR_NO_RANDOMIZE) {
        personality::set(persona | Persona::ADDR_NO_RANDOMIZE)
            .map_err(|error| refused("fixed addresses", error))?;
        let settled = personality::get().map_err(|error| refused("personality", error))?;
        if !settled.contains(Persona::ADDR_NO_RANDOMIZE) {
            return Err(refused("fixed addresses", Errno::EPERM));
        }
        let mut again = Command::new("/proc/self/exe");
        return Err(again.args(std::env::args_os().skip(1)).exec().to_string());
    }
    ptrace::traceme().map_err(|error| refused("ptrace", error))
}

/// Called in the program: marks the beginning or the end of the trace. Without a tracer it ends the
/// program.
#[inline(never)]
pub fn mark() {
    // Raising a signal of this number cannot fail.
    let _ = raise(MARK);
}

/// The reason for which a traced program stopped.
#[derive(PartialEq, Eq)]
pub(super) enum Stop {
    /// A step is complete, or a breakpoint was reached.
    Trap,
    Mark,
}

/// A traced program.
pub(super) struct Tracee {
    child: Child,
    pid: Pid,
    memory: File,
    /// The bytes that breakpoints replaced.
    breakpoints: HashMap<u64, u8>,
}

impl Tracee {
    /// Starts the program and lets it run to its first mark.
    pub(super) fn start(program: &Path, arguments: &[&str]) -> Result<Tracee, Failure> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let pid = Pid::from_raw(child.id().cast_signed());
        match waitpid(pid, None)? {
            WaitStatus::Stopped(_, MARK) => {
                let memory = format!("/proc/{pid}/mem");
                let memory = OpenOptions::new().read(true).write(true).open(memory)?;
                Ok(Tracee { child, pid, memory, breakpoints: HashMap::new() })
            }
            status => {
                let said = errors(&mut child)?;
                Err(match said.split_once(REFUSED) {
                    Some((_, why)) => Failure::Refused(why.into()),
                    None => Failure::Broken(format!("{status:?} before the first mark: {said}")),
                })
            }
        }
    }

    /// Resumes by `resume` until the program stops for a reason that concerns the trace.
    fn wait(&self, resume: impl Fn(Pid) -> nix::Result<()>) -> Result<Stop, Failure> {
        loop {
            resume(self.pid)?;
            match waitpid(self.pid, None)? {
                WaitStatus::Stopped(_, Signal::SIGTRAP) => return Ok(Stop::Trap),
                WaitStatus::Stopped(_, MARK) => return Ok(Stop::Mark),
                // External signals, such as a stop or a new window size, are not caused by the
                // program.
                WaitStatus::Stopped(
                    _,
                    Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGCONT | Signal::SIGWINCH,
                ) => {}
                status => return Err(Failure::Broken(format!("{status:?} between the marks"))),
            }
        }
    }

    /// Executes one instruction with the given registers.
    pub(super) fn step(&mut self, registers: &user_regs_struct) -> Result<Stop, Failure> {
        ptrace::setregs(self.pid, *registers)?;
        self.lift(registers.rip, |tracee| tracee.wait(|pid| ptrace::step(pid, None)))
    }

    /// Runs with the given registers to a breakpoint, which must not be at the first instruction.
    pub(super) fn run(&self, registers: &user_regs_struct) -> Result<Stop, Failure> {
        ptrace::setregs(self.pid, *registers)?;
        let stop = self.wait(|pid| ptrace::cont(pid, None))?;
        if stop == Stop::Trap {
            // The breakpoint is behind it.
            let registers = self.registers()?;
            let rip = registers.rip - 1;
            ptrace::setregs(self.pid, user_regs_struct { rip, ..registers })?;
        }
        Ok(stop)
    }

    /// Executes an instruction with all its repetitions, and stops at the next one.
    pub(super) fn run_over(
        &mut self,
        registers: &user_regs_struct,
        next: u64,
    ) -> Result<Stop, Failure> {
        self.set_breakpoint(next)?;
        self.lift(registers.rip, |tracee| tracee.run(registers))
    }

    /// Calls `what` without the breakpoint at `address`, if there is one.
    fn lift(
        &self,
        address: u64,
        what: impl FnOnce(&Self) -> Result<Stop, Failure>,
    ) -> Result<Stop, Failure> {
        let replaced = self.breakpoints.get(&address);
        if let Some(&byte) = replaced {
            self.memory.write_all_at(&[byte], address)?;
        }
        let stop = what(self)?;
        if replaced.is_some() {
            self.memory.write_all_at(&[BREAKPOINT], address)?;
        }
        Ok(stop)
    }

    /// Sets a breakpoint at `address`.
    pub(super) fn set_breakpoint(&mut self, address: u64) -> Result<(), Failure> {
        if !self.breakpoints.contains_key(&address) {
            let mut byte = [0];
            self.memory.read_exact_at(&mut byte, address)?;
            self.memory.write_all_at(&[BREAKPOINT], address)?;
            self.breakpoints.insert(address, byte[0]);
        }
        Ok(())
    }

    /// Returns true if there is a breakpoint at `address`.
    pub(super) fn stops_at(&self, address: u64) -> bool {
        self.breakpoints.contains_key(&address)
    }

    pub(super) fn registers(&self) -> Result<user_regs_struct, Failure> {
        Ok(ptrace::getregs(self.pid)?)
    }

    /// Reads the program's memory at `address`. Returns less at the end of a mapping.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Result<usize, Failure> {
        let read = self.memory.read_at(bytes, address)?;
        for (offset, byte) in bytes[..read].iter_mut().enumerate() {
            *byte = self.breakpoints.get(&(address + offset as u64)).copied().unwrap_or(*byte);
        }
        Ok(read)
    }

    pub(super) fn mappings(&self) -> Result<MemoryMaps, Failure> {
        let maps = Process::new(self.pid.as_raw()).and_then(|process| process.maps());
        maps.map_err(|error| Failure::Broken(error.to_string()))
    }

    /// Lets the program run to its end.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        for (&address, &byte) in &self.breakpoints {
            self.memory.write_all_at(&[byte], address)?;
        }
        ptrace::detach(self.pid, None)?;
        let said = errors(&mut self.child)?;
        let status = self.child.wait()?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Broken(format!("{status} after the marks: {said}")))
    }
}

/// Returns the program's standard error until it ends.
fn errors(child: &mut Child) -> io::Result<String> {
    let mut said = String::new();
    if let Some(mut errors) = child.stderr.take() {
        errors.read_to_string(&mut said)?;
    }
    Ok(said.trim().into())
}

impl Drop for Tracee {
    fn drop(&mut self) {
        // If the program has ended, neither has an effect.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
