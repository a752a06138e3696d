//! OSSL_PARAM arrays: values passed to OpenSSL and read from it.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::{ptr, slice};

use crate::c_string::text;
use crate::constants::*;
use crate::error::Error;
use crate::library::c_text;
use crate::types::OSSL_PARAM;

/// A named value for generating, importing or changing a key.
#[derive(Clone, Copy)]
pub enum Value<'a> {
    /// A text, such as the name of a group.
    Text(&'a str),
    /// Bytes, such as an encoded key.
    Octets(&'a [u8]),
    /// An unsigned number, such as a size in bits.
    Number(u64),
}

/// A value that a provider reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProviderValue {
    /// A text.
    Text(String),
    /// Bytes.
    Octets(Vec<u8>),
    /// A number.
    Number(i64),
}

/// An array to pass to OpenSSL, with the parts of its storage that the caller does not own.
pub(crate) struct InputParameters<'a> {
    array: Vec<OSSL_PARAM>,
    _names: Vec<CString>,
    _texts: Vec<CString>,
    _values: PhantomData<&'a [Value<'a>]>,
}

impl<'a> InputParameters<'a> {
    pub(crate) fn new(parameters: &'a [(&'a str, Value<'a>)]) -> Result<Self, Error> {
        let mut this = Self {
            array: Vec::with_capacity(parameters.len() + 1),
            _names: Vec::new(),
            _texts: Vec::new(),
            _values: PhantomData,
        };
        for (name, value) in parameters {
            let name = c_text("parameter name", name)?;
            let (data_type, data, data_size): (_, *const c_void, _) = match value {
                Value::Text(text) => {
                    let text = c_text("parameter", text)?;
                    let (data, size) = (text.as_ptr().cast(), text.as_bytes().len());
                    this._texts.push(text);
                    (OSSL_PARAM_UTF8_STRING, data, size)
                }
                Value::Octets(octets) => {
                    (OSSL_PARAM_OCTET_STRING, octets.as_ptr().cast(), octets.len())
                }
                Value::Number(number) => {
                    let data: *const u64 = number;
                    (OSSL_PARAM_UNSIGNED_INTEGER, data.cast(), size_of::<u64>())
                }
            };
            let data = data.cast_mut();
            this.array.push(OSSL_PARAM {
                key: name.as_ptr(),
                data_type,
                data,
                data_size,
                return_size: 0,
            });
            this._names.push(name);
        }
        this.array.push(end());
        Ok(this)
    }

    /// Returns the array. OpenSSL takes it as mutable in places, but does not write to input
    /// values.
    pub(crate) fn as_mut_ptr(&mut self) -> *mut OSSL_PARAM {
        self.array.as_mut_ptr()
    }
}

/// Returns the terminator of an array.
pub(crate) fn end() -> OSSL_PARAM {
    OSSL_PARAM {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    }
}

/// One parameter for the callee to fill in, with space for every type.
pub(crate) struct OutputParameter {
    number: i64,
    pointer: *const c_char,
    buffer: Vec<u8>,
}

impl OutputParameter {
    /// The space for texts and bytes; providers keep these short.
    const BUFFER_BYTES: usize = 4096;

    pub(crate) fn new() -> Self {
        Self { number: 0, pointer: ptr::null(), buffer: vec![0; Self::BUFFER_BYTES] }
    }

    /// Returns a request for `name` as a value of this type; `None` for an unsupported type.
    pub(crate) fn request(
        &mut self,
        name: &CStr,
        data_type: u32,
        number_bytes: usize,
    ) -> Option<[OSSL_PARAM; 2]> {
        let (data, data_size): (*mut c_void, usize) = match data_type {
            OSSL_PARAM_INTEGER | OSSL_PARAM_UNSIGNED_INTEGER => {
                let bytes = if number_bytes == 4 { 4 } else { size_of::<i64>() };
                ((&raw mut self.number).cast(), bytes)
            }
            OSSL_PARAM_UTF8_PTR => ((&raw mut self.pointer).cast(), 0),
            OSSL_PARAM_UTF8_STRING | OSSL_PARAM_OCTET_STRING => {
                (self.buffer.as_mut_ptr().cast(), self.buffer.len())
            }
            _ => return None,
        };
        let key = name.as_ptr();
        Some([
            OSSL_PARAM { key, data_type, data, data_size, return_size: OSSL_PARAM_UNMODIFIED },
            end(),
        ])
    }

