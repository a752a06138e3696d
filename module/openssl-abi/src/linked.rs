//! Functions of libcrypto and libssl that no dispatch table has, looked up by name in the libraries
//! that the program has loaded. Nothing is loaded for that.

use core::ffi::{CStr, c_int, c_long, c_void};
use core::mem;
use core::ptr::NonNull;
use std::ffi::CString;

use crate::core_upcalls::Core;

/// A connection of libssl (`SSL`).
#[repr(C)]
#[derive(Debug)]
pub struct Ssl {
    opaque: [u8; 0],
}

/// A context of libssl (`SSL_CTX`).
#[repr(C)]
#[derive(Debug)]
pub struct SslContext {
    opaque: [u8; 0],
}

/// `CRYPTO_EX_new`: called for a new object with the object, its value, its application data, the
/// index, and the two arguments of the registration.
pub type NewObject =
    unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, c_int, c_long, *mut c_void);

/// A callback for the events of a connection.
pub type InfoCallback = unsafe extern "C" fn(*const Ssl, c_int, c_int);

/// `CRYPTO_EX_INDEX_*`: classes of objects with application data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Connections of libssl.
    Ssl = 0,
    /// Contexts of libssl.
    SslContext = 1,
    /// Verifications of certificates.
    Verification = 5,
}

/// Numbers of libssl.
pub mod number {
    use core::ffi::{c_int, c_long};

    /// The event that a handshake is done.
    pub const HANDSHAKE_DONE: c_int = 0x20;
    /// The command for the negotiated group.
    pub const GET_NEGOTIATED_GROUP: c_int = 134;
    /// Marks a group's code point where libssl has no identifier for the group.
    pub const UNKNOWN_GROUP: c_long = 0x0100_0000;
    /// TLS 1.3.
    pub const TLS_1_3: c_int = 0x0304;

    /// libcrypto's numbers of the groups that libssl reports by such a number, with their names in
    /// the headers and their code points.
    pub const GROUPS: &[(&str, c_long, u16)] = &[
        ("NID_X9_62_prime256v1", 415, 23),
        ("NID_secp384r1", 715, 24),
        ("NID_secp521r1", 716, 25),
        ("NID_brainpoolP256r1", 927, 26),
        ("NID_brainpoolP384r1", 931, 27),
        ("NID_brainpoolP512r1", 933, 28),
        ("NID_X25519", 1034, 29),
        ("NID_X448", 1035, 30),
        ("NID_brainpoolP256r1tls13", 1285, 31),
        ("NID_brainpoolP384r1tls13", 1286, 32),
        ("NID_brainpoolP512r1tls13", 1287, 33),
        ("NID_ffdhe2048", 1126, 256),
        ("NID_ffdhe3072", 1127, 257),
        ("NID_ffdhe4096", 1128, 258),
        ("NID_ffdhe6144", 1129, 259),
        ("NID_ffdhe8192", 1130, 260),
    ];
}

/// A loaded object: a shared library, or the program itself.
#[derive(Clone, Copy, Debug)]
struct Object {
    handle: NonNull<c_void>,
    /// The address at which it is loaded.
    base: *mut c_void,
}

/// Returns the name and the base of the loaded object that contains `address`.
fn place(address: *const c_void) -> Option<(CString, *mut c_void)> {
    // SAFETY: all-zero is a valid `Dl_info`, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { mem::zeroed() };
    // SAFETY: `dladdr` takes any address.
    if unsafe { libc::dladdr(address, &raw mut info) } == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the name is a string of the loader's, and the object stays loaded.
    let name = unsafe { CStr::from_ptr(info.dli_fname) }.to_owned();
    Some((name, info.dli_fbase))
}

impl Object {
    /// Opens what is loaded under this name, or the program itself. The reference is kept, so that
    /// the object stays loaded.
    fn loaded(name: Option<&CStr>) -> Option<NonNull<c_void>> {
        let name = name.map_or(core::ptr::null(), CStr::as_ptr);
        // SAFETY: the name is a string, or null for the program; nothing is loaded, so no code of
        // another object runs.
        NonNull::new(unsafe { libc::dlopen(name, libc::RTLD_NOW | libc::RTLD_NOLOAD) })
    }

