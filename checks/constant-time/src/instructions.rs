//! Instructions whose time depends on their operands.

use iced_x86::{Instruction, Mnemonic, OpKind};

/// Returns true for an integer division.
pub(crate) fn divides(instruction: &Instruction) -> bool {
    matches!(instruction.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
}

/// Returns the reason if an instruction must not be in code with secrets, for any operands.
pub(crate) fn forbidden(instruction: &Instruction) -> Option<&'static str> {
    let mnemonic = instruction.mnemonic();
    let name = format!("{mnemonic:?}").to_ascii_lowercase();
    let in_memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    if !divides(instruction) && (name.contains("div") || name.contains("sqrt")) {
        return Some("divides or takes a root: slower for some numbers");
    }
    if instruction.is_vsib() {
        return Some("addresses from a vector");
    }
    if in_memory && (name.contains("compress") || name.contains("expand")) {
        return Some("touches memory as far as a mask says");
    }
    None
}

/// Returns true if an operand is a constant of the code.
pub(crate) fn is_immediate(kind: OpKind) -> bool {
    use OpKind::{
        Immediate8, Immediate8to32, Immediate8to64, Immediate32, Immediate32to64, Immediate64,
    };
    matches!(
        kind,
        Immediate8 | Immediate8to32 | Immediate8to64 | Immediate32 | Immediate32to64 | Immediate64
    )
}