    /// Returns the value that was filled in; `None` if there is none.
    ///
    /// # Safety
    ///
    /// `parameter` is the request made from this object, and a callee that follows OSSL_PARAM's
    /// rules has filled it.
    pub(crate) unsafe fn value(&self, parameter: &OSSL_PARAM) -> Option<ProviderValue> {
        if parameter.return_size == OSSL_PARAM_UNMODIFIED {
            return None;
        }
        match parameter.data_type {
            OSSL_PARAM_INTEGER | OSSL_PARAM_UNSIGNED_INTEGER => {
                // SAFETY: the request pointed to our own number and was told its size.
                unsafe { number(parameter) }.map(ProviderValue::Number)
            }
            // SAFETY: the callee set the pointer to a C string of its own.
            OSSL_PARAM_UTF8_PTR => unsafe { text(self.pointer) }.map(ProviderValue::Text),
            OSSL_PARAM_UTF8_STRING => {
                let bytes = self.buffer.get(..parameter.return_size)?;
                Some(ProviderValue::Text(until_nul(bytes)))
            }
            _ => Some(ProviderValue::Octets(self.buffer.get(..parameter.return_size)?.to_vec())),
        }
    }
}

/// Returns the elements of an array before its terminator.
///
/// # Safety
///
/// `array` is null or a terminated array that lives for `'a`.
pub(crate) unsafe fn elements<'a>(
    array: *const OSSL_PARAM,
) -> impl Iterator<Item = &'a OSSL_PARAM> {
    let mut next = array;
    std::iter::from_fn(move || {
        // SAFETY: null, or a pointer to an element: the first one, or the successor of an element
        // that was not the terminator.
        let element = unsafe { next.as_ref() }.filter(|element| !element.key.is_null())?;
        // SAFETY: the element is not the terminator, so another one follows.
        next = unsafe { next.add(1) };
        Some(element)
    })
}

/// Finds a parameter by name in an array.
///
/// # Safety
///
/// `array` is null or a terminated array, whose values live for `'a`.
pub(crate) unsafe fn find<'a>(array: *const OSSL_PARAM, name: &CStr) -> Option<&'a OSSL_PARAM> {
    // SAFETY: the caller vouches for the array, and the keys of its elements are C strings.
    unsafe { elements(array).find(|element| CStr::from_ptr(element.key) == name) }
}

/// Returns a text value. Some providers count the final NUL in the size, others do not.
///
/// # Safety
///
/// The parameter's type, pointer and size describe its data correctly.
pub(crate) unsafe fn utf8(parameter: &OSSL_PARAM) -> Option<String> {
    if parameter.data_type != OSSL_PARAM_UTF8_STRING || parameter.data.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for data and size.
    Some(until_nul(unsafe { slice::from_raw_parts(parameter.data.cast(), parameter.data_size) }))
}

fn until_nul(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Returns a number of 4 or 8 bytes; `None` for other sizes and types, and for values above the
/// range of `i64`.
///
/// # Safety
///
/// The parameter's type, pointer and size describe its data correctly.
pub(crate) unsafe fn number(parameter: &OSSL_PARAM) -> Option<i64> {
    if parameter.data.is_null() {
        return None;
    }
    let data = parameter.data;
    // SAFETY: the caller vouches for type and size; providers need not align their data.
    unsafe {
        match (parameter.data_type, parameter.data_size) {
            (OSSL_PARAM_INTEGER, 4) => Some(data.cast::<i32>().read_unaligned().into()),
            (OSSL_PARAM_INTEGER, 8) => Some(data.cast::<i64>().read_unaligned()),
            (OSSL_PARAM_UNSIGNED_INTEGER, 4) => Some(data.cast::<u32>().read_unaligned().into()),
            (OSSL_PARAM_UNSIGNED_INTEGER, 8) => data.cast::<u64>().read_unaligned().try_into().ok(),
            _ => None,
        }
    }
}
