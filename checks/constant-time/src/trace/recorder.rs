//! Traces and their first differences.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use iced_x86::{
    ConditionCode, Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter, OpKind,
};
use nix::libc::user_regs_struct;
use procfs::process::{MMapPath, MemoryMap};

use super::block::{Block, Registers, Site};
use super::tracee::{Failure, Stop, Tracee};
use crate::image::Image;
use crate::instructions::forbidden;

/// Bytes of the longest instruction.
const LONGEST: usize = 15;
/// The number of steps after which a program is assumed not to end.
const MOST: usize = 20_000_000;

/// The instructions and addresses of a program between its marks.
pub struct Trace {
    /// For each step the instruction's address, then the addresses that it accesses and its
    /// operands if it divides.
    numbers: Vec<u64>,
    /// The number of executed instructions.
    pub steps: usize,
    /// The addresses of all executed instructions.
    met: BTreeSet<u64>,
}

/// The first difference of two traces.
#[derive(Debug)]
pub struct Difference {
    /// The number of equal steps before it.
    pub steps: usize,
    /// The function, and the place in it.
    pub place: String,
    /// The instruction.
    pub instruction: String,
    /// The entries of the two traces.
    pub what: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { steps, place, instruction, what } = self;
        write!(f, "after {steps} steps, {place}: {instruction}: {what}")
    }
}

/// Records traces of one program and compares them.
pub struct Recorder {
    program: PathBuf,
    sites: HashMap<u64, Rc<Site>>,
    blocks: HashMap<u64, Rc<Block>>,
    /// Addresses where blocks end although straight code continues.
    cuts: HashSet<u64>,
    mappings: Vec<MemoryMap>,
    images: BTreeMap<PathBuf, Option<Image>>,
    /// True to stop after each instruction.
    single_steps: bool,
}

impl Recorder {
    /// Makes a recorder of an executable.
    pub fn new(program: &Path) -> Self {
        Recorder {
            program: program.into(),
            sites: HashMap::new(),
            blocks: HashMap::new(),
            cuts: HashSet::new(),
            mappings: Vec::new(),
            images: BTreeMap::new(),
            single_steps: false,
        }
    }

    /// Stops after each instruction: about ten times slower, with the same traces.
    pub fn with_single_steps(self) -> Self {
        Recorder { single_steps: true, ..self }
    }

    /// Returns the executable.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs the program, and records its execution between its first two marks. Runs to be compared
    /// need arguments of the same lengths.
    ///
    /// # Errors
    /// Nothing can be traced on this system, or the program fails.
    pub fn record(&mut self, arguments: &[&str]) -> Result<Trace, Failure> {
        let mut tracee = Tracee::start(&self.program, arguments)?;
        let mut trace = Trace { numbers: Vec::new(), steps: 0, met: BTreeSet::new() };
        let mut registers = Registers::from(tracee.registers()?);
        while let Some(next) = self.advance(&mut tracee, &registers, &mut trace)? {
            registers = next;
            if trace.steps > MOST {
                return Err(Failure::Broken(format!("no second mark after {MOST} steps")));
            }
        }
        self.mappings = tracee.mappings()?.0;
        tracee.finish()?;
        Ok(trace)
    }

    /// Runs to the end of straight code, or over one instruction. Returns `None` at a mark.
    fn advance(
        &mut self,
        tracee: &mut Tracee,
        registers: &Registers,
        trace: &mut Trace,
    ) -> Result<Option<Registers>, Failure> {
        let at = registers.raw.rip;
        if self.single_steps {
            return self.over(tracee, registers, trace);
        }
        let block = self.block(tracee, at)?;
        if block.is_empty() || tracee.stops_at(at) {
            return self.over(tracee, registers, trace);
        }
        tracee.set_breakpoint(block.end)?;
        if tracee.run(&registers.raw)? == Stop::Mark {
            return Ok(None);
        }
        let after = Registers::from(tracee.registers()?);
        let stopped = after.raw.rip;
        let block = if stopped == block.end {
            block
        } else {
            // The end of another block.
            self.cuts.insert(stopped);
            self.blocks.remove(&at);
            self.block(tracee, at)?
        };
        if stopped != block.end {
            return Err(Failure::Broken(format!("stopped at {stopped:#x}, where nothing ends")));
        }
        block.note(registers, &after, &mut trace.numbers);
        trace.steps += block.instructions().len();
        if !trace.met.contains(&at) {
            trace.met.extend(block.instructions());
        }
        Ok(Some(after))
    }

