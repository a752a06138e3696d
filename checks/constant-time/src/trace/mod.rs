//! Traces of a program between two marks: for each instruction, its address and the addresses that
//! it accesses.
//!
//! Two runs with different secrets must give the same trace. That is no proof for all secrets, but
//! nothing in it is assumed: it is what the processor did, AVX-512 included. So that addresses can
//! be compared, the program runs without randomised ones, and with arguments of one length. A trace
//! holds
//!
//! - each instruction's address, and so every jump's direction and how often a repeated instruction
//!   repeats;
//! - the address of each access to memory, whether it reads or writes;
//! - the operands of each division of integers, whose time depends on them.
//!
//! Which lanes a mask register leaves out of an access is not in it.
//!
//! To stop a program is slow. It is stopped where code ends to be straight; the addresses in
//! between follow from the registers before and after, and where one does not, the program is
//! stopped there, too.

mod block;
mod recorder;
mod tracee;

pub use recorder::{Difference, Recorder, Trace};
pub use tracee::{Failure, mark, offer};
