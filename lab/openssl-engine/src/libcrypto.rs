//! The libcrypto that loaded the module: its functions, which are looked up by name when the ENGINE
//! is bound, and its error queue.

use core::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_ulong, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use core::{mem, ptr};
use std::ffi::CString;

use crate::key_type::{KeyType, TYPES};
use crate::reason;
use crate::types::{
    Algorithm, Asn1Control, Asn1Method, Asn1Object, Bio, Command, Compare, Control, ControlString,
    Copy, Crypt, DecodePrivate, DecodePublic, Derive, Digest, DigestContext, DigestSign,
    DigestVerify, EncodePrivate, EncodePublic, Engine, EngineControl, EngineFunction,
    EngineMethods, ErrorString, Free, Generate, GetRaw, Init, Measure, Pkey, PkeyContext,
    PkeyMethod, Print, PrivateKeyInfo, PublicKeyInfo, SetRaw, SignItem, VerifyItem,
};

macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Functions of libcrypto.
        pub(crate) struct Functions {
            $(pub(crate) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// `object` is a libcrypto of OpenSSL 1.1.1.
            unsafe fn find(object: Object) -> Result<Self, String> {
                Ok(Functions {
                    $($name: {
                        let symbol = object.symbol($symbol).ok_or_else(|| {
                            format!("a libcrypto without {}", $symbol.to_string_lossy())
                        })?;
                        type Type = unsafe extern "C" fn($($argument),*) $(-> $result)?;
                        // SAFETY: by the caller's promise, the symbol is the public function of
                        // this type.
                        unsafe { mem::transmute::<*mut c_void, Type>(symbol) }
                    },)*
                })
            }
        }
    };
}