    /// The object that contains `address`, which is the address of a function.
    fn around(address: *const c_void) -> Option<Self> {
        let (name, base) = place(address)?;
        // The program itself has no name for the loader.
        let handle = Self::loaded(Some(&name)).or_else(|| Self::loaded(None))?;
        Some(Object { handle, base })
    }

    /// The address of a function, in this object or in one that it depends on.
    fn any(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the object is loaded, and the name is a string.
        let symbol = unsafe { libc::dlsym(self.handle.as_ptr(), name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    }

    /// The address of a function in this very object.
    fn own(&self, name: &CStr) -> Option<*mut c_void> {
        self.any(name).filter(|&symbol| place(symbol).is_some_and(|(_, base)| base == self.base))
    }
}

/// Looks up a function of an object and gives it its type.
macro_rules! function {
    ($object:expr, $name:literal, $type:ty) => {
        // SAFETY: the public function of this name has this type in all releases since 3.0; a
        // function pointer has the size of an address.
        $object.own($name).map(|symbol| unsafe { mem::transmute::<*mut c_void, $type>(symbol) })
    };
}

/// The libcrypto that loaded the provider.
#[derive(Debug)]
pub struct Libcrypto {
    object: Object,
    get_ex_new_index: unsafe extern "C" fn(
        c_int,
        c_long,
        *mut c_void,
        Option<NewObject>,
        *const c_void,
        *const c_void,
    ) -> c_int,
}

impl Libcrypto {
    /// Finds the library that contains the core's functions; `None` if it shows none by name, as a
    /// program may that libcrypto is linked into.
    pub fn of(core: &Core) -> Option<Self> {
        let object = Object::around(core.address()?)?;
        let get_ex_new_index = function!(
            object,
            c"CRYPTO_get_ex_new_index",
            unsafe extern "C" fn(
                c_int,
                c_long,
                *mut c_void,
                Option<NewObject>,
                *const c_void,
                *const c_void,
            ) -> c_int
        )?;
        Some(Libcrypto { object, get_ex_new_index })
    }

    /// Registers an index of application data, and `new` to be called for each new object of the
    /// class with `argument` last. Returns the index; `None` if libcrypto has no memory. There is
    /// no way back: a thread may be about to call `new` at any time.
    ///
    /// # Safety
    /// `new` may be called with `argument` from any thread for as long as the process lives.
    pub unsafe fn new_index(
        &self,
        class: Class,
        new: Option<NewObject>,
        argument: *mut c_void,
    ) -> Option<c_int> {
        let none = core::ptr::null();
        // SAFETY: null stands for no function, and `new` may be called by the caller's promise.
        let index =
            unsafe { (self.get_ex_new_index)(class as c_int, 0, argument, new, none, none) };
        (index >= 0).then_some(index)
    }
}

/// The libssl that uses the libcrypto which loaded the provider.
#[derive(Debug)]
pub struct Libssl {
    set_info_callback: unsafe extern "C" fn(*mut Ssl, Option<InfoCallback>),
    context_info_callback: unsafe extern "C" fn(*mut SslContext) -> Option<InfoCallback>,
    context: unsafe extern "C" fn(*const Ssl) -> *mut SslContext,
    version: unsafe extern "C" fn(*const Ssl) -> c_int,
    is_resumed: unsafe extern "C" fn(*const Ssl) -> c_int,
    is_server: unsafe extern "C" fn(*const Ssl) -> c_int,
    session: unsafe extern "C" fn(*const Ssl) -> *const c_void,
    control: unsafe extern "C" fn(*mut Ssl, c_int, c_long, *mut c_void) -> c_long,
    method: unsafe extern "C" fn(*const SslContext) -> *const c_void,
    /// The methods of TLS and DTLS.
    methods: Box<[*const c_void]>,
}

// SAFETY: functions may be called from every thread, and the methods are constants of libssl.
unsafe impl Send for Libssl {}
// SAFETY: as above.
unsafe impl Sync for Libssl {}

/// A TLS connection whose handshake is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handshake {
    /// Whether this side is the server.
    pub is_server: bool,
    /// The code point of the group that keys were exchanged with; `None` if none were, or none of a
    /// group that has a code point.
    pub group: Option<u16>,
}

impl Libssl {
    /// Finds libssl: in libcrypto's own object, where both are linked into a program, or as the
    /// library of the same release beside it. `None` if it is not loaded or lacks a function.
    pub fn beside(libcrypto: &Libcrypto) -> Option<Self> {
        let object = libcrypto.object;
        Self::of(&object).or_else(|| {
            let (path, _) = place(libcrypto.get_ex_new_index as *const c_void)?;
            let path = path.to_str().ok()?;
            let name = path.rsplit('/').next()?.replacen("libcrypto", "libssl", 1);
            let beside = format!("{}{name}", &path[..path.rfind('/').map_or(0, |at| at + 1)]);
            [beside, name].into_iter().find_map(|name| {
                let handle = Object::loaded(Some(&CString::new(name).ok()?))?;
                let any = Object { handle, base: core::ptr::null_mut() };
                let (_, base) = place(any.any(c"SSL_new")?)?;
                let libssl = Object { handle, base };
                // It may be another one that happens to have the same name.
                let registers = libssl.any(c"CRYPTO_get_ex_new_index")?;
                let is_ours = registers == libcrypto.get_ex_new_index as *mut c_void;
                is_ours.then(|| Self::of(&libssl)).flatten()
            })
        })
    }

