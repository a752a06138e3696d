//! The effect of each instruction on the abstract state: the rules of the check.

use iced_x86::{
    Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, UsedMemory,
};

use crate::facts::Facts;
use crate::image::{Function, Image, Place};
use crate::instructions::{divides, forbidden, is_immediate};
use crate::operand::{Address, addresses_only, diverges, is_constant, reads, size, writes};
use crate::state::State;
use crate::value::{Value, Word};

/// Callees that take the same time for all contents.
const OF_MEMORY: [&str; 3] = ["memcpy", "memmove", "memset"];

/// The origin of a value on which control flow depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Counters, pointers and lengths.
    Public,
    /// Values that this check does not follow: words from memory that may be pointers, and parts of
    /// the stack.
    Unknown,
    /// Data: memory, vectors and masks.
    Data,
}

impl Origin {
    fn of(value: Value<'_>) -> Self {
        match value {
            value if value.is_public() => Origin::Public,
            value if value.is_secret() => Origin::Data,
            _ => Origin::Unknown,
        }
    }
}

/// A remark on an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// A conditional jump, and the origin of its condition.
    Jump(Origin),
    /// An address computed from an unknown value.
    Address,
    /// A division of public numbers.
    Division,
    /// A violation.
    Finding(String),
}

/// The successors of an instruction.
pub(crate) enum Next {
    /// The next instruction.
    Through,
    /// An address, and with `or_through` also the next instruction.
    Jump { to: u64, or_through: bool },
    /// None in this function.
    Ends,
}

/// Applies instructions to states.
pub(crate) struct Machine<'i> {
    image: &'i Image,
    info: InstructionInfoFactory,
    pub(crate) facts: Facts,
    /// Remarks on the current instruction.
    pub(crate) events: Vec<Event>,
    start: u64,
    end: u64,
    /// True if single bytes in memory are public flags.
    flags_are_public: bool,
}

impl<'i> Machine<'i> {
    pub(crate) fn new(image: &'i Image, function: &Function, flags_are_public: bool) -> Self {
        let start = function.address;
        Machine {
            image,
            info: InstructionInfoFactory::new(),
            facts: Facts::new(),
            events: Vec::new(),
            start,
            end: start + function.code.len() as u64,
            flags_are_public,
        }
    }

    fn finding(&mut self, what: impl Into<String>) {
        self.events.push(Event::Finding(what.into()));
    }

    /// Returns the address of a memory operand.
    fn address(&self, state: &State<'i>, memory: Address) -> Value<'i> {
        if memory.is_absolute() {
            return self.place(memory.displacement);
        }
        let mut sum = match memory.base {
            Register::None => Value::Is(0),
            base => state.register(base),
        };
        if memory.index != Register::None {
            sum = sum.plus(state.register(memory.index).times(memory.scale.into()));
            // The value of an index in the first round of a loop is not its value in all rounds, so
            // the place is only a lower bound.
            if let Value::Stack(offset) = sum {
                sum = Value::Frame(offset);
            }
        }
        sum.plus_constant(memory.displacement as i64)
    }

    fn place(&self, address: u64) -> Value<'i> {
        match self.image.place(address) {
            Place::Constant => Value::Constant,
            Place::Code(name) => Value::Code(name),
            Place::Variable => Value::Public,
        }
    }

    /// Checks an access to memory: its address must not be secret.
    fn access(&mut self, state: &State<'i>, memory: &UsedMemory) {
        let (base, index) = (memory.base(), memory.index());
        let value = |register| match register {
            Register::None => Value::Is(0),
            register => state.register(register),
        };
        let (mut pointer, mut offset) = (value(base), value(index));
        // Base and index are distinguished by the scale, or by their values.
        let is_place = |value| matches!(value, Value::Constant | Value::Stack(_) | Value::Frame(_));
        if memory.scale() == 1
            && (matches!(pointer, Value::Is(_) | Value::Number(_) | Value::Public)
                || is_place(offset) && !is_place(pointer))
        {
            (pointer, offset) = (offset, pointer);
        }
        if !pointer.is_address() || offset.is_secret() {
            self.finding("address from a secret");
        } else if !offset.is_public() || pointer == Value::Unknown {
            self.events.push(Event::Address);
        }
        self.facts.reaches_through(pointer);
        match self.address(state, Address::of_memory(memory)) {
            // An indexed access may reach any higher address.
            address @ Value::Frame(_) => self.facts.escape(address),
            Value::Stack(place) if base == Register::RSP && index == Register::None => {
                let bytes = size(memory);
                if bytes >= 16 {
                    self.facts.array(place, bytes as i64);
                }
            }
            _ => {}
        }
    }