    /// Runs over one instruction of any kind.
    fn over(
        &mut self,
        tracee: &mut Tracee,
        registers: &Registers,
        trace: &mut Trace,
    ) -> Result<Option<Registers>, Failure> {
        let at = registers.raw.rip;
        let site = self.site(tracee, at)?;
        let noted = trace.numbers.len();
        note(&site, tracee, registers, &mut trace.numbers)?;
        trace.steps += 1;
        trace.met.insert(at);
        if !self.single_steps
            && let Some(to) = jump(&site.instruction, registers.raw.eflags)
        {
            return Ok(Some(Registers::from(user_regs_struct { rip: to, ..registers.raw })));
        }
        // A single step would stop at each repetition.
        let stop = if site.repeats() {
            tracee.run_over(&registers.raw, site.instruction.next_ip())?
        } else {
            tracee.step(&registers.raw)?
        };
        if stop == Stop::Mark {
            // The instruction was not executed.
            trace.numbers.truncate(noted);
            trace.steps -= 1;
            return Ok(None);
        }
        let next = Registers::from(tracee.registers()?);
        if site.repeats() {
            trace.numbers.push(next.raw.rcx);
        }
        Ok(Some(next))
    }

    fn block(&mut self, tracee: &Tracee, at: u64) -> Result<Rc<Block>, Failure> {
        if let Some(block) = self.blocks.get(&at) {
            return Ok(block.clone());
        }
        let (sites, cuts) = (&mut self.sites, &self.cuts);
        let is_cut = |at| cuts.contains(&at) || tracee.stops_at(at);
        let block = Rc::new(Block::new(at, is_cut, |at| site(sites, tracee, at))?);
        self.blocks.insert(at, block.clone());
        Ok(block)
    }

    fn site(&mut self, tracee: &Tracee, at: u64) -> Result<Rc<Site>, Failure> {
        site(&mut self.sites, tracee, at)
    }

    /// Returns the first difference of two traces, or `None` if they are equal.
    pub fn compare(&mut self, one: &Trace, other: &Trace) -> Option<Difference> {
        let (a, b) = (&one.numbers, &other.numbers);
        if a == b {
            return None;
        }
        let first = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (mut steps, mut start, mut before) = (0, 0, a.first().copied());
        let last = loop {
            let Some(&at) = a.get(start).filter(|_| start <= first) else { break None };
            let site = &self.sites[&at];
            let numbers = site.numbers();
            if first < start + numbers && first > start {
                let touches = first - start <= site.accesses.len();
                let does = if touches { "touches memory at" } else { "works on" };
                let what = format!("{does} {:#x}, or {:#x}", a[first], b[first]);
                break Some((at, what));
            }
            if first == start {
                break None;
            }
            (steps, start, before) = (steps + 1, start + numbers, Some(at));
        };
        let (at, what) = last.unwrap_or_else(|| {
            let mut goes = |trace: &[u64]| match trace.get(first) {
                Some(&to) => self.place(to),
                None => "the end".into(),
            };
            let what = format!("goes on to {}, or to {}", goes(a), goes(b));
            (before.unwrap_or_default(), what)
        });
        Some(Difference { steps, place: self.place(at), instruction: self.text(at), what })
    }

    /// Returns the instructions that a trace must not contain, each with its place and the reason.
    pub fn forbidden(&mut self, trace: &Trace) -> Vec<String> {
        let mut found = Vec::new();
        for &at in &trace.met {
            if let Some(why) = forbidden(&self.sites[&at].instruction) {
                found.push(format!("{}: {}: {why}", self.place(at), self.text(at)));
            }
        }
        found
    }

    /// Returns the integer divisions in a trace, each with its place. Their operands are part of
    /// the trace.
    pub fn divisions(&mut self, trace: &Trace) -> Vec<String> {
        let divisions: Vec<_> =
            trace.met.iter().copied().filter(|at| self.sites[at].divides()).collect();
        divisions.into_iter().map(|at| format!("{}: {}", self.place(at), self.text(at))).collect()
    }

