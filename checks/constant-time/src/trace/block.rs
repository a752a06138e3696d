//! Straight code, and the computation of its addresses from the registers before and after.
//!
//! Stopping a program takes as long as running it for a long time. So it is stopped only at the end
//! of straight code, and at an address that cannot be computed from there.

use std::rc::Rc;

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
    UsedMemory,
};

use nix::libc::user_regs_struct;

use crate::instructions::{divides, is_immediate};

/// The number of general registers.
const REGISTERS: usize = 16;
/// The most instructions in a block.
const LONGEST: usize = 2000;

/// Values of registers.
#[derive(Clone)]
pub(super) struct Registers {
    pub(super) raw: user_regs_struct,
    /// The general registers by their numbers.
    general: [u64; REGISTERS],
}

impl From<user_regs_struct> for Registers {
    fn from(raw: user_regs_struct) -> Self {
        let general = [
            raw.rax, raw.rcx, raw.rdx, raw.rbx, raw.rsp, raw.rbp, raw.rsi, raw.rdi, raw.r8, raw.r9,
            raw.r10, raw.r11, raw.r12, raw.r13, raw.r14, raw.r15,
        ];
        Registers { raw, general }
    }
}

impl Registers {
    fn segment(&self, segment: Register) -> u64 {
        match segment {
            Register::FS => self.raw.fs_base,
            Register::GS => self.raw.gs_base,
            _ => 0,
        }
    }

    /// Returns a general register or a part of it.
    pub(super) fn part(&self, register: Register) -> u64 {
        let whole = number(register).map_or(0, |number| self.general[number]);
        match register {
            Register::AH | Register::BH | Register::CH | Register::DH => whole >> 8 & 0xff,
            _ => whole & u64::MAX >> (64 - 8 * register.size()),
        }
    }
}

/// An instruction, and its contribution to a trace.
pub(super) struct Site {
    pub(super) instruction: Instruction,
    pub(super) accesses: Vec<UsedMemory>,
    /// Registers that it writes, by the numbers of the whole registers.
    written: Vec<usize>,
}

impl Site {
    pub(super) fn new(instruction: Instruction) -> Self {
        let mut factory = InstructionInfoFactory::new();
        let info = factory.info(&instruction);
        let touches = |memory: &&UsedMemory| {
            memory.access() != OpAccess::NoMemAccess && !memory.index().is_vector_register()
        };
        let writes =
            |access| !matches!(access, OpAccess::None | OpAccess::Read | OpAccess::CondRead);
        let written = info.used_registers().iter().filter(|used| writes(used.access()));
        Site {
            instruction,
            accesses: info.used_memory().iter().filter(touches).copied().collect(),
            written: written.filter_map(|used| number(used.register())).collect(),
        }
    }

    /// Returns true for an integer division. Its operands are traced.
    pub(super) fn divides(&self) -> bool {
        divides(&self.instruction)
    }

    /// Returns true if the instruction repeats. The counts before and after are traced.
    pub(super) fn repeats(&self) -> bool {
        let instruction = &self.instruction;
        instruction.is_string_instruction()
            && (instruction.has_rep_prefix() || instruction.has_repne_prefix())
    }

    /// Returns the number of its entries in a trace for each execution.
    pub(super) fn numbers(&self) -> usize {
        let (operands, counts) = (3, 2);
        let extra = match self {
            _ if self.divides() => operands,
            _ if self.repeats() => counts,
            _ => 0,
        };
        1 + self.accesses.len() + extra
    }

    /// Returns true if the next instruction always follows.
    fn is_straight(&self) -> bool {
        self.instruction.flow_control() == FlowControl::Next
            && self.instruction.mnemonic() != Mnemonic::Syscall
    }
}

/// Returns the number of the general register that contains this one.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

/// Returns the new value of a general register that an instruction writes, if it is an offset from
/// a known one.
fn result(instruction: &Instruction, number: usize, values: &[Value; REGISTERS]) -> Option<Value> {
    let value = |register: Register| (register.is_gpr64()).then(|| values[register.number()]);
    if instruction.stack_pointer_increment() != 0 && number == Register::RSP.number() {
        return Some(values[number].plus(i64::from(instruction.stack_pointer_increment()) as u64));
    }
    let to = instruction.op0_register();
    if instruction.op0_kind() != OpKind::Register || self::number(to) != Some(number) {
        return None;
    }
    let constant = is_immediate(instruction.op1_kind()).then(|| instruction.immediate(1));
    let from = (instruction.op1_kind() == OpKind::Register).then(|| instruction.op1_register());
    match instruction.mnemonic() {
        Mnemonic::Mov if to.is_gpr64() => match (constant, from) {
            (Some(constant), _) => Some(Value::ZERO.plus(constant)),
            (_, Some(from)) => value(from),
            _ => None,
        },
        Mnemonic::Mov if to.is_gpr32() => Some(Value::ZERO.plus(constant? & u64::from(u32::MAX))),
        Mnemonic::Xor if to.is_gpr32() && from == Some(to) => Some(Value::ZERO),
        Mnemonic::Lea if to.is_gpr64() && instruction.memory_index() == Register::None => {
            let displacement = instruction.memory_displacement64();
            match instruction.memory_base() {
                Register::RIP | Register::None => Some(Value::ZERO.plus(displacement)),
                base => Some(value(base)?.plus(displacement)),
            }
        }
        Mnemonic::Add if to.is_gpr64() => Some(value(to)?.plus(constant?)),
        Mnemonic::Sub if to.is_gpr64() => Some(value(to)?.plus(constant?.wrapping_neg())),
        Mnemonic::Inc if to.is_gpr64() => Some(value(to)?.plus(1)),
        Mnemonic::Dec if to.is_gpr64() => Some(value(to)?.plus(u64::MAX)),
        _ => None,
    }
}