functions! {
    malloc = c"CRYPTO_malloc": fn(usize, *const c_char, c_int) -> *mut c_void;
    clear_free = c"CRYPTO_clear_free": fn(*mut c_void, usize, *const c_char, c_int);
    short_name_to_nid = c"OBJ_sn2nid": fn(*const c_char) -> c_int;
    nid_to_object = c"OBJ_nid2obj": fn(c_int) -> *mut Asn1Object;
    next_error_library = c"ERR_get_next_error_library": fn() -> c_int;
    load_error_strings = c"ERR_load_strings": fn(c_int, *mut ErrorString) -> c_int;
    put_error = c"ERR_put_error": fn(c_int, c_int, c_int, *const c_char, c_int);
    new_engine_index = c"CRYPTO_get_ex_new_index":
        fn(c_int, c_long, *mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_int;

    engine_set_id = c"ENGINE_set_id": fn(*mut Engine, *const c_char) -> c_int;
    engine_set_name = c"ENGINE_set_name": fn(*mut Engine, *const c_char) -> c_int;
    engine_set_destroy = c"ENGINE_set_destroy_function": fn(*mut Engine, EngineFunction) -> c_int;
    engine_set_methods = c"ENGINE_set_pkey_meths":
        fn(*mut Engine, EngineMethods<PkeyMethod>) -> c_int;
    engine_set_asn1_methods = c"ENGINE_set_pkey_asn1_meths":
        fn(*mut Engine, EngineMethods<Asn1Method>) -> c_int;
    engine_set_commands = c"ENGINE_set_cmd_defns": fn(*mut Engine, *const Command) -> c_int;
    engine_set_control = c"ENGINE_set_ctrl_function": fn(*mut Engine, EngineControl) -> c_int;
    engine_set_data = c"ENGINE_set_ex_data": fn(*mut Engine, c_int, *mut c_void) -> c_int;
    engine_data = c"ENGINE_get_ex_data": fn(*const Engine, c_int) -> *mut c_void;

    engine_of_methods = c"ENGINE_get_pkey_meth_engine": fn(c_int) -> *mut Engine;
    engine_finish = c"ENGINE_finish": fn(*mut Engine) -> c_int;

    method_new = c"EVP_PKEY_meth_new": fn(c_int, c_int) -> *mut PkeyMethod;
    method_free = c"EVP_PKEY_meth_free": fn(*mut PkeyMethod);
    method_set_copy = c"EVP_PKEY_meth_set_copy": fn(*mut PkeyMethod, Copy);
    method_set_generate = c"EVP_PKEY_meth_set_keygen": fn(*mut PkeyMethod, Option<Init>, Generate);
    method_set_encrypt = c"EVP_PKEY_meth_set_encrypt": fn(*mut PkeyMethod, Option<Init>, Crypt);
    method_set_decrypt = c"EVP_PKEY_meth_set_decrypt": fn(*mut PkeyMethod, Option<Init>, Crypt);
    method_set_derive = c"EVP_PKEY_meth_set_derive": fn(*mut PkeyMethod, Option<Init>, Derive);
    method_set_control = c"EVP_PKEY_meth_set_ctrl":
        fn(*mut PkeyMethod, Control, Option<ControlString>);

    method_set_digest_sign = c"EVP_PKEY_meth_set_digestsign": fn(*mut PkeyMethod, DigestSign);
    method_set_digest_verify = c"EVP_PKEY_meth_set_digestverify": fn(*mut PkeyMethod, DigestVerify);

    asn1_new = c"EVP_PKEY_asn1_new":
        fn(c_int, c_int, *const c_char, *const c_char) -> *mut Asn1Method;
    asn1_free = c"EVP_PKEY_asn1_free": fn(*mut Asn1Method);
    asn1_set_public = c"EVP_PKEY_asn1_set_public":
        fn(*mut Asn1Method, DecodePublic, EncodePublic, Compare, Print, Measure, Measure);
    asn1_set_private = c"EVP_PKEY_asn1_set_private":
        fn(*mut Asn1Method, DecodePrivate, EncodePrivate, Print);
    asn1_set_parameters = c"EVP_PKEY_asn1_set_param":
        fn(*mut Asn1Method, *mut c_void, *mut c_void, *mut c_void, *mut c_void, Compare, *mut c_void);
    asn1_set_item = c"EVP_PKEY_asn1_set_item": fn(*mut Asn1Method, VerifyItem, SignItem);
    asn1_set_set_private = c"EVP_PKEY_asn1_set_set_priv_key": fn(*mut Asn1Method, SetRaw);
    asn1_set_set_public = c"EVP_PKEY_asn1_set_set_pub_key": fn(*mut Asn1Method, SetRaw);
    asn1_set_get_private = c"EVP_PKEY_asn1_set_get_priv_key": fn(*mut Asn1Method, GetRaw);
    asn1_set_get_public = c"EVP_PKEY_asn1_set_get_pub_key": fn(*mut Asn1Method, GetRaw);
    asn1_info = c"EVP_PKEY_asn1_get0_info":
        fn(*mut c_int, *mut c_int, *mut c_int, *mut *const c_char, *mut *const c_char, *const Asn1Method) -> c_int;
    asn1_set_free = c"EVP_PKEY_asn1_set_free": fn(*mut Asn1Method, Free);
    asn1_set_control = c"EVP_PKEY_asn1_set_ctrl": fn(*mut Asn1Method, Asn1Control);
    asn1_set_security_bits = c"EVP_PKEY_asn1_set_security_bits": fn(*mut Asn1Method, Measure);

    context_key = c"EVP_PKEY_CTX_get0_pkey": fn(*mut PkeyContext) -> *mut Pkey;
    context_peer = c"EVP_PKEY_CTX_get0_peerkey": fn(*mut PkeyContext) -> *mut Pkey;
    digest_context = c"EVP_MD_CTX_pkey_ctx": fn(*const DigestContext) -> *mut PkeyContext;
    no_digest = c"EVP_md_null": fn() -> *const Digest;
    digest_verify_init = c"EVP_DigestVerifyInit":
        fn(*mut DigestContext, *mut *mut PkeyContext, *const Digest, *mut Engine, *mut Pkey) -> c_int;
    key_data = c"EVP_PKEY_get0": fn(*const Pkey) -> *mut c_void;
    key_asn1 = c"EVP_PKEY_get0_asn1": fn(*const Pkey) -> *const Asn1Method;
    key_set_type = c"EVP_PKEY_set_type": fn(*mut Pkey, c_int) -> c_int;
    key_raw_private = c"EVP_PKEY_get_raw_private_key": fn(*const Pkey, *mut c_uchar, *mut usize) -> c_int;
    key_raw_public = c"EVP_PKEY_get_raw_public_key": fn(*const Pkey, *mut c_uchar, *mut usize) -> c_int;
    key_assign = c"EVP_PKEY_assign": fn(*mut Pkey, c_int, *mut c_void) -> c_int;

    public_info = c"X509_PUBKEY_get0_param":
        fn(*mut *mut Asn1Object, *mut *const c_uchar, *mut c_int, *mut *mut Algorithm, *mut PublicKeyInfo) -> c_int;
    public_info_set = c"X509_PUBKEY_set0_param":
        fn(*mut PublicKeyInfo, *mut Asn1Object, c_int, *mut c_void, *mut c_uchar, c_int) -> c_int;
    private_info = c"PKCS8_pkey_get0":
        fn(*mut *const Asn1Object, *mut *const c_uchar, *mut c_int, *mut *const Algorithm, *const PrivateKeyInfo) -> c_int;
    private_info_set = c"PKCS8_pkey_set0":
        fn(*mut PrivateKeyInfo, *mut Asn1Object, c_int, c_int, *mut c_void, *mut c_uchar, c_int) -> c_int;
    algorithm = c"X509_ALGOR_get0":
        fn(*mut *const Asn1Object, *mut c_int, *mut *const c_void, *const Algorithm);
    algorithm_set = c"X509_ALGOR_set0": fn(*mut Algorithm, *mut Asn1Object, c_int, *mut c_void) -> c_int;
    object_nid = c"OBJ_obj2nid": fn(*const Asn1Object) -> c_int;

    write = c"BIO_write": fn(*mut Bio, *const c_void, c_int) -> c_int;
    write_hex = c"ASN1_buf_print": fn(*mut Bio, *const c_uchar, usize, c_int) -> c_int;
    write_indent = c"BIO_indent": fn(*mut Bio, c_int, c_int) -> c_int;
}

/// The one libcrypto that uses the module in this process.
pub(crate) struct Libcrypto {
    pub(crate) functions: Functions,
    object: Object,
    /// The ENGINE's library number in the error queue.
    library: c_int,
    /// The index of the module's data in an ENGINE.
    pub(crate) engine_index: c_int,
    types: [Type; TYPES.len()],
}

/// A key type of [`TYPES`] in libcrypto.
struct Type {
    /// Its number, or 0 if libcrypto does not know it.
    nid: c_int,
    /// The description of the ENGINE's methods. It distinguishes them from libcrypto's own.
    description: CString,
}

/// Null, or a value that [`Libcrypto::around`] leaked. An atomic pointer, as a child of fork could
/// inherit a lock held.
static LIBCRYPTO: AtomicPtr<Libcrypto> = AtomicPtr::new(ptr::null_mut());

/// The reason why a libcrypto is refused.
pub(crate) struct Unfit {
    object: Option<Object>,
    message: String,
}

impl Libcrypto {
    /// Returns the process's libcrypto. `None` before the ENGINE is bound, when none of its
    /// functions can be called.
    pub(crate) fn get() -> Option<&'static Self> {
        // SAFETY: null, or leaked.
        unsafe { LIBCRYPTO.load(Ordering::Acquire).as_ref() }
    }

    /// Returns the libcrypto that contains `address`, if it is OpenSSL 1.1.1 with our patches, and
    /// if the module serves no other.
    pub(crate) fn around(address: *const c_void) -> Result<&'static Self, Unfit> {
        let unfit = |object, message| Unfit { object, message };
        let object = Object::around(address)
            .ok_or_else(|| unfit(None, "the libcrypto that calls cannot be found".into()))?;
        let refuse = |message: String| unfit(Some(object), message);
        let version = object.version().ok_or_else(|| refuse("this is not OpenSSL".into()))?;
        if version.number & 0xffff_f000 != 0x1010_1000 {
            return Err(refuse(format!("this is {}", version.text)));
        }
        let known = match Self::get() {
            Some(known) => known,
            None => {
                // SAFETY: the object says that it is OpenSSL 1.1.1.
                let made = unsafe { Libcrypto::new(object, &version.text) }.map_err(refuse)?;
                Self::keep(made)
            }
        };
        if known.object == object {
            Ok(known)
        } else {
            Err(refuse("another libcrypto of this process has the ENGINE".into()))
        }
    }

    /// Stores `made` for the process, unless another thread was first. Returns the stored one.
    fn keep(made: Libcrypto) -> &'static Self {
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let new = Box::into_raw(Box::new(made));
        match LIBCRYPTO.compare_exchange(ptr::null_mut(), new, success, failure) {
            // SAFETY: just made, and never freed.
            Ok(_) => unsafe { &*new },
            Err(other) => {
                // SAFETY: no other thread has seen it; the other one is never null and never freed.
                unsafe {
                    drop(Box::from_raw(new));
                    &*other
                }
            }
        }
    }

    /// # Safety
    /// `object` is a libcrypto of OpenSSL 1.1.1.
    unsafe fn new(object: Object, version: &str) -> Result<Self, String> {
        // SAFETY: by the caller's promise.
        let functions = unsafe { Functions::find(object)? };
        let types = TYPES.map(|name| {
            let description = CString::new(format!("{name} of fastkex")).unwrap_or_default();
            let name = CString::new(name).unwrap_or_default();
            // SAFETY: the name is a string.
            Type { nid: unsafe { (functions.short_name_to_nid)(name.as_ptr()) }, description }
        });
        // SAFETY: public functions, with arguments as `err.h` and `crypto.h` say.
        unsafe {
            let library = (functions.next_error_library)();
            // libcrypto adds the library's number to the errors until the first one that is zero.
            // So the name's entry has the library's number from the start.
            let name = (library as c_ulong & 0xff) << 24;
            let mut texts: Vec<ErrorString> = [(name, c"fastkex engntru")]
                .into_iter()
                .chain(reason::TEXTS.map(|(reason, text)| (reason as c_ulong, text)))
                .map(|(error, text)| ErrorString { error, text: text.as_ptr() })
                .collect();
            texts.push(ErrorString { error: 0, text: ptr::null() });
            // libcrypto keeps the table until the process ends.
            (functions.load_error_strings)(
                library,
                Box::leak(texts.into_boxed_slice()).as_mut_ptr(),
            );
            let none = ptr::null_mut();
            let index = crate::types::EX_INDEX_ENGINE;
            let engine_index = (functions.new_engine_index)(index, 0, none, none, none, none);
            if engine_index < 0 {
                return Err(format!("{version} has no room for an ENGINE's data"));
            }
            Ok(Libcrypto { functions, object, library, engine_index, types })
        }
    }

    /// Returns the number of `T`, or 0 if libcrypto does not know it.
    pub(crate) fn nid<T: KeyType>(&self) -> c_int {
        self.types[T::PLACE].nid
    }

    /// Returns the description of `T` in lists.
    pub(crate) fn description<T: KeyType>(&self) -> &CStr {
        &self.types[T::PLACE].description
    }

    /// Returns true if `pkey` is the ENGINE's key of type `T`, so that its contents are ours.
    /// libcrypto may have the type itself, and may have made the key before the ENGINE was loaded.
    ///
    /// # Safety
    /// `pkey` is an `EVP_PKEY`.
    pub(crate) unsafe fn is_ours<T: KeyType>(&self, pkey: *const Pkey) -> bool {
        let (mut nid, mut description) = (0, ptr::null());
        let none = ptr::null_mut();
        // SAFETY: by the caller's promise; fields that are not needed are null, and a description
        // is a string or null.
        unsafe {
            let method = (self.functions.key_asn1)(pkey);
            !method.is_null()
                && (self.functions.asn1_info)(
                    &raw mut nid,
                    none,
                    none,
                    &raw mut description,
                    ptr::null_mut(),
                    method,
                ) == 1
                && nid == self.nid::<T>()
                && !description.is_null()
                && CStr::from_ptr(description) == self.description::<T>()
        }
    }

    /// Puts an error into the thread's queue.
    pub(crate) fn raise(&self, reason: c_int, message: &str) {
        // SAFETY: the file's name is a static string.
        unsafe { (self.functions.put_error)(self.library, 0, reason, c"engntru".as_ptr(), 0) };
        self.object.explain(message);
    }

    /// Copies `bytes` into memory that libcrypto frees. Returns null if there is no memory.
    pub(crate) fn copy(&self, bytes: &[u8]) -> *mut c_uchar {
        // SAFETY: asks for this number of bytes.
        let copy = unsafe { (self.functions.malloc)(bytes.len(), c"engntru".as_ptr(), 0) };
        if !copy.is_null() {
            // SAFETY: the memory is new and has this number of bytes.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len()) };
        }
        copy.cast()
    }

    /// Erases and frees a copy that [`Libcrypto::copy`] made. Null is allowed.
    ///
    /// # Safety
    /// No other code has the copy.
    pub(crate) unsafe fn free(&self, copy: *mut c_uchar, size: usize) {
        // SAFETY: by the caller's promise.
        unsafe { (self.functions.clear_free)(copy.cast(), size, c"engntru".as_ptr(), 0) };
    }
}

