//! Parameters: named values in arrays of `OSSL_PARAM`.

use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::marker::PhantomData;
use core::{fmt, ptr, slice};

/// `OSSL_PARAM`: a named value to read or to fill in. An array ends with [`Param::END`].
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: *mut c_void,
    data_size: usize,
    return_size: usize,
}

// SAFETY: the constructors take references that outlive the arrays they are put into; a parameter
// is written through only by the callee that it was passed to.
unsafe impl Send for Param {}
// SAFETY: as above.
unsafe impl Sync for Param {}

/// `OSSL_PARAM_*`: types of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ParamType {
    /// A signed integer.
    Integer = 1,
    /// An unsigned integer.
    Unsigned = 2,
    /// A string.
    Utf8 = 4,
    /// Bytes.
    Octets = 5,
    /// A pointer to a string.
    Utf8Pointer = 6,
}

/// `OSSL_PARAM_UNMODIFIED`: the returned size of a parameter that was not filled in.
const UNMODIFIED: usize = usize::MAX;

impl Param {
    /// The end of an array.
    pub const END: Param = Param {
        key: ptr::null(),
        data_type: 0,
        data: ptr::null_mut(),
        data_size: 0,
        return_size: 0,
    };

    const fn new(key: &'static CStr, kind: ParamType, data: *mut c_void, size: usize) -> Param {
        Param {
            key: key.as_ptr(),
            data_type: kind as c_uint,
            data,
            data_size: size,
            return_size: UNMODIFIED,
        }
    }

    /// An entry of a table that lists the supported parameters.
    pub const fn descriptor(key: &'static CStr, kind: ParamType) -> Param {
        Param { return_size: 0, ..Self::new(key, kind, ptr::null_mut(), 0) }
    }

    /// A signed integer, which must outlive the parameter.
    pub const fn integer(key: &'static CStr, value: &c_int) -> Param {
        Self::new(key, ParamType::Integer, ptr::from_ref(value) as *mut c_void, size_of::<c_int>())
    }

    /// An unsigned integer, which must outlive the parameter.
    pub const fn unsigned(key: &'static CStr, value: &c_uint) -> Param {
        let data = ptr::from_ref(value) as *mut c_void;
        Self::new(key, ParamType::Unsigned, data, size_of::<c_uint>())
    }

    /// A string, which must outlive the parameter.
    pub const fn utf8(key: &'static CStr, value: &CStr) -> Param {
        Self::new(key, ParamType::Utf8, value.as_ptr() as *mut c_void, value.count_bytes())
    }

    /// Bytes, which must outlive the parameter.
    pub const fn octets(key: &'static CStr, value: &[u8]) -> Param {
        Self::new(key, ParamType::Octets, value.as_ptr() as *mut c_void, value.len())
    }

    /// Bytes at an address, which must be valid while the parameter is used, and which the receiver
    /// may overwrite.
    pub const fn octets_at(key: &'static CStr, data: *mut u8, size: usize) -> Param {
        Self::new(key, ParamType::Octets, data.cast(), size)
    }

    /// A place for a pointer to a string, which must outlive the parameter.
    pub(crate) const fn utf8_pointer(key: *const c_char, place: *mut *const c_char) -> Param {
        Param {
            key,
            data_type: ParamType::Utf8Pointer as c_uint,
            data: place.cast(),
            data_size: 0,
            return_size: UNMODIFIED,
        }
    }
}

/// A parameter has another type than expected, or a size without a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongType {
    /// The expected type.
    pub expected: ParamType,
}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.expected {
            ParamType::Integer => "not a signed integer",
            ParamType::Unsigned => "not an unsigned integer",
            ParamType::Utf8 => "not a string",
            ParamType::Octets => "not bytes",
            ParamType::Utf8Pointer => "not a pointer to a string",
        })
    }
}

/// Reasons why a parameter could not be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueError {
    /// The buffer is too small.
    TooSmall {
        /// Needed size in bytes.
        needed: usize,
        /// Size of the buffer in bytes.
        there: usize,
    },
    /// The requester expects another type.
    WrongType,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::TooSmall { needed, there } => {
                write!(f, "a buffer of {there} bytes: expected {needed}")
            }
            ValueError::WrongType => f.write_str("a value of another type"),
        }
    }
}