    /// Returns the abstract value of a word that is read from memory.
    fn load(&mut self, state: &State<'i>, memory: &UsedMemory, bytes: usize) -> Value<'i> {
        if memory.segment() == Register::FS || memory.segment() == Register::GS {
            return Value::Secret;
        }
        if Address::of_memory(memory).is_absolute() {
            let at = memory.displacement();
            return match self.image.pointee(at) {
                Some(Place::Code(name)) if bytes == 8 => Value::Code(name),
                Some(_) => Value::Public,
                None if self.image.place(at) == Place::Constant => Value::Number(None),
                None => Value::Secret,
            };
        }
        if bytes == 1 && self.flags_are_public {
            return Value::Public;
        }
        let whole = bytes == 8;
        match self.address(state, Address::of_memory(memory)) {
            // Tables of constants may hold pointers, too.
            Value::Constant => Value::Public,
            Value::Stack(offset) => match state.kept(offset, bytes) {
                Some(kept) if kept.is_public() => kept,
                _ if self.facts.is_public_from(offset) => Value::Public,
                Some(kept) if whole => kept,
                Some(_) => Value::Unknown,
                // Words written by a callee, or by the caller.
                None if whole => match self.facts.load(Word::OnStack(offset)) {
                    pointer @ Value::Pointer(..) => pointer,
                    _ => Value::Unknown,
                },
                None => Value::Unknown,
            },
            Value::Pointer(word, Some(offset)) | Value::Loaded(Some(word), Some(offset))
                if whole =>
            {
                self.facts.load(Word::At(word, offset))
            }
            Value::Pointer(word, None) | Value::Loaded(Some(word), None) if whole => {
                self.facts.load(Word::Among(word, memory.displacement() as i64))
            }
            Value::Pointer(word, _) if bytes < 8 && self.facts.holds_pointers(word) => {
                Value::Public
            }
            Value::Frame(offset) if self.facts.is_public_from(offset) => Value::Public,
            Value::Frame(_) | Value::Unknown => Value::Unknown,
            Value::Public | Value::Loaded(..) if whole => Value::Loaded(None, None),
            _ => Value::Secret,
        }
    }

    fn store(
        &mut self,
        state: &mut State<'i>,
        address: Value<'i>,
        bytes: usize,
        value: Option<Value<'i>>,
    ) {
        if let Some(value) = value {
            // A stack address in memory may be read back from anywhere.
            self.facts.escape(value);
        }
        if let Value::Stack(offset) = address {
            let kept = offset < 0 && bytes <= 8 && !self.facts.is_writable(offset, bytes);
            state.keep(offset, bytes, value.filter(|_| kept));
        }
    }

    /// Returns the abstract value of an operand: a general register, an immediate, or memory.
    fn operand(
        &mut self,
        state: &State<'i>,
        instruction: &Instruction,
        n: u32,
        memory: &[UsedMemory],
    ) -> Value<'i> {
        match instruction.op_kind(n) {
            OpKind::Register => state.register(instruction.op_register(n)),
            OpKind::Memory => {
                let bytes = instruction.memory_size().size();
                memory.first().map_or(Value::Secret, |memory| self.load(state, memory, bytes))
            }
            OpKind::NearBranch64 => self.place(instruction.near_branch64()),
            _ => Value::Is(instruction.immediate(n) as i64),
        }
    }