    fn of(object: &Object) -> Option<Self> {
        Some(Libssl {
            set_info_callback: function!(
                object,
                c"SSL_set_info_callback",
                unsafe extern "C" fn(*mut Ssl, Option<InfoCallback>)
            )?,
            context_info_callback: function!(
                object,
                c"SSL_CTX_get_info_callback",
                unsafe extern "C" fn(*mut SslContext) -> Option<InfoCallback>
            )?,
            context: function!(
                object,
                c"SSL_get_SSL_CTX",
                unsafe extern "C" fn(*const Ssl) -> *mut SslContext
            )?,
            version: function!(object, c"SSL_version", unsafe extern "C" fn(*const Ssl) -> c_int)?,
            is_resumed: function!(
                object,
                c"SSL_session_reused",
                unsafe extern "C" fn(*const Ssl) -> c_int
            )?,
            is_server: function!(
                object,
                c"SSL_is_server",
                unsafe extern "C" fn(*const Ssl) -> c_int
            )?,
            session: function!(
                object,
                c"SSL_get_session",
                unsafe extern "C" fn(*const Ssl) -> *const c_void
            )?,
            control: function!(
                object,
                c"SSL_ctrl",
                unsafe extern "C" fn(*mut Ssl, c_int, c_long, *mut c_void) -> c_long
            )?,
            method: function!(
                object,
                c"SSL_CTX_get_ssl_method",
                unsafe extern "C" fn(*const SslContext) -> *const c_void
            )?,
            methods: methods(object),
        })
    }

    /// Has `callback` called for the events of a new connection, instead of the context's callback.
    ///
    /// # Safety
    /// `ssl` is an object of this libssl for TLS or DTLS, not QUIC, and no other thread uses it.
    pub unsafe fn set_info_callback(&self, ssl: *mut Ssl, callback: InfoCallback) {
        // SAFETY: by the caller's promise.
        unsafe { (self.set_info_callback)(ssl, Some(callback)) };
    }

    /// The callback of a connection's context, which libssl would call if the connection had none.
    ///
    /// # Safety
    /// `ssl` is a connection of this libssl.
    pub unsafe fn context_info_callback(&self, ssl: *const Ssl) -> Option<InfoCallback> {
        // SAFETY: by the caller's promise; each connection has a context.
        unsafe { (self.context_info_callback)((self.context)(ssl)) }
    }

