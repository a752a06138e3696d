//! `OSSL_FUNC_*`: the numbers and types of the functions that cross the boundary. Contexts and keys
//! are opaque pointers of the provider.

use core::ffi::{c_char, c_int, c_uchar, c_void};

use crate::dispatch::Function;
use crate::param::Param;
use crate::types::{Algorithm, Callback, CoreBio, CoreHandle, Item, Passphrase};

macro_rules! functions {
    ($($(#[$module_doc:meta])* mod $module:ident $prefix:literal {
        $($name:ident $id:literal fn($($argument:ty),* $(,)?) $(-> $result:ty)?;)*
    })*) => {
        $(
            $(#[$module_doc])*
            pub mod $module {
                use super::*;

                $(
                    #[doc = concat!("Number ", $id, ".")]
                    pub const $name: Function<unsafe extern "C" fn($($argument),*) $(-> $result)?> =
                        Function::new($id);
                )*
            }
        )*

        /// Every function: its C name without `OSSL_FUNC_`, in two parts, and its number.
        pub const ALL: &[(&str, &str, c_int)] = &[
            $($(($prefix, stringify!($name), $module::$name.id()),)*)*
        ];
    };
}

functions! {
    /// Upcalls into the core.
    mod upcall "CORE" {
        GET_PARAMS 2 fn(*const CoreHandle, *mut Param) -> c_int;
        NEW_ERROR 5 fn(*const CoreHandle);
        SET_ERROR_DEBUG 6 fn(*const CoreHandle, *const c_char, c_int, *const c_char);
        VSET_ERROR 7 fn(*const CoreHandle, u32, *const c_char, *mut c_void);
    }

    /// Upcalls for streams.
    mod bio "BIO" {
        READ_EX 42 fn(*mut CoreBio, *mut c_void, usize, *mut usize) -> c_int;
        WRITE_EX 43 fn(*mut CoreBio, *const c_void, usize, *mut usize) -> c_int;
    }

    /// The provider; its context is the one returned by `OSSL_provider_init`.
    mod provider "PROVIDER" {
        TEARDOWN 1024 fn(*mut c_void);
        GETTABLE_PARAMS 1025 fn(*mut c_void) -> *const Param;
        GET_PARAMS 1026 fn(*mut c_void, *mut Param) -> c_int;
        QUERY_OPERATION 1027 fn(*mut c_void, c_int, *mut c_int) -> *const Algorithm;
        GET_REASON_STRINGS 1029 fn(*mut c_void) -> *const Item;
        GET_CAPABILITIES 1030 fn(*mut c_void, *const c_char, Option<Callback>, *mut c_void) -> c_int;
        SELF_TEST 1031 fn(*mut c_void) -> c_int;
    }

    /// Key management.
    mod keymgmt "KEYMGMT" {
        NEW 1 fn(*mut c_void) -> *mut c_void;
        GEN_INIT 2 fn(*mut c_void, c_int, *const Param) -> *mut c_void;
        GEN_SET_PARAMS 4 fn(*mut c_void, *const Param) -> c_int;
        GEN_SETTABLE_PARAMS 5 fn(*mut c_void, *mut c_void) -> *const Param;
        GEN 6 fn(*mut c_void, Option<Callback>, *mut c_void) -> *mut c_void;
        GEN_CLEANUP 7 fn(*mut c_void);
        LOAD 8 fn(*const c_void, usize) -> *mut c_void;
        FREE 10 fn(*mut c_void);
        GET_PARAMS 11 fn(*mut c_void, *mut Param) -> c_int;
        GETTABLE_PARAMS 12 fn(*mut c_void) -> *const Param;
        SET_PARAMS 13 fn(*mut c_void, *const Param) -> c_int;
        SETTABLE_PARAMS 14 fn(*mut c_void) -> *const Param;
        HAS 21 fn(*const c_void, c_int) -> c_int;
        VALIDATE 22 fn(*const c_void, c_int, c_int) -> c_int;
        MATCH 23 fn(*const c_void, *const c_void, c_int) -> c_int;
        IMPORT 40 fn(*mut c_void, c_int, *const Param) -> c_int;
        IMPORT_TYPES 41 fn(c_int) -> *const Param;
        EXPORT 42 fn(*mut c_void, c_int, Option<Callback>, *mut c_void) -> c_int;
        EXPORT_TYPES 43 fn(c_int) -> *const Param;
        DUP 44 fn(*const c_void, c_int) -> *mut c_void;
    }

    /// Key encapsulation.
    mod kem "KEM" {
        NEWCTX 1 fn(*mut c_void) -> *mut c_void;
        ENCAPSULATE_INIT 2 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        ENCAPSULATE 3 fn(*mut c_void, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
        DECAPSULATE_INIT 4 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        DECAPSULATE 5 fn(*mut c_void, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
        FREECTX 6 fn(*mut c_void);
        DUPCTX 7 fn(*mut c_void) -> *mut c_void;
    }

    /// Key exchange.
    mod keyexch "KEYEXCH" {
        NEWCTX 1 fn(*mut c_void) -> *mut c_void;
        INIT 2 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        DERIVE 3 fn(*mut c_void, *mut c_uchar, *mut usize, usize) -> c_int;
        SET_PEER 4 fn(*mut c_void, *mut c_void) -> c_int;
        FREECTX 5 fn(*mut c_void);
        DUPCTX 6 fn(*mut c_void) -> *mut c_void;
    }

    /// Signatures.
    mod signature "SIGNATURE" {
        NEWCTX 1 fn(*mut c_void, *const c_char) -> *mut c_void;
        SIGN_INIT 2 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        SIGN 3 fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
        VERIFY_INIT 4 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        VERIFY 5 fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
        DIGEST_SIGN_INIT 8 fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
        DIGEST_SIGN 11 fn(*mut c_void, *mut c_uchar, *mut usize, usize, *const c_uchar, usize) -> c_int;
        DIGEST_VERIFY_INIT 12 fn(*mut c_void, *const c_char, *mut c_void, *const Param) -> c_int;
        DIGEST_VERIFY 15 fn(*mut c_void, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
        FREECTX 16 fn(*mut c_void);
        DUPCTX 17 fn(*mut c_void) -> *mut c_void;
        GET_CTX_PARAMS 18 fn(*mut c_void, *mut Param) -> c_int;
        GETTABLE_CTX_PARAMS 19 fn(*mut c_void, *mut c_void) -> *const Param;
        SET_CTX_PARAMS 20 fn(*mut c_void, *const Param) -> c_int;
        SETTABLE_CTX_PARAMS 21 fn(*mut c_void, *mut c_void) -> *const Param;
        SIGN_MESSAGE_INIT 27 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
        VERIFY_MESSAGE_INIT 30 fn(*mut c_void, *mut c_void, *const Param) -> c_int;
    }

    /// Encoders of keys.
    mod encoder "ENCODER" {
        NEWCTX 1 fn(*mut c_void) -> *mut c_void;
        FREECTX 2 fn(*mut c_void);
        SET_CTX_PARAMS 5 fn(*mut c_void, *const Param) -> c_int;
        SETTABLE_CTX_PARAMS 6 fn(*mut c_void) -> *const Param;
        DOES_SELECTION 10 fn(*mut c_void, c_int) -> c_int;
        ENCODE 11 fn(
            *mut c_void,
            *mut CoreBio,
            *const c_void,
            *const Param,
            c_int,
            Option<Passphrase>,
            *mut c_void,
        ) -> c_int;
        IMPORT_OBJECT 20 fn(*mut c_void, c_int, *const Param) -> *mut c_void;
        FREE_OBJECT 21 fn(*mut c_void);
    }

    /// Decoders of keys.
    mod decoder "DECODER" {
        NEWCTX 1 fn(*mut c_void) -> *mut c_void;
        FREECTX 2 fn(*mut c_void);
        DOES_SELECTION 10 fn(*mut c_void, c_int) -> c_int;
        DECODE 11 fn(
            *mut c_void,
            *mut CoreBio,
            c_int,
            Option<Callback>,
            *mut c_void,
            Option<Passphrase>,
            *mut c_void,
        ) -> c_int;
        EXPORT_OBJECT 20 fn(*mut c_void, *const c_void, usize, Option<Callback>, *mut c_void) -> c_int;
    }
}
