//! Failed OpenSSL calls, with the messages in OpenSSL's error queue.

use std::ffi::c_ulong;
use std::{fmt, ptr};

use crate::absent;
use crate::c_string::text;
use crate::symbols::Symbols;

/// A failed OpenSSL call: the operation, and the thread's error queue right after it, oldest entry
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The operation, as the end of "cannot ...".
    pub operation: String,
    /// OpenSSL's error queue; empty for failures that OpenSSL does not explain.
    pub queue: Vec<QueueEntry>,
}

impl Failure {
    /// Drains the thread's error queue; to be called right after the failing call.
    pub(crate) fn drain(symbols: &Symbols, operation: impl Into<String>) -> Self {
        let mut queue = Vec::from_iter(absent::take().map(|function| QueueEntry {
            code: 0,
            library: None,
            reason: Some(format!("this OpenSSL has no function {function}")),
            function: Some(function.into()),
            data: None,
        }));
        while let Some(entry) = QueueEntry::pop(symbols) {
            queue.push(entry);
        }
        Self { operation: operation.into(), queue }
    }

    /// True if an entry of the queue has this reason text.
    pub fn has_reason(&self, reason: &str) -> bool {
        self.queue.iter().any(|entry| entry.reason.as_deref() == Some(reason))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.operation)?;
        if self.queue.is_empty() {
            return f.write_str(" (OpenSSL gives no reason)");
        }
        for (index, entry) in self.queue.iter().enumerate() {
            write!(f, "{}{entry}", if index == 0 { ": " } else { "; " })?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

/// One entry of OpenSSL's error queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueEntry {
    /// OpenSSL's packed number, which contains library and reason.
    pub code: u64,
    /// The library or provider that raised the error, such as "SSL routines".
    pub library: Option<String>,
    /// The reason, such as "wrong version number".
    pub reason: Option<String>,
    /// The C function that raised the error.
    pub function: Option<String>,
    /// Details of the error, such as a file name.
    pub data: Option<String>,
}

impl QueueEntry {
    fn pop(symbols: &Symbols) -> Option<Self> {
        let (mut function, mut data) = (ptr::null(), ptr::null());
        // SAFETY: the out pointers are valid; null is allowed for unused ones.
        let code = unsafe {
            (symbols.ERR_get_error_all)(
                ptr::null_mut(),
                ptr::null_mut(),
                &mut function,
                &mut data,
                ptr::null_mut(),
            )
        };
        if code == 0 {
            return None;
        }
        Some(Self {
            code: widen(code),
            // SAFETY: looks up a number; the result is null or a string that lasts as long as the
            // library or provider.
            library: unsafe { text((symbols.ERR_lib_error_string)(code)) },
            // SAFETY: as above.
            reason: unsafe { text((symbols.ERR_reason_error_string)(code)) },
            // SAFETY: both strings belong to the popped entry, which lasts until the next error is
            // raised.
            function: unsafe { text(function) },
            // SAFETY: as above.
            data: unsafe { text(data) },
        })
    }
}

impl fmt::Display for QueueEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reason {
            Some(reason) => f.write_str(reason)?,
            None => write!(f, "error {:08X}", self.code)?,
        }
        if let Some(library) = &self.library {
            write!(f, " ({library})")?;
        }
        if let Some(data) = &self.data {
            write!(f, ": {data}")?;
        }
        Ok(())
    }
}

/// Converts to 64 bits: `unsigned long` has only 32 bits on some platforms.
#[allow(clippy::useless_conversion)]
fn widen(code: c_ulong) -> u64 {
    code.into()
}