    /// Applies one instruction.
    pub(crate) fn step(&mut self, state: &mut State<'i>, instruction: &Instruction) -> Next {
        let info = self.info.info(instruction);
        let memory = info.used_memory().to_vec();
        let registers = info.used_registers().to_vec();
        for memory in &memory {
            if memory.access() != OpAccess::NoMemAccess {
                self.access(state, memory);
            }
        }
        self.slow(state, instruction, &memory);

        let next = match instruction.mnemonic() {
            Mnemonic::Call => return self.call(state, instruction, &memory),
            Mnemonic::Jmp => return self.jump(state, instruction, &memory),
            Mnemonic::Ret | Mnemonic::Ud2 | Mnemonic::Int3 => return Next::Ends,
            Mnemonic::Syscall | Mnemonic::Int | Mnemonic::Hlt => {
                self.finding("leaves the program");
                return Next::Ends;
            }
            Mnemonic::Jrcxz | Mnemonic::Jecxz => {
                self.events.push(Event::Jump(Origin::of(state.register(Register::RCX))));
                return Next::Jump { to: instruction.near_branch64(), or_through: true };
            }
            _ if instruction.is_jcc_short_or_near() => {
                let origin = Origin::of(state.flags(instruction.rflags_read()));
                self.events.push(Event::Jump(origin));
                return Next::Jump { to: instruction.near_branch64(), or_through: true };
            }
            _ => Next::Through,
        };

        // Inputs of the instruction.
        let used: Vec<_> = registers
            .iter()
            .filter(|register| {
                reads(register.access()) && !addresses_only(instruction, register.register())
            })
            .map(|register| register.register())
            .collect();
        let mut input = state.flags(instruction.rflags_read());
        for &register in &used {
            input = input.or(state.register(register));
        }
        for memory in memory.iter().filter(|memory| reads(memory.access())) {
            input = input.or(self.load(state, memory, size(memory)));
        }
        if is_constant(instruction) {
            input = Value::Is(0);
        }
        let masked = matches!(instruction.mnemonic(), Mnemonic::And | Mnemonic::Test)
            && is_immediate(instruction.op1_kind())
            && instruction.immediate(1) <= 0xff;
        if masked && instruction.op0_kind() == OpKind::Register {
            input = state.low_byte(instruction.op0_register());
        }
        if divides(instruction) {
            self.events.push(if input.is_secret() {
                Event::Finding("division of what is not public".into())
            } else {
                Event::Division
            });
        }

        // Outputs of the instruction. Addresses use the registers from before it.
        let (computed, whole) = (input.computed(), self.whole(state, instruction, &memory));
        let stores: Vec<_> = memory
            .iter()
            .filter(|memory| writes(memory.access()))
            .map(|memory| (self.address(state, Address::of_memory(memory)), size(memory)))
            .collect();
        let mut results = Vec::new();
        for register in registers.iter().filter(|register| writes(register.access())) {
            let (access, register) = (register.access(), register.register());
            // An instruction that writes 32 bits is listed as writing all 64, as it fills the rest
            // with zeros.
            let named = instruction.op0_register();
            let is_destination = instruction.op0_kind() == OpKind::Register
                && (named == register || named.size() == 4 && named.full_register() == register);
            let computed =
                if is_destination && named.size() == 4 { input.computed_half() } else { computed };
            let value = match whole {
                Some(value) if is_destination => value,
                _ if is_constant(instruction) => input,
                _ if access == OpAccess::CondWrite || access == OpAccess::ReadCondWrite => {
                    computed.or(state.register(register).computed())
                }
                _ => computed,
            };
            results.push((register, value));
        }
        if whole.is_none() && !(results.is_empty() && stores.is_empty()) {
            // A stack address in a computation is no longer tracked.
            for &register in used.iter().filter(|&&register| register != Register::RSP) {
                self.facts.escape(state.register(register));
            }
        }
        let low_byte = low_byte(state, instruction, &used);
        let stack_pointer = self.stack_pointer(state, instruction, whole);
        for (register, value) in results {
            state.set_register(register, value);
        }
        if let Some(value) = low_byte {
            state.set_low_byte(instruction.op0_register(), value);
        }
        state.set_register(Register::RSP, stack_pointer);
        self.facts.stack_pointer_at(stack_pointer);
        let of_vectors = used.iter().any(|register| !register.is_gpr());
        for (address, bytes) in stores {
            let value = whole.unwrap_or(computed);
            self.facts.store(address, bytes, value.is_public());
            let value = if of_vectors { None } else { Some(value) };
            self.store(state, address, bytes, value);
        }
        let compared = if matches!(input, Value::Loaded(..)) { input } else { computed };
        state.set_flags(instruction.rflags_modified(), compared);
        next
    }