/// An array of parameters.
#[derive(Clone, Copy, Debug)]
pub struct Params<'a> {
    first: *mut Param,
    lifetime: PhantomData<&'a Param>,
}

impl<'a> Params<'a> {
    /// The parameters at `first`; null means none.
    ///
    /// # Safety
    /// For `'a`, `first` is null or an array that ends with [`Param::END`], whose keys are strings
    /// and whose data have the types and sizes stated.
    pub unsafe fn new(first: *const Param) -> Self {
        Params { first: first.cast_mut(), lifetime: PhantomData }
    }

    /// Iterates over the parameters.
    pub fn iter(self) -> ParamIter<'a> {
        ParamIter { next: self.first, lifetime: PhantomData }
    }

    /// The string called `key`, without its terminator; `None` if there is no such parameter. A
    /// null pointer of size 0 is an empty string.
    ///
    /// # Errors
    /// The parameter is not a string. Do not ignore this: the caller has set the parameter.
    pub fn utf8(self, key: &CStr) -> Result<Option<&'a [u8]>, WrongType> {
        let Some(text) = self.value(key, ParamType::Utf8)? else { return Ok(None) };
        let end = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
        Ok(Some(&text[..end]))
    }

    /// The bytes called `key`; `None` if there is no such parameter. A null pointer of size 0 is no
    /// bytes.
    ///
    /// # Errors
    /// As [`Params::utf8`].
    pub fn octets(self, key: &CStr) -> Result<Option<&'a [u8]>, WrongType> {
        self.value(key, ParamType::Octets)
    }

    fn value(self, key: &CStr, expected: ParamType) -> Result<Option<&'a [u8]>, WrongType> {
        self.iter().find(|param| param.key() == key).map(|param| param.value(expected)).transpose()
    }
}

/// Iterates over an array of parameters.
#[derive(Debug)]
pub struct ParamIter<'a> {
    next: *mut Param,
    lifetime: PhantomData<&'a Param>,
}

/// A parameter in the caller's array.
#[derive(Debug)]
pub struct ParamRef<'a> {
    param: *mut Param,
    lifetime: PhantomData<&'a Param>,
}

impl<'a> Iterator for ParamIter<'a> {
    type Item = ParamRef<'a>;

    fn next(&mut self) -> Option<ParamRef<'a>> {
        let param = self.next;
        // SAFETY: not null, so a parameter of a valid array, by the promise of `Params::new`.
        if param.is_null() || unsafe { (*param).key.is_null() } {
            return None;
        }
        // SAFETY: this was not the end, so there is another.
        self.next = unsafe { param.add(1) };
        Some(ParamRef { param, lifetime: PhantomData })
    }
}

impl<'a> ParamRef<'a> {
    fn read(&self) -> Param {
        // SAFETY: valid by the promise of `Params::new`.
        unsafe { *self.param }
    }

