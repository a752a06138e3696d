//! The abstract state between two instructions: general registers, flags, and the words that a
//! function keeps on the stack.

use std::collections::BTreeMap;

use iced_x86::Register;

use crate::value::Value;

/// The number of general registers, and the number of flag bits of the disassembler.
const REGISTERS: usize = 16;
const FLAGS: usize = 8;
/// The numbers of vector registers and of mask registers.
const VECTORS: usize = 32;
const MASKS: usize = 8;

/// A word kept on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kept<'a> {
    bytes: usize,
    value: Value<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State<'a> {
    registers: [Value<'a>; REGISTERS],
    /// The lowest byte of each register, which may be written alone.
    bytes: [Value<'a>; REGISTERS],
    vectors: [Value<'a>; VECTORS + MASKS],
    flags: [Value<'a>; FLAGS],
    kept: BTreeMap<i64, Kept<'a>>,
}

/// Returns the number of a general register of any width.
fn number(register: Register) -> Option<usize> {
    register.is_gpr().then(|| register.full_register().number())
}

/// Returns the number of a vector register of any width, or of a mask register.
fn vector_number(register: Register) -> Option<usize> {
    if register.is_vector_register() {
        Some(register.full_register().number())
    } else {
        register.is_k().then(|| VECTORS + register.number())
    }
}

fn is_low_byte(register: Register) -> bool {
    register.is_gpr8()
        && !matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}

impl<'a> State<'a> {
    /// Returns the state at entry, in which each register holds the word with its number.
    pub(crate) fn entry() -> Self {
        let mut registers = [Value::Public; REGISTERS];
        for (number, value) in registers.iter_mut().enumerate() {
            *value = Value::Pointer(number, Some(0));
        }
        if let Some(number) = number(Register::RSP) {
            registers[number] = Value::Stack(0);
        }
        State {
            registers,
            bytes: [Value::Public; REGISTERS],
            vectors: [Value::Secret; VECTORS + MASKS],
            flags: [Value::Secret; FLAGS],
            kept: BTreeMap::new(),
        }
    }

    /// Returns the abstract value of a register.
    pub(crate) fn register(&self, register: Register) -> Value<'a> {
        if register.is_ip() {
            return Value::Public;
        }
        match number(register) {
            Some(number) if is_low_byte(register) => self.bytes[number],
            Some(number) => self.registers[number],
            None => vector_number(register).map_or(Value::Secret, |number| self.vectors[number]),
        }
    }

    /// Writes a register. Parts of a general register with less than 32 bits leave the rest
    /// unchanged.
    pub(crate) fn set_register(&mut self, register: Register, value: Value<'a>) {
        if let Some(number) = vector_number(register) {
            self.vectors[number] = value.computed();
        }
        let Some(number) = number(register) else { return };
        if register.size() >= 4 {
            self.registers[number] = value;
            self.bytes[number] = value.computed();
            return;
        }
        self.registers[number] = self.registers[number].computed().or(value.computed());
        if is_low_byte(register) {
            self.bytes[number] = value.computed();
        } else if register.size() == 2 {
            self.bytes[number] = self.registers[number];
        }
    }

    /// Returns the lowest byte of a register.
    pub(crate) fn low_byte(&self, register: Register) -> Value<'a> {
        number(register).map_or(Value::Secret, |number| self.bytes[number])
    }

    /// Sets a more precise value for the lowest byte of a register.
    pub(crate) fn set_low_byte(&mut self, register: Register, value: Value<'a>) {
        if let Some(number) = number(register) {
            self.bytes[number] = value.computed();
        }
    }

    pub(crate) fn flags(&self, bits: u32) -> Value<'a> {
        let read = (0..FLAGS).filter(|flag| bits >> flag & 1 == 1).map(|flag| self.flags[flag]);
        read.reduce(Value::or).unwrap_or(Value::Number(None))
    }

    pub(crate) fn set_flags(&mut self, bits: u32, value: Value<'a>) {
        for flag in (0..FLAGS).filter(|flag| bits >> flag & 1 == 1) {
            self.flags[flag] = value;
        }
    }

    /// Returns the abstract value at an offset from the stack pointer at entry, if it is known.
    pub(crate) fn kept(&self, offset: i64, bytes: usize) -> Option<Value<'a>> {
        match self.kept.get(&offset)? {
            kept if kept.bytes == bytes => Some(kept.value),
            kept if kept.bytes > bytes => Some(kept.value.computed()),
            _ => Some(Value::Secret),
        }
    }

    /// Keeps a word. Without a value, only forgets the earlier word.
    pub(crate) fn keep(&mut self, offset: i64, bytes: usize, value: Option<Value<'a>>) {
        const MOST: i64 = 8;
        let end = offset + bytes as i64;
        let overlapping: Vec<_> = self
            .kept
            .range(offset - MOST..end)
            .filter(|(start, kept)| *start + kept.bytes as i64 > offset)
            .map(|(start, _)| *start)
            .collect();
        for start in overlapping {
            self.kept.remove(&start);
        }
        if let Some(value) = value {
            self.kept.insert(offset, Kept { bytes, value });
        }
    }

    /// Forgets the words for whose place and size `is_writable` returns true.
    pub(crate) fn forget(&mut self, is_writable: impl Fn(i64, usize) -> bool) {
        self.kept.retain(|&offset, kept| !is_writable(offset, kept.bytes));
    }

    /// Forgets the registers and flags that a callee may have changed.
    pub(crate) fn clobber(&mut self, result: Value<'a>) {
        use Register::{R8, R9, R10, R11, RAX, RCX, RDI, RDX, RSI};
        for register in [RCX, RDX, RSI, RDI, R8, R9, R10, R11] {
            self.set_register(register, Value::Unknown);
        }
        self.set_register(RAX, result);
        self.vectors = [Value::Secret; VECTORS + MASKS];
        self.flags = [Value::Secret; FLAGS];
    }

    /// Merges the state from another path to the same place. Passes the stack addresses that are no
    /// longer tracked to `escaped`.
    pub(crate) fn merge(&mut self, other: &State<'a>, escaped: &mut impl FnMut(Value<'a>)) {
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            let both = mine.or(*theirs);
            if both.place_on_stack().is_none() {
                escaped(*mine);
                escaped(*theirs);
            }
            *mine = both;
        }
        for (mine, theirs) in self.bytes.iter_mut().zip(&other.bytes) {
            *mine = mine.or(*theirs);
        }
        for (mine, theirs) in self.vectors.iter_mut().zip(&other.vectors) {
            *mine = mine.or(*theirs);
        }
        for (mine, theirs) in self.flags.iter_mut().zip(&other.flags) {
            *mine = mine.or(*theirs);
        }
        self.kept.retain(|offset, mine| match other.kept.get(offset) {
            Some(theirs) if theirs.bytes == mine.bytes => {
                mine.value = mine.value.or(theirs.value);
                true
            }
            _ => false,
        });
    }
}
