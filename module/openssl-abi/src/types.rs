//! Types and constants of the ABI.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::marker::{PhantomData, PhantomPinned};

use crate::dispatch::Dispatch;
use crate::param::Param;

macro_rules! opaque {
    ($(#[$doc:meta] $name:ident)*) => {$(
        #[$doc]
        #[repr(C)]
        pub struct $name {
            data: [u8; 0],
            marker: PhantomData<(*mut u8, PhantomPinned)>,
        }
    )*};
}

opaque! {
    /// `OSSL_CORE_HANDLE`: identifies a provider to the core.
    CoreHandle
    /// `OSSL_CORE_BIO`: a stream of the core.
    CoreBio
}

/// `OSSL_CALLBACK`: receives parameters; the last argument belongs to the caller.
pub type Callback = unsafe extern "C" fn(*const Param, *mut c_void) -> c_int;

/// `OSSL_PASSPHRASE_CALLBACK`: buffer, its size, place for the passphrase's length, parameters, an
/// argument of the caller.
pub type Passphrase =
    unsafe extern "C" fn(*mut c_char, usize, *mut usize, *const Param, *mut c_void) -> c_int;

/// `OSSL_ALGORITHM`: names (separated by colons), property definition, functions, description. A
/// table ends with null names.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// Names, separated by colons.
    pub names: *const c_char,
    /// Property definition.
    pub properties: *const c_char,
    /// Functions.
    pub implementation: *const Dispatch,
    /// Description for people.
    pub description: *const c_char,
}

// SAFETY: the pointers are to immutable data; the code that makes a table keeps the data alive for
// as long as the table.
unsafe impl Send for Algorithm {}
// SAFETY: as above.
unsafe impl Sync for Algorithm {}

impl Algorithm {
    /// The end of a table.
    pub const END: Algorithm = Algorithm {
        names: core::ptr::null(),
        properties: core::ptr::null(),
        implementation: core::ptr::null(),
        description: core::ptr::null(),
    };
}

/// `OSSL_ITEM`: a number and a pointer. A table ends with zero and null.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Item {
    /// The number.
    pub id: c_uint,
    /// The pointer, as a rule to a string.
    pub pointer: *const c_void,
}

// SAFETY: tables of items point to immutable static strings.
unsafe impl Sync for Item {}

impl Item {
    /// The end of a table.
    pub const END: Item = Item { id: 0, pointer: core::ptr::null() };

    /// An item that gives the text of a number.
    pub const fn text(id: c_uint, text: &'static core::ffi::CStr) -> Item {
        Item { id, pointer: text.as_ptr().cast() }
    }
}

/// `OSSL_OP_*`: types of operations.
pub mod operation {
    use core::ffi::c_int;

    /// Key management.
    pub const KEYMGMT: c_int = 10;
    /// Key exchange.
    pub const KEYEXCH: c_int = 11;
    /// Signatures.
    pub const SIGNATURE: c_int = 12;
    /// Key encapsulation.
    pub const KEM: c_int = 14;
    /// Encoders of keys.
    pub const ENCODER: c_int = 20;
    /// Decoders of keys.
    pub const DECODER: c_int = 21;
}

/// `OSSL_KEYMGMT_SELECT_*`: parts of a key, as bits.
pub mod selection {
    use core::ffi::c_int;

    /// The private key.
    pub const PRIVATE_KEY: c_int = 0x01;
    /// The public key.
    pub const PUBLIC_KEY: c_int = 0x02;
    /// Domain parameters.
    pub const DOMAIN_PARAMETERS: c_int = 0x04;
    /// Other parameters.
    pub const OTHER_PARAMETERS: c_int = 0x80;
    /// All parameters.
    pub const ALL_PARAMETERS: c_int = DOMAIN_PARAMETERS | OTHER_PARAMETERS;
    /// Private and public key.
    pub const KEYPAIR: c_int = PRIVATE_KEY | PUBLIC_KEY;
}

/// `OSSL_OBJECT_PKEY`: the object is a key.
pub const OBJECT_PKEY: c_int = 2;