    /// Describes the handshake of a connection, which is done.
    ///
    /// # Safety
    /// `ssl` is a connection of this libssl for TLS or DTLS, in its info callback.
    pub unsafe fn handshake(&self, ssl: *const Ssl) -> Handshake {
        // SAFETY: by the caller's promise.
        let (is_server, is_resumed, version, session) = unsafe {
            let is_server = (self.is_server)(ssl) != 0;
            (is_server, (self.is_resumed)(ssl) != 0, (self.version)(ssl), (self.session)(ssl))
        };
        // Before TLS 1.3 a resumed session has the group of its first handshake. Releases before
        // 3.5 read the session without a check.
        if (is_resumed && version != number::TLS_1_3) || session.is_null() {
            return Handshake { is_server, group: None };
        }
        let (command, none) = (number::GET_NEGOTIATED_GROUP, core::ptr::null_mut());
        // SAFETY: by the caller's promise; this command changes nothing and has no argument.
        let group = unsafe { (self.control)(ssl.cast_mut(), command, 0, none) };
        Handshake { is_server, group: code_point(group) }
    }

    /// Whether the context is for TLS or DTLS, and not for QUIC or anything else.
    ///
    /// # Safety
    /// `context` is a context of this libssl.
    pub unsafe fn is_for_tls(&self, context: *const SslContext) -> bool {
        // SAFETY: by the caller's promise.
        self.methods.contains(&unsafe { (self.method)(context) })
    }
}

/// The methods of TLS and DTLS that an object has. Releases may lack those of one version.
fn methods(object: &Object) -> Box<[*const c_void]> {
    let families = ["TLS", "TLSv1", "TLSv1_1", "TLSv1_2", "DTLS", "DTLSv1", "DTLSv1_2"];
    let names = families.iter().flat_map(|family| {
        ["", "server_", "client_"].map(|side| CString::new(format!("{family}_{side}method")))
    });
    let functions = names.filter_map(|name| object.own(&name.ok()?));
    functions
        .map(|symbol| {
            // SAFETY: the public functions of these names have this type; they return the address
            // of a constant.
            unsafe {
                mem::transmute::<*mut c_void, unsafe extern "C" fn() -> *const c_void>(symbol)()
            }
        })
        .collect()
}

/// The code point of a group as libssl reports it; `None` for its zero, which is no group. A number
/// without a code point becomes 0, which no group has.
fn code_point(group: c_long) -> Option<u16> {
    if group <= 0 {
        return None;
    }
    if group & number::UNKNOWN_GROUP != 0 {
        return u16::try_from(group & !number::UNKNOWN_GROUP).ok().or(Some(0));
    }
    let known = number::GROUPS.iter().find(|(_, number, _)| *number == group);
    Some(known.map_or(0, |(_, _, code_point)| *code_point))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_have_code_points() {
        assert_eq!(code_point(0), None);
        assert_eq!(code_point(-1), None);
        assert_eq!(code_point(1034), Some(29));
        assert_eq!(code_point(0x0100_11ec), Some(0x11ec));
        // secp256k1, and numbers that are none.
        assert_eq!(code_point(714), Some(0));
        assert_eq!(code_point(0x0101_0000), Some(0));
    }

    #[test]
    fn objects_are_found_by_their_functions() {
        let object = Object::around(libc::memfd_create as *const c_void).unwrap();
        assert!(object.own(c"memfd_create").is_some());
        assert!(object.own(c"CRYPTO_get_ex_new_index").is_none());
        assert!(Object::loaded(Some(c"libfastkex-not-there.so")).is_none());
        // Functions of another object are not its own.
        let program = Object::around(code_point as *const c_void).unwrap();
        assert!(program.any(c"memfd_create").is_some() && program.own(c"memfd_create").is_none());
    }
}
