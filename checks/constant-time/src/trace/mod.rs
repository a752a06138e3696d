//! Traces of a program between two marks: for each instruction, its address and the addresses that
//! it accesses.
//!
//! Two runs with different secrets must give the same trace. This is no proof for all secrets, but
//! it rests on no model: it is the processor's actual behaviour, AVX-512 included. For comparable
//! addresses, the program runs without address randomisation, and with arguments of equal length. A
//! trace holds
//!
//! - each instruction's address, and thus the direction of every jump and the count of every
//!   repeated instruction;
//! - the address of each access to memory, for reads and writes;
//! - the operands of each integer division, as its time depends on them.
//!
//! A trace does not hold the lanes that a mask register excludes from an access.
//!
//! Stopping a program is slow. It is stopped at the end of straight code. The addresses before it
//! are computed from the registers before and after the code. If an address cannot be computed, the
//! program is stopped there, too.

mod block;
mod recorder;
mod tracee;

pub use recorder::{Difference, Recorder, Trace};
pub use tracee::{Failure, mark, offer};