/// The base of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Zero,
    /// A register before the block.
    Before(usize),
    /// The result of an instruction in a register. Results are numbered.
    Made(usize),
    /// A register after the block.
    After(usize),
}

/// A value in a block: a base and an offset.
#[derive(Clone, Copy)]
struct Value {
    source: Source,
    plus: u64,
}

impl Value {
    const ZERO: Value = Value { source: Source::Zero, plus: 0 };

    fn plus(self, more: u64) -> Self {
        Value { plus: self.plus.wrapping_add(more), ..self }
    }

    fn get(self, before: &Registers, after: &Registers) -> u64 {
        let source = match self.source {
            Source::Zero | Source::Made(_) => 0,
            Source::Before(number) => before.general[number],
            Source::After(number) => after.general[number],
        };
        source.wrapping_add(self.plus)
    }
}

/// Returns the values of registers before a block.
fn before() -> [Value; REGISTERS] {
    let mut values = [Value::ZERO; REGISTERS];
    for (number, value) in values.iter_mut().enumerate() {
        value.source = Source::Before(number);
    }
    values
}

/// The computation of an address.
struct Address {
    segment: Register,
    base: Value,
    index: Value,
    scale: u64,
    displacement: u64,
    mask: u64,
}

impl Address {
    fn new(memory: &UsedMemory, values: &[Value; REGISTERS]) -> Self {
        let value = |register| number(register).map_or(Value::ZERO, |number| values[number]);
        let narrow = memory.base().is_gpr32() || memory.index().is_gpr32();
        Address {
            segment: memory.segment(),
            base: value(memory.base()),
            index: value(memory.index()),
            scale: memory.scale().into(),
            displacement: memory.displacement(),
            mask: if narrow { u32::MAX.into() } else { u64::MAX },
        }
    }
}

/// An instruction of a block.
struct Line {
    at: u64,
    addresses: Vec<Address>,
}

/// Straight code.
pub(super) struct Block {
    lines: Vec<Line>,
    /// The end of the block: the first instruction that is not straight, or an instruction whose
    /// address must be known.
    pub(super) end: u64,
}

impl Block {
    /// Makes the block that begins at `start`. It ends no later than at an address for which
    /// `is_cut` returns true. `site` returns the instruction at an address.
    pub(super) fn new<E>(
        start: u64,
        is_cut: impl Fn(u64) -> bool,
        mut site: impl FnMut(u64) -> Result<Rc<Site>, E>,
    ) -> Result<Block, E> {
        let mut unknown = None;
        loop {
            let mut values = before();
            let (mut block, mut made) = (Block { lines: Vec::new(), end: start }, 0);
            loop {
                let here = site(block.end)?;
                if !here.is_straight() || here.divides() || here.repeats() {
                    break;
                }
                let full = block.lines.len() == LONGEST;
                let ends = is_cut(block.end) || unknown == Some(block.end) || full;
                if ends && !block.lines.is_empty() {
                    break;
                }
                let addresses = here.accesses.iter().map(|memory| Address::new(memory, &values));
                block.lines.push(Line { at: block.end, addresses: addresses.collect() });
                let results = here.written.iter().map(|&number| {
                    made += 1;
                    let new = Value { source: Source::Made(made), plus: 0 };
                    (number, result(&here.instruction, number, &values).unwrap_or(new))
                });
                let results: Vec<_> = results.collect();
                for (number, value) in results {
                    values[number] = value;
                }
                block.end = here.instruction.next_ip();
            }
            unknown = block.settle(&values);
            if unknown.is_none() {
                return Ok(block);
            }
        }
    }

    /// Makes a block of one instruction, whose addresses depend only on the registers before it.
    pub(super) fn of(site: &Site) -> Block {
        let (at, end) = (site.instruction.ip(), site.instruction.next_ip());
        let values = before();
        let addresses = site.accesses.iter().map(|memory| Address::new(memory, &values)).collect();
        Block { lines: vec![Line { at, addresses }], end }
    }

    /// Expresses intermediate results by the registers after the block. Returns the instruction
    /// whose address needs a result that no register has any more.
    fn settle(&mut self, values: &[Value; REGISTERS]) -> Option<u64> {
        let left = |value: Value| match value.source {
            Source::Made(_) => {
                let number = values.iter().position(|other| other.source == value.source)?;
                let plus = value.plus.wrapping_sub(values[number].plus);
                Some(Value { source: Source::After(number), plus })
            }
            _ => Some(value),
        };
        for line in &mut self.lines {
            for address in &mut line.addresses {
                let (Some(base), Some(index)) = (left(address.base), left(address.index)) else {
                    return Some(line.at);
                };
                (address.base, address.index) = (base, index);
            }
        }
        None
    }

    /// Returns true if there is no straight code here.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Returns the instructions' addresses.
    pub(super) fn instructions(&self) -> impl ExactSizeIterator<Item = u64> {
        self.lines.iter().map(|line| line.at)
    }

    /// Adds each instruction's address to `numbers`, followed by the addresses that it accesses.
    pub(super) fn note(&self, before: &Registers, after: &Registers, numbers: &mut Vec<u64>) {
        for line in &self.lines {
            numbers.push(line.at);
            for address in &line.addresses {
                let base = address.base.get(before, after);
                let index = address.index.get(before, after).wrapping_mul(address.scale);
                let sum = base.wrapping_add(index).wrapping_add(address.displacement);
                numbers.push((sum & address.mask).wrapping_add(before.segment(address.segment)));
            }
        }
    }
}
