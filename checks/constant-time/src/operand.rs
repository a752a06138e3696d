//! Properties of instructions and their operands.

use iced_x86::{Code, EncodingKind, Instruction, Mnemonic, OpAccess, OpKind, Register, UsedMemory};

/// Returns true if a function ends the program, or unwinds out of the caller.
pub(crate) fn diverges(name: &str) -> bool {
    const ENDINGS: [&str; 6] =
        ["panic", "_fail", "_failed", "_Unwind_Resume", "handle_alloc_error", "abort"];
    let last = name.rsplit("::").next().unwrap_or(name);
    name.starts_with("core::panicking::") || ENDINGS.iter().any(|ending| last.contains(ending))
}

pub(crate) fn reads(access: OpAccess) -> bool {
    use OpAccess::{CondRead, Read, ReadCondWrite, ReadWrite};
    matches!(access, Read | CondRead | ReadWrite | ReadCondWrite)
}

pub(crate) fn writes(access: OpAccess) -> bool {
    use OpAccess::{CondWrite, ReadCondWrite, ReadWrite, Write};
    matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
}

/// The terms of an address.
#[derive(Clone, Copy)]
pub(crate) struct Address {
    pub(crate) base: Register,
    pub(crate) index: Register,
    pub(crate) scale: u32,
    pub(crate) displacement: u64,
}

impl Address {
    pub(crate) fn of_memory(memory: &UsedMemory) -> Self {
        let (base, index) = (memory.base(), memory.index());
        Address { base, index, scale: memory.scale(), displacement: memory.displacement() }
    }

    pub(crate) fn of_instruction(instruction: &Instruction) -> Self {
        Address {
            base: instruction.memory_base(),
            index: instruction.memory_index(),
            scale: instruction.memory_index_scale(),
            displacement: instruction.memory_displacement64(),
        }
    }

    /// Returns true for a fixed place. The disassembler has added the instruction pointer.
    pub(crate) fn is_absolute(self) -> bool {
        (self.base == Register::None || self.base.is_ip()) && self.index == Register::None
    }
}

pub(crate) fn size(memory: &UsedMemory) -> usize {
    memory.memory_size().size().max(1)
}

/// Returns true if an instruction uses a register for an address only.
pub(crate) fn addresses_only(instruction: &Instruction, register: Register) -> bool {
    let implicit = matches!(
        instruction.mnemonic(),
        Mnemonic::Mul | Mnemonic::Imul | Mnemonic::Div | Mnemonic::Idiv | Mnemonic::Cmpxchg
    );
    let addresses = [instruction.memory_base(), instruction.memory_index()].contains(&register);
    let operand = (0..instruction.op_count()).any(|n| {
        instruction.op_kind(n) == OpKind::Register
            && instruction.op_register(n).full_register() == register.full_register()
    });
    let pushes = instruction.stack_pointer_increment() != 0 && register == Register::RSP;
    pushes || (addresses && !implicit && !operand)
}

/// Returns true if the result is the same for all operands: zero, or all ones.
pub(crate) fn is_constant(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let register = |n| match instruction.op_kind(n) {
        OpKind::Register => Some(instruction.op_register(n)),
        _ => None,
    };
    let same = |a, b| register(a).is_some() && register(a) == register(b);
    let unmasked = instruction.op_mask() == Register::None;
    match instruction.mnemonic() {
        Xor | Sub | Pxor | Xorps | Xorpd | Pcmpeqb | Pcmpeqw | Pcmpeqd | Pcmpeqq => same(0, 1),
        Vpxor | Vpxord | Vpxorq | Vxorps | Vxorpd | Vpcmpeqb | Vpcmpeqw | Vpcmpeqd | Vpcmpeqq
        | Kxorb | Kxorw | Kxord | Kxorq | Kxnorb | Kxnorw | Kxnord | Kxnorq => {
            unmasked && same(1, 2)
        }
        Vpternlogd | Vpternlogq => unmasked && matches!(instruction.immediate8(), 0 | 0xff),
        _ => false,
    }
}

/// Returns true for an AVX-512 instruction: encoded with its prefix, or with a mask register.
pub(crate) fn is_avx512(instruction: &Instruction) -> bool {
    instruction.code() != Code::INVALID
        && (instruction.code().encoding() == EncodingKind::EVEX
            || (0..instruction.op_count()).any(|n| {
                instruction.op_kind(n) == OpKind::Register && instruction.op_register(n).is_k()
            }))
}
