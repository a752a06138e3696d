//! Control commands, of programs and of `openssl.cnf`.

use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::ptr;

use kex::Backend;
use keypool::{Batch, MAX_BATCH};
use openssl_abi::guard;

use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::state::State;
use crate::types::{COMMAND_BASE, COMMAND_STRING, Command, Engine};

const BATCH: c_uint = COMMAND_BASE;
const BATCH_SIZE: c_uint = COMMAND_BASE + 1;
const BACKEND: c_uint = COMMAND_BASE + 2;

const fn command(number: c_uint, name: &'static CStr, description: &'static CStr) -> Command {
    let (name, description) = (name.as_ptr(), description.as_ptr());
    Command { number, name, description, flags: COMMAND_STRING }
}

/// What libcrypto is told.
pub(crate) static TABLE: [Command; 4] = [
    command(
        BATCH,
        c"BATCH",
        c"on: keys are made in batches (batch_lib, the default); off: one by one (serial_lib)",
    ),
    command(
        BATCH_SIZE,
        c"BATCH_SIZE",
        c"how many keys at once: auto (the default) or a number from 1 to 1024",
    ),
    command(
        BACKEND,
        c"BACKEND",
        c"the instruction set: portable, avx2 or avx512; by default the best of the machine",
    ),
    Command { number: 0, name: ptr::null(), description: ptr::null(), flags: 0 },
];

/// Runs a command. They are for the process, not for an ENGINE of it.
pub(crate) unsafe extern "C" fn control(
    _: *mut Engine,
    number: c_int,
    _: c_long,
    argument: *mut c_void,
    _: Option<unsafe extern "C" fn()>,
) -> c_int {
    guard(0, || {
        let Some(libcrypto) = Libcrypto::get() else { return 0 };
        let value = if argument.is_null() {
            String::new()
        } else {
            // SAFETY: libcrypto gives a string to commands that the table says take one.
            unsafe { CStr::from_ptr(argument.cast()) }.to_string_lossy().into_owned()
        };
        match c_uint::try_from(number).map_or(Err(String::new()), |number| run(number, &value)) {
            Ok(()) => 1,
            Err(message) => {
                libcrypto.raise(reason::COMMAND, &message);
                0
            }
        }
    })
}

fn run(number: c_uint, value: &str) -> Result<(), String> {
    match number {
        BATCH => {
            let enabled = match value {
                "on" => true,
                "off" => false,
                _ => return Err(format!("BATCH = {value}: expected on or off")),
            };
            State::choose(|choice| choice.settings.enabled = enabled);
        }
        BATCH_SIZE => {
            let size = value.parse().ok().filter(|size| (1..=MAX_BATCH).contains(size));
            let batch = match (value, size) {
                ("auto", _) => Batch::Growing,
                (_, Some(size)) => Batch::Fixed(size),
                _ => {
                    let range = format!("expected auto or a number from 1 to {MAX_BATCH}");
                    return Err(format!("BATCH_SIZE = {value}: {range}"));
                }
            };
            State::choose(|choice| choice.settings.batch = batch);
        }
        BACKEND => {
            let backend =
                Backend::named(value).map_err(|error| format!("BACKEND = {value}: {error}"))?;
            State::choose(|choice| choice.backend = backend);
        }
        _ => return Err(format!("unknown control command {number}")),
    }
    Ok(())
}
