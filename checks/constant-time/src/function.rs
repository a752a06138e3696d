//! A function's control flow: every reachable instruction, with the abstract state before it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use iced_x86::{Decoder, DecoderOptions, Formatter, Instruction, IntelFormatter};

use crate::facts::Facts;
pub use crate::flow::Origin;
use crate::flow::{Event, Machine, Next};
use crate::image::{Function, Image};
use crate::operand::is_avx512;
use crate::state::State;

/// A conditional jump.
#[derive(Clone, Debug)]
pub struct Jump {
    /// Its address.
    pub address: u64,
    /// The instruction.
    pub text: String,
    /// The origin of the condition.
    pub origin: Origin,
    /// True if one of its two ways leads only to a panic.
    pub guards_a_panic: bool,
}

/// An instruction that a kernel must not contain.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Its address.
    pub address: u64,
    /// The instruction.
    pub text: String,
    /// The reason.
    pub what: String,
}

/// The result of the check of a function.
#[derive(Clone, Debug)]
pub struct Report {
    /// The function's name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// The number of reachable instructions.
    pub instructions: usize,
    /// The number of instructions that only unwinding reaches.
    pub unreached: usize,
    /// Conditional jumps without a finding.
    pub jumps: Vec<Jump>,
    /// The number of accesses to memory at addresses that this check does not follow.
    pub unknown_addresses: usize,
    /// The number of divisions of public numbers.
    pub divisions: usize,
    /// The number of calls of functions that do not return.
    pub panics: usize,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Report {
    fn new(function: &Function) -> Self {
        Report {
            name: function.name.clone(),
            address: function.address,
            instructions: 0,
            unreached: 0,
            jumps: Vec::new(),
            unknown_addresses: 0,
            divisions: 0,
            panics: 0,
            findings: Vec::new(),
        }
    }

    /// Makes the report of a function with AVX-512 instructions that is not checked.
    pub(crate) fn outside_of_kernels(function: &Function) -> Self {
        let mut report = Self::new(function);
        let (address, text) = (function.address, String::new());
        let what = "AVX-512 outside of a kernel".into();
        report.findings.push(Finding { address, text, what });
        report
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { name, address, instructions, unreached, jumps, divisions, panics, .. } = self;
        writeln!(
            f,
            "{address:x} {name}: {instructions} instructions, {} conditional jumps, {divisions} divisions of public numbers, \
             {panics} panics, {unreached} for unwinding, {} addresses that are not followed",
            jumps.len(),
            self.unknown_addresses
        )?;
        for jump in jumps {
            let what = match jump.origin {
                _ if jump.guards_a_panic => "or panics",
                Origin::Public => "on counters, pointers and lengths",
                Origin::Unknown | Origin::Data => "on what is not followed",
            };
            writeln!(f, "  {:x} {}: {what}", jump.address, jump.text)?;
        }
        for finding in &self.findings {
            writeln!(f, "  {:x} {}: FOUND: {}", finding.address, finding.text, finding.what)?;
        }
        Ok(())
    }
}

/// Decodes the instructions of a function.
pub(crate) fn decode(function: &Function) -> Vec<Instruction> {
    Decoder::with_ip(64, &function.code, function.address, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// Returns true if a function has AVX-512 instructions.
pub(crate) fn uses_avx512(function: &Function) -> bool {
    decode(function).iter().any(is_avx512)
}

/// The most walks over a function.
const MOST_WALKS: usize = 20;

struct Block {
    /// Index of the first instruction, and index after the last one.
    first: usize,
    end: usize,
}

/// Checks a function of an object.
pub(crate) fn check(image: &Image, function: &Function, flags_are_public: bool) -> Report {
    let code = decode(function);
    let end = function.address + function.code.len() as u64;
    let blocks = blocks(&code, function.address, end);
    let mut machine = Machine::new(image, function, flags_are_public);
    for walk in 1.. {
        let before = machine.facts.clone();
        machine.facts.next_walk();
        let pass = Pass::run(&mut machine, &code, &blocks);
        if machine.facts == before || walk == MOST_WALKS {
            return pass.report(function, &code, &blocks, &machine.facts);
        }
    }
    unreachable!("the last walk returns")
}

/// Returns the basic blocks by address.
fn blocks(code: &[Instruction], start: u64, end: u64) -> BTreeMap<u64, Block> {
    let mut leaders = BTreeSet::from([start]);
    for instruction in code {
        let target = instruction.near_branch_target();
        if target != 0 {
            if (start..end).contains(&target) {
                leaders.insert(target);
            }
            leaders.insert(instruction.next_ip());
        }
    }
    let mut blocks: BTreeMap<u64, Block> = BTreeMap::new();
    let mut first = 0;
    for index in 0..code.len() {
        if index + 1 == code.len() || leaders.contains(&code[index].next_ip()) {
            blocks.insert(code[first].ip(), Block { first, end: index + 1 });
            first = index + 1;
        }
    }
    blocks
}

/// One walk over all reachable code, until no block's initial state changes any more.
struct Pass {
    /// The remarks on each instruction.
    events: BTreeMap<u64, BTreeSet<Event>>,
    /// The successors of each block.
    successors: BTreeMap<u64, Vec<u64>>,
}

impl Pass {
    fn run<'i>(
        machine: &mut Machine<'i>,
        code: &[Instruction],
        blocks: &BTreeMap<u64, Block>,
    ) -> Pass {
        let mut pass = Pass { events: BTreeMap::new(), successors: BTreeMap::new() };
        let Some((&start, _)) = blocks.first_key_value() else { return pass };
        let mut states: BTreeMap<u64, State<'i>> = BTreeMap::from([(start, State::entry())]);
        let mut waiting = BTreeSet::from([start]);
        while let Some(at) = waiting.pop_first() {
            let (Some(block), Some(state)) = (blocks.get(&at), states.get(&at)) else { continue };
            let mut state = state.clone();
            state.forget(|offset, bytes| machine.facts.is_writable(offset, bytes));
            let mut successors = Vec::new();
            for instruction in &code[block.first..block.end] {
                machine.events.clear();
                let next = machine.step(&mut state, instruction);
                pass.events.insert(instruction.ip(), machine.events.drain(..).collect());
                match next {
                    Next::Through if instruction.ip() == code[block.end - 1].ip() => {
                        successors = vec![instruction.next_ip()];
                    }
                    Next::Through => {}
                    Next::Jump { to, or_through } => {
                        successors = vec![to];
                        successors.extend(or_through.then_some(instruction.next_ip()));
                    }
                    Next::Ends => {
                        successors = Vec::new();
                        break;
                    }
                }
            }
            for &to in &successors {
                let mut escape = |value| machine.facts.escape(value);
                let changed = match states.get_mut(&to) {
                    None => {
                        states.insert(to, state.clone());
                        true
                    }
                    Some(known) => {
                        let before = known.clone();
                        known.merge(&state, &mut escape);
                        *known != before
                    }
                };
                if changed {
                    waiting.insert(to);
                }
            }
            pass.successors.insert(at, successors);
        }
        pass
    }

    /// Returns the blocks that lead only to calls that do not return.
    fn dead_ends(
        &self,
        code: &[Instruction],
        blocks: &BTreeMap<u64, Block>,
        facts: &Facts,
    ) -> BTreeSet<u64> {
        let mut dead = BTreeSet::new();
        loop {
            let before = dead.len();
            for (&at, successors) in &self.successors {
                let Some(block) = blocks.get(&at) else { continue };
                let panics = code[block.first..block.end].iter().any(|instruction| {
                    facts.calls.get(&instruction.ip()).is_some_and(|(_, returns)| !returns)
                });
                if panics
                    || (!successors.is_empty() && successors.iter().all(|to| dead.contains(to)))
                {
                    dead.insert(at);
                }
            }
            if dead.len() == before {
                return dead;
            }
        }
    }

    fn report(
        &self,
        function: &Function,
        code: &[Instruction],
        blocks: &BTreeMap<u64, Block>,
        facts: &Facts,
    ) -> Report {
        let mut report = Report::new(function);
        report.instructions = self.events.len();
        report.unreached = code.len() - self.events.len();
        report.panics = facts.calls.values().filter(|(_, returns)| !returns).count();
        let dead = self.dead_ends(code, blocks, facts);
        let mut formatter = IntelFormatter::new();
        for instruction in code {
            let address = instruction.ip();
            for event in self.events.get(&address).into_iter().flatten() {
                let mut text = String::new();
                formatter.format(instruction, &mut text);
                let finding =
                    |what: &str| Finding { address, text: text.clone(), what: what.into() };
                match event {
                    Event::Address => report.unknown_addresses += 1,
                    Event::Jump(origin) => {
                        let ways = [instruction.near_branch_target(), instruction.next_ip()];
                        let guards_a_panic = ways.iter().any(|way| dead.contains(way));
                        if *origin != Origin::Data || guards_a_panic {
                            let origin = *origin;
                            report.jumps.push(Jump { address, text, origin, guards_a_panic });
                        } else {
                            report.findings.push(finding("jumps on what is not public"));
                        }
                    }
                    Event::Division => report.divisions += 1,
                    Event::Finding(what) => report.findings.push(finding(what)),
                }
            }
        }
        report
    }
}
