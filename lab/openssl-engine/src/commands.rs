//! Control commands of the ENGINE, for programs and for `openssl.cnf`.

use core::ffi::{CStr, c_int, c_long, c_uint, c_void};
use core::ptr;

use curve25519::Choice;
use kex::Backend;
use keypool::{Batch, MAX_BATCH};
use openssl_abi::guard;

use crate::curves::{Curve, Ed25519, X25519};
use crate::key_type::KeyType;
use crate::libcrypto::Libcrypto;
use crate::reason;
use crate::state::State;
use crate::tables;
use crate::types::{COMMAND_BASE, COMMAND_STRING, Command, Engine};

const BATCH: c_uint = COMMAND_BASE;
const BATCH_SIZE: c_uint = COMMAND_BASE + 1;
const BACKEND: c_uint = COMMAND_BASE + 2;
const X25519_IN: c_uint = COMMAND_BASE + 3;
const ED25519_IN: c_uint = COMMAND_BASE + 4;

const fn command(number: c_uint, name: &'static CStr, description: &'static CStr) -> Command {
    let (name, description) = (name.as_ptr(), description.as_ptr());
    Command { number, name, description, flags: COMMAND_STRING }
}

/// The commands as libcrypto lists them.
pub(crate) static TABLE: [Command; 6] = [
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
    command(
        X25519_IN,
        c"X25519",
        c"in the place of libcrypto's: on, off, or auto (the default): where it is faster; before default_algorithms",
    ),
    command(
        ED25519_IN,
        c"ED25519",
        c"in the place of libcrypto's: on, off, or auto (the default): where it is faster; before default_algorithms",
    ),
    Command { number: 0, name: ptr::null(), description: ptr::null(), flags: 0 },
];

/// Runs a command. It applies to the whole process, not to one ENGINE.
pub(crate) unsafe extern "C" fn control(
    engine: *mut Engine,
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
            // SAFETY: libcrypto passes a string to commands that take one according to the table.
            unsafe { CStr::from_ptr(argument.cast()) }.to_string_lossy().into_owned()
        };
        // SAFETY: libcrypto passes an ENGINE of ours.
        let run = |number| unsafe { run(libcrypto, engine, number, &value) };
        match c_uint::try_from(number).map_or(Err(String::new()), run) {
            // SAFETY: as above.
            Ok(()) => unsafe {
                tables::update_offered(engine);
                1
            },
            Err(message) => {
                libcrypto.raise(reason::COMMAND, &message);
                0
            }
        }
    })
}

/// # Safety
/// `engine` is one of ours.
unsafe fn run(
    libcrypto: &Libcrypto,
    engine: *mut Engine,
    number: c_uint,
    value: &str,
) -> Result<(), String> {
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
        X25519_IN => {
            // SAFETY: by the caller's promise.
            let wanted = unsafe { curve::<Curve<X25519>>(libcrypto, engine, value)? };
            State::choose(|choice| choice.x25519 = wanted);
        }
        ED25519_IN => {
            // SAFETY: by the caller's promise.
            let wanted = unsafe { curve::<Curve<Ed25519>>(libcrypto, engine, value)? };
            State::choose(|choice| choice.ed25519 = wanted);
        }
        _ => return Err(format!("unknown control command {number}")),
    }
    Ok(())
}

/// Parses the setting of an algorithm that libcrypto implements, too.
///
/// # Safety
/// `engine` is one of ours.
unsafe fn curve<T: KeyType>(
    libcrypto: &Libcrypto,
    engine: *mut Engine,
    value: &str,
) -> Result<Choice, String> {
    match value {
        "auto" => Ok(Choice::Auto),
        "on" => Ok(Choice::On),
        "off" => {
            // libcrypto does not query an algorithm again that it has taken from the ENGINE, and
            // would find no implementation.
            // SAFETY: releases the reference that it takes; null is allowed.
            let taken = unsafe {
                let of = (libcrypto.functions.engine_of_methods)(libcrypto.nid::<T>());
                (libcrypto.functions.engine_finish)(of);
                of == engine
            };
            if taken {
                return Err(format!("{} = off: expected before default_algorithms", T::NAME));
            }
            Ok(Choice::Off)
        }
        _ => Err(format!("{} = {value}: expected auto, on or off", T::NAME)),
    }
}