    /// Returns the number of distinct instructions of 512-bit vectors.
    pub fn wide(&self, trace: &Trace) -> usize {
        let is_wide = |instruction: &Instruction| {
            (0..instruction.op_count()).any(|n| {
                instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_zmm()
            })
        };
        trace.met.iter().filter(|at| is_wide(&self.sites[at].instruction)).count()
    }

    fn text(&self, at: u64) -> String {
        let mut text = String::new();
        IntelFormatter::new().format(&self.sites[&at].instruction, &mut text);
        text
    }

    /// Returns the function or the file at an address, with the offset in it.
    fn place(&mut self, at: u64) -> String {
        let holds = |map: &&MemoryMap| (map.address.0..map.address.1).contains(&at);
        let Some(mapping) = self.mappings.iter().find(holds) else {
            return format!("{at:#x}");
        };
        let first = self.mappings.iter().find(|one| one.pathname == mapping.pathname);
        let offset = at - first.map_or(0, |first| first.address.0);
        let MMapPath::Path(file) = &mapping.pathname else {
            return format!("{:?}+{offset:#x}", mapping.pathname);
        };
        let image = self
            .images
            .entry(file.clone())
            .or_insert_with(|| std::fs::read(file).ok().and_then(|bytes| Image::read(&bytes).ok()));
        match image.as_ref().and_then(|image| image.function_at(offset)) {
            Some(function) => format!("{}+{:#x}", function.name, offset - function.address),
            None => format!("{}+{offset:#x}", file.display()),
        }
    }
}

/// Returns the instruction at an address.
fn site(sites: &mut HashMap<u64, Rc<Site>>, tracee: &Tracee, at: u64) -> Result<Rc<Site>, Failure> {
    if let Some(site) = sites.get(&at) {
        return Ok(site.clone());
    }
    let mut code = [0; LONGEST];
    let read = tracee.read(at, &mut code)?;
    let instruction = Decoder::with_ip(64, &code[..read], at, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return Err(Failure::Broken(format!("an unknown instruction at {at:#x}: {code:02x?}")));
    }
    let site = Rc::new(Site::new(instruction));
    sites.insert(at, site.clone());
    Ok(site)
}

/// Returns the target of a jump, if it depends on flags only.
fn jump(instruction: &Instruction, flags: u64) -> Option<u64> {
    let flag = |bit: u32| flags >> bit & 1 == 1;
    let (carry, parity, zero, sign, overflow) = (flag(0), flag(2), flag(6), flag(7), flag(11));
    let jumps = match instruction.condition_code() {
        ConditionCode::None if instruction.is_jmp_short_or_near() => true,
        _ if !instruction.is_jcc_short_or_near() => return None,
        ConditionCode::None => return None,
        ConditionCode::o => overflow,
        ConditionCode::no => !overflow,
        ConditionCode::b => carry,
        ConditionCode::ae => !carry,
        ConditionCode::e => zero,
        ConditionCode::ne => !zero,
        ConditionCode::be => carry || zero,
        ConditionCode::a => !(carry || zero),
        ConditionCode::s => sign,
        ConditionCode::ns => !sign,
        ConditionCode::p => parity,
        ConditionCode::np => !parity,
        ConditionCode::l => sign != overflow,
        ConditionCode::ge => sign == overflow,
        ConditionCode::le => zero || sign != overflow,
        ConditionCode::g => !zero && sign == overflow,
    };
    Some(if jumps { instruction.near_branch64() } else { instruction.next_ip() })
}

/// Adds an instruction's address to `numbers`, and its other entries from before its execution.
fn note(
    site: &Site,
    tracee: &Tracee,
    registers: &Registers,
    numbers: &mut Vec<u64>,
) -> Result<(), Failure> {
    Block::of(site).note(registers, registers, numbers);
    if site.divides() {
        let divisor = match site.instruction.op0_kind() {
            OpKind::Register => registers.part(site.instruction.op0_register()),
            _ => {
                let mut bytes = [0; 8];
                let size = site.instruction.memory_size().size();
                let from = numbers.last().copied().unwrap_or_default();
                tracee.read(from, &mut bytes[..size])?;
                u64::from_le_bytes(bytes)
            }
        };
        numbers.extend([registers.raw.rax, registers.raw.rdx, divisor]);
    }
    if site.repeats() {
        numbers.push(registers.raw.rcx);
    }
    Ok(())
}
