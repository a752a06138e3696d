//! Tables of algorithms, one for each operation.

use core::ffi::{CStr, c_char};
use std::ffi::CString;

use openssl_abi::{Algorithm, Dispatch};

/// A table of algorithms, with the strings that it points to.
#[derive(Default)]
pub(crate) struct Table {
    algorithms: Vec<Algorithm>,
    strings: Vec<CString>,
}

impl Table {
    /// Adds an algorithm of a group.
    pub(crate) fn add(
        &mut self,
        group: &kex::TlsGroup,
        properties: &CStr,
        implementation: &'static [Dispatch],
    ) {
        let mut names = group.algorithm_names.to_owned();
        if let Some(identifier) = group.identifier {
            names.push(':');
            names.push_str(&identifier.dotted());
        }
        let names = self.keep(names);
        let properties = self.keep(properties.to_string_lossy().into_owned());
        let description = self.keep(group.description.to_owned());
        let implementation = implementation.as_ptr();
        self.algorithms.push(Algorithm { names, properties, implementation, description });
    }

    /// Adds an algorithm that the default provider has as well, with its names there.
    pub(crate) fn add_named(
        &mut self,
        names: &'static CStr,
        properties: &'static CStr,
        implementation: &'static [Dispatch],
        description: String,
    ) {
        let description = self.keep(description);
        self.algorithms.push(Algorithm {
            names: names.as_ptr(),
            properties: properties.as_ptr(),
            implementation: implementation.as_ptr(),
            description,
        });
    }

    fn keep(&mut self, text: String) -> *const c_char {
        let text = CString::new(text).unwrap_or_default();
        let pointer = text.as_ptr();
        // The bytes of a `CString` stay in place when it is moved.
        self.strings.push(text);
        pointer
    }

    /// Ends the table, as libcrypto expects it.
    fn close(&mut self) {
        self.algorithms.push(Algorithm::END);
    }

    /// The table as libcrypto reads it.
    pub(crate) fn as_ptr(&self) -> *const Algorithm {
        self.algorithms.as_ptr()
    }
}

/// The tables of all operations.
#[derive(Default)]
pub(crate) struct Tables {
    pub(crate) key_management: Table,
    pub(crate) key_encapsulation: Table,
    pub(crate) encoders: Table,
    pub(crate) decoders: Table,
    pub(crate) key_exchange: Table,
    pub(crate) signature: Table,
}

impl Tables {
    /// Ends all tables.
    pub(crate) fn close(&mut self) {
        self.key_management.close();
        self.key_encapsulation.close();
        self.encoders.close();
        self.decoders.close();
        self.key_exchange.close();
        self.signature.close();
    }
}