    /// Returns the value of instructions that move or add all 64 bits.
    fn whole(
        &mut self,
        state: &State<'i>,
        instruction: &Instruction,
        memory: &[UsedMemory],
    ) -> Option<Value<'i>> {
        let wide = |n: u32| match instruction.op_kind(n) {
            OpKind::Register => instruction.op_register(n).size() == 8,
            OpKind::Memory => instruction.memory_size().size() == 8,
            _ => true,
        };
        match instruction.mnemonic() {
            Mnemonic::Mov if wide(0) && wide(1) => {
                Some(self.operand(state, instruction, 1, memory))
            }
            Mnemonic::Push if wide(0) => Some(self.operand(state, instruction, 0, memory)),
            Mnemonic::Pop if wide(0) => {
                let top = state.register(Register::RSP);
                Some(match top {
                    Value::Stack(offset) => state.kept(offset, 8).unwrap_or(Value::Secret),
                    _ => Value::Secret,
                })
            }
            Mnemonic::Lea if wide(0) => {
                Some(self.address(state, Address::of_instruction(instruction)))
            }
            Mnemonic::Inc | Mnemonic::Dec if wide(0) => {
                let constant = if instruction.mnemonic() == Mnemonic::Inc { 1 } else { -1 };
                Some(self.operand(state, instruction, 0, memory).plus_constant(constant))
            }
            Mnemonic::Add | Mnemonic::Sub if wide(0) && is_immediate(instruction.op1_kind()) => {
                let constant = instruction.immediate(1) as i64;
                let signed = if instruction.mnemonic() == Mnemonic::Add {
                    constant
                } else {
                    constant.wrapping_neg()
                };
                Some(self.operand(state, instruction, 0, memory).plus_constant(signed))
            }
            Mnemonic::Mov
                if instruction.op0_kind() == OpKind::Register
                    && is_immediate(instruction.op1_kind()) =>
            {
                // 32 bits, with zeros above.
                Some(Value::Is(i64::from(instruction.immediate(1) as u32)))
            }
            Mnemonic::Shl if wide(0) && is_immediate(instruction.op1_kind()) => {
                let factor = 1i64.checked_shl(instruction.immediate(1) as u32)?;
                Some(self.operand(state, instruction, 0, memory).times(factor))
            }
            Mnemonic::Shr | Mnemonic::And if wide(0) && is_immediate(instruction.op1_kind()) => {
                let positive =
                    instruction.mnemonic() == Mnemonic::Shr || instruction.immediate(1) as i64 >= 0;
                let value = self.operand(state, instruction, 0, memory);
                Some(if positive { value.computed_half() } else { value.computed() })
            }
            Mnemonic::Add if wide(0) && wide(1) => {
                let a = self.operand(state, instruction, 0, memory);
                let b = self.operand(state, instruction, 1, memory);
                Some(a.plus(b))
            }
            _ => None,
        }
    }

    /// Returns the stack pointer after an instruction. `whole` is the result of the instruction, if
    /// known.
    fn stack_pointer(
        &mut self,
        state: &State<'i>,
        instruction: &Instruction,
        whole: Option<Value<'i>>,
    ) -> Value<'i> {
        /// The beginning of an aligned frame: further down than any other.
        const ALIGNED: i64 = -(1 << 40);
        let now = state.register(Register::RSP);
        let is_destination = instruction.op0_kind() == OpKind::Register
            && instruction.op0_register() == Register::RSP;
        match instruction.mnemonic() {
            Mnemonic::Cmp | Mnemonic::Test => now,
            _ if instruction.stack_pointer_increment() != 0 => {
                now.plus_constant(i64::from(instruction.stack_pointer_increment()))
            }
            Mnemonic::And if is_destination => Value::Stack(ALIGNED),
            _ if is_destination => whole.unwrap_or_else(|| {
                self.finding(
                    "the stack pointer is computed in a way that this check does not follow",
                );
                Value::Public
            }),
            _ => now,
        }
    }

    /// Checks instructions whose time depends on their operands.
    fn slow(&mut self, state: &State<'i>, instruction: &Instruction, memory: &[UsedMemory]) {
        let mnemonic = instruction.mnemonic();
        if let Some(why) = forbidden(instruction) {
            self.finding(why);
        }
        match mnemonic {
            Mnemonic::Pdep | Mnemonic::Pext => {
                let mask = self.operand(state, instruction, 2, memory);
                if !mask.is_public() {
                    self.finding("gathers or scatters bits by a mask that is not public");
                }
            }
            _ if instruction.has_rep_prefix() || instruction.has_repne_prefix() => {
                let counted = instruction.is_string_instruction();
                if counted && !state.register(Register::RCX).is_public() {
                    self.finding("repeated so many times as is not public");
                }
            }
            _ => {}
        }
    }

    fn call(
        &mut self,
        state: &mut State<'i>,
        instruction: &Instruction,
        memory: &[UsedMemory],
    ) -> Next {
        // The stored word is the return address.
        let target = self.operand(state, instruction, 0, memory);
        let Value::Code(name) = target else {
            self.finding("calls what a register or memory says");
            state.clobber(Value::Secret);
            return Next::Through;
        };
        let returns = !diverges(name);
        self.facts.calls.insert(instruction.ip(), (name.to_owned(), returns));
        if !returns {
            return Next::Ends;
        }
        use Register::{RDI, RDX, RSI};
        if OF_MEMORY.contains(&name) {
            if let (Value::Stack(to), Value::Is(length)) =
                (state.register(RDI), state.register(RDX))
            {
                self.facts.array(to, length);
            }
            let arguments = if name == "memset" { &[RDI, RDX][..] } else { &[RDI, RSI, RDX][..] };
            for &argument in arguments {
                let value = state.register(argument);
                self.facts.escape(value);
                let is_address = argument != RDX;
                if is_address {
                    self.facts.reaches_through(value);
                }
                if !(value.is_public() || is_address && value.is_address()) {
                    self.finding(format!("{name} of what is not public"));
                }
            }
            state.clobber(Value::Public);
        } else {
            use Register::{R8, R9, RCX};
            for argument in [RDI, RSI, RDX, RCX, R8, R9] {
                self.facts.escape(state.register(argument));
            }
            self.finding(format!("calls {name}"));
            state.clobber(Value::Secret);
        }
        Next::Through
    }

    fn jump(
        &mut self,
        state: &mut State<'i>,
        instruction: &Instruction,
        memory: &[UsedMemory],
    ) -> Next {
        if instruction.op0_kind() == OpKind::NearBranch64 {
            let to = instruction.near_branch64();
            if (self.start..self.end).contains(&to) {
                return Next::Jump { to, or_through: false };
            }
        } else if !matches!(self.operand(state, instruction, 0, memory), Value::Code(_)) {
            self.finding("jumps to where a register or memory says");
            return Next::Ends;
        }
        // A tail call.
        let _ = self.call(state, instruction, memory);
        Next::Ends
    }
}

/// Returns the lowest byte of the result, for instructions that compute it from the lowest bytes of
/// registers only. Compilers keep flags there, beside earlier contents of the register.
fn low_byte<'i>(
    state: &State<'i>,
    instruction: &Instruction,
    used: &[Register],
) -> Option<Value<'i>> {
    use Mnemonic::{Add, And, Dec, Imul, Inc, Mov, Neg, Not, Or, Sub, Xor};
    let to = instruction.op0_register();
    let follows = matches!(
        instruction.mnemonic(),
        Add | And | Dec | Imul | Inc | Mov | Neg | Not | Or | Sub | Xor
    );
    let in_registers =
        (0..instruction.op_count()).all(|n| instruction.op_kind(n) != OpKind::Memory);
    if !follows || !in_registers || instruction.op0_kind() != OpKind::Register || to.size() < 4 {
        return None;
    }
    if is_constant(instruction) {
        return Some(Value::Is(0));
    }
    let bytes = used.iter().map(|&register| state.low_byte(register));
    Some(bytes.reduce(Value::or).unwrap_or(Value::Number(None)))
}