impl Unfit {
    pub(crate) fn new(libcrypto: &Libcrypto, message: String) -> Self {
        Unfit { object: Some(libcrypto.object), message }
    }

    /// Raises the reason in the error queue of the libcrypto, of any version.
    pub(crate) fn raise(&self) {
        let Some(object) = self.object else { return };
        let message = format!(
            "engntru is for OpenSSL 1.1.1 with the patches in lab/legacy/openssl-1.1.1: {}",
            self.message
        );
        object.raise(&message);
    }
}

/// A loaded object, which stays loaded as it is running.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Object(*mut c_void);

// SAFETY: a handle, for which the loader's functions may be called in any thread.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

struct Version {
    number: c_ulong,
    text: String,
}

impl Object {
    /// Returns the object that contains `address`. It was loaded before this module, so the handle
    /// need not be kept.
    fn around(address: *const c_void) -> Option<Self> {
        // SAFETY: all-zero is a valid `Dl_info`, which `dladdr` fills in.
        let mut info: libc::Dl_info = unsafe { mem::zeroed() };
        // SAFETY: `dladdr` takes any address.
        if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
            return None;
        }
        let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
        // SAFETY: the name is a string of the loader's; nothing is loaded, so nothing runs.
        let mut handle = unsafe { libc::dlopen(info.dli_fname, flags) };
        if handle.is_null() {
            // The program itself, if libcrypto is linked into it.
            // SAFETY: as above.
            handle = unsafe { libc::dlopen(ptr::null(), flags) };
        }
        if handle.is_null() {
            return None;
        }
        // SAFETY: releases the reference just taken.
        unsafe { libc::dlclose(handle) };
        Some(Object(handle))
    }

    fn symbol(self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the object is loaded, and the name is a string.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }

    fn version(self) -> Option<Version> {
        let (number, text) =
            (self.symbol(c"OpenSSL_version_num")?, self.symbol(c"OpenSSL_version")?);
        // SAFETY: public functions of these types since OpenSSL 1.1.0; 0 selects the version's
        // text, a static string.
        unsafe {
            let number = mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_ulong>(number);
            let text =
                mem::transmute::<*mut c_void, unsafe extern "C" fn(c_int) -> *const c_char>(text);
            let text = CStr::from_ptr(text(0)).to_string_lossy().into_owned();
            Some(Version { number: number(), text })
        }
    }

    /// Adds a text to the newest error in the thread's queue.
    fn explain(self, message: &str) {
        let (Some(add), Ok(message)) =
            (self.symbol(c"ERR_add_error_data"), CString::new(message.replace('\0', " ")))
        else {
            return;
        };
        type Add = unsafe extern "C" fn(c_int, ...);
        // SAFETY: a public function of this type in OpenSSL 1.1.1 and 3.x, which copies as many
        // strings as the number says.
        unsafe { mem::transmute::<*mut c_void, Add>(add)(1 as c_int, message.as_ptr()) };
    }

    /// Raises an error in the queue of any libcrypto, under the library number that is free for
    /// programs.
    fn raise(self, message: &str) {
        /// `ERR_LIB_USER`.
        const LIBRARY: c_int = 128;
        type Put = unsafe extern "C" fn(c_int, c_int, c_int, *const c_char, c_int);
        type Set = unsafe extern "C" fn(c_int, c_int, *const c_char, ...);
        if let Some(put) = self.symbol(c"ERR_put_error") {
            let name = c"engntru".as_ptr();
            // SAFETY: a public function of this type before OpenSSL 3.0.
            unsafe {
                mem::transmute::<*mut c_void, Put>(put)(LIBRARY, 0, reason::WRONG_OPENSSL, name, 0);
            }
            self.explain(message);
        } else if let (Some(new), Some(set), Ok(message)) = (
            self.symbol(c"ERR_new"),
            self.symbol(c"ERR_set_error"),
            CString::new(message.replace('\0', " ")),
        ) {
            // SAFETY: public functions of these types since OpenSSL 3.0; the format takes one
            // string.
            unsafe {
                mem::transmute::<*mut c_void, unsafe extern "C" fn()>(new)();
                let set = mem::transmute::<*mut c_void, Set>(set);
                set(LIBRARY, reason::WRONG_OPENSSL, c"%s".as_ptr(), message.as_ptr());
            }
        }
    }
}