    /// The name.
    pub fn key(&self) -> &'a CStr {
        // SAFETY: the key is not null, and a string by the promise of `Params::new`.
        unsafe { CStr::from_ptr(self.read().key) }
    }

    /// The bytes of the value.
    fn value(&self, expected: ParamType) -> Result<&'a [u8], WrongType> {
        let Param { data_type, data, data_size, .. } = self.read();
        // The type is checked first: the size has another meaning with other types.
        if data_type != expected as c_uint {
            return Err(WrongType { expected });
        }
        if data.is_null() && data_size == 0 {
            return Ok(&[]);
        }
        if data.is_null() || isize::try_from(data_size).is_err() {
            return Err(WrongType { expected });
        }
        // SAFETY: strings and bytes are `data_size` bytes at `data` by the promise of
        // `Params::new`, and live for 'a.
        Ok(unsafe { slice::from_raw_parts(data.cast::<u8>().cast_const(), data_size) })
    }

    fn set_return_size(&mut self, size: usize) {
        // SAFETY: the requester of parameters hands them out for writing.
        unsafe { (*self.param).return_size = size };
    }

    /// Fills in bytes, or only their number if the requester gives no buffer.
    ///
    /// # Errors
    /// The buffer is too small, or the requester expects another type.
    pub fn set_octets(&mut self, value: &[u8]) -> Result<(), ValueError> {
        let Param { data_type, data, data_size, .. } = self.read();
        if data_type != ParamType::Octets as c_uint {
            return Err(ValueError::WrongType);
        }
        self.set_return_size(value.len());
        if data.is_null() {
            return Ok(());
        }
        if data_size < value.len() {
            return Err(ValueError::TooSmall { needed: value.len(), there: data_size });
        }
        // SAFETY: `data` has at least `value.len()` bytes, which the requester hands out for
        // writing.
        unsafe { ptr::copy_nonoverlapping(value.as_ptr(), data.cast(), value.len()) };
        Ok(())
    }

    /// Fills in a non-negative integer.
    ///
    /// # Errors
    /// The buffer is not 4 or 8 bytes long, or the requester expects another type.
    pub fn set_integer(&mut self, value: u32) -> Result<(), ValueError> {
        let Param { data_type, data, data_size, .. } = self.read();
        if data_type != ParamType::Integer as c_uint && data_type != ParamType::Unsigned as c_uint {
            return Err(ValueError::WrongType);
        }
        if data.is_null() {
            self.set_return_size(size_of::<c_int>());
            return Ok(());
        }
        match data_size {
            // SAFETY: `data` has this size and is handed out for writing; integers may lie
            // unaligned.
            4 => unsafe { data.cast::<u32>().write_unaligned(value) },
            // SAFETY: as above.
            8 => unsafe { data.cast::<u64>().write_unaligned(value.into()) },
            there => return Err(ValueError::TooSmall { needed: size_of::<c_int>(), there }),
        }
        self.set_return_size(data_size);
        Ok(())
    }

    /// Fills in a string, with its terminator if there is room, or only its length if the requester
    /// gives no buffer.
    ///
    /// # Errors
    /// The buffer is too small, or the requester expects another type.
    pub fn set_utf8(&mut self, value: &CStr) -> Result<(), ValueError> {
        let Param { data_type, data, data_size, .. } = self.read();
        if data_type != ParamType::Utf8 as c_uint {
            return Err(ValueError::WrongType);
        }
        let length = value.count_bytes();
        self.set_return_size(length);
        if data.is_null() {
            return Ok(());
        }
        if data_size < length {
            return Err(ValueError::TooSmall { needed: length, there: data_size });
        }
        let bytes = value.to_bytes_with_nul();
        // SAFETY: `data` has `data_size` bytes, which the requester hands out for writing.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast(), data_size.min(bytes.len()))
        };
        Ok(())
    }

    /// Fills in a pointer to a string.
    ///
    /// # Errors
    /// The requester expects another type.
    pub fn set_utf8_pointer(&mut self, value: &'static CStr) -> Result<(), ValueError> {
        let Param { data_type, data, .. } = self.read();
        if data_type != ParamType::Utf8Pointer as c_uint {
            return Err(ValueError::WrongType);
        }
        self.set_return_size(value.count_bytes());
        if !data.is_null() {
            // SAFETY: for this type `data` is a place for a pointer, handed out for writing.
            unsafe { data.cast::<*const c_char>().write(value.as_ptr()) };
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_by_type_and_size() {
        let minus = -5;
        let absurd = ptr::without_provenance_mut(8);
        let array = [
            Param::integer(c"a", &minus),
            Param::utf8(c"c", c"text"),
            Param::octets(c"d", &[1, 2, 3]),
            Param::descriptor(c"e", ParamType::Octets),
            Param { data_size: 7, ..Param::descriptor(c"f", ParamType::Octets) },
            // With a pointer type the size is not that of the data at the address.
            Param { data: absurd, data_size: 1 << 40, ..Param::utf8(c"g", c"") },
            Param { data: absurd, data_size: usize::MAX, ..Param::octets(c"h", &[]) },
            Param { data_size: 2, ..Param::utf8(c"i", c"text") },
            Param::END,
        ];
        let mut array = array;
        array[5].data_type = ParamType::Utf8Pointer as c_uint;
        // SAFETY: the array is well-formed.
        let params = unsafe { Params::new(array.as_ptr()) };
        let (no_text, no_bytes) = (
            Err(WrongType { expected: ParamType::Utf8 }),
            Err(WrongType { expected: ParamType::Octets }),
        );
        assert_eq!((params.utf8(c"a"), params.octets(c"a")), (no_text, no_bytes));
        assert_eq!((params.utf8(c"c"), params.octets(c"c")), (Ok(Some(&b"text"[..])), no_bytes));
        assert_eq!((params.utf8(c"d"), params.octets(c"d")), (no_text, Ok(Some(&[1, 2, 3][..]))));
        assert_eq!((params.utf8(c"e"), params.octets(c"e")), (no_text, Ok(Some(&[][..]))));
        assert_eq!((params.utf8(c"f"), params.octets(c"f")), (no_text, no_bytes));
        assert_eq!((params.utf8(c"g"), params.octets(c"g")), (no_text, no_bytes));
        assert_eq!((params.utf8(c"h"), params.octets(c"h")), (no_text, no_bytes));
        assert_eq!(params.utf8(c"i"), Ok(Some(&b"te"[..])));
        assert_eq!((params.utf8(c"z"), params.octets(c"z")), (Ok(None), Ok(None)));
        // SAFETY: null stands for no parameters.
        assert_eq!(unsafe { Params::new(ptr::null()) }.octets(c"a"), Ok(None));
    }

    #[test]
    fn values_are_filled_in_or_refused() {
        let mut buffer = [0u8; 4];
        let mut number = 0u64;
        let mut array = [
            Param { data: buffer.as_mut_ptr().cast(), data_size: 4, ..Param::octets(c"a", &[]) },
            Param {
                data: ptr::from_mut(&mut number).cast(),
                data_size: 8,
                ..Param::descriptor(c"b", ParamType::Unsigned)
            },
            Param::END,
        ];
        // SAFETY: the array is well-formed, and its data may be written.
        let mut iter = unsafe { Params::new(array.as_mut_ptr()) }.iter();
        let mut octets = iter.next().unwrap();
        assert_eq!(octets.set_octets(&[7; 5]), Err(ValueError::TooSmall { needed: 5, there: 4 }));
        assert_eq!(octets.set_octets(&[7; 3]), Ok(()));
        assert_eq!(octets.set_integer(1), Err(ValueError::WrongType));
        let mut unsigned = iter.next().unwrap();
        assert_eq!(unsigned.set_integer(9), Ok(()));
        assert_eq!(unsigned.set_utf8_pointer(c""), Err(ValueError::WrongType));
        assert_eq!(unsigned.set_utf8(c""), Err(ValueError::WrongType));
        assert_eq!((buffer, number, array[0].return_size), ([7, 7, 7, 0], 9, 3));
    }

    /// The terminator is written if there is room.
    #[test]
    fn strings_are_filled_in_or_refused() {
        let mut buffer = *b"xxxx";
        let mut array = [
            Param {
                data: buffer.as_mut_ptr().cast(),
                data_size: 3,
                ..Param::descriptor(c"a", ParamType::Utf8)
            },
            Param::END,
        ];
        // SAFETY: the array is well-formed, and its data may be written.
        let mut text = unsafe { Params::new(array.as_mut_ptr()) }.iter().next().unwrap();
        assert_eq!(text.set_utf8(c"abcd"), Err(ValueError::TooSmall { needed: 4, there: 3 }));
        assert_eq!(text.set_utf8(c"ab"), Ok(()));
        assert_eq!(text.set_utf8(c"cde"), Ok(()));
        assert_eq!(text.set_utf8(c""), Ok(()));
        assert_eq!((buffer, array[0].return_size), (*b"\0dex", 0));
    }
}
