//! Counts of all TLS handshakes of the process by negotiated group, for `statistics = on`.
//!
//! A provider sees only its own key exchanges. Therefore libcrypto is asked to call [`new_ssl`] for
//! each new `SSL`, which sets an info callback, [`on_event`]: it counts when a handshake is done.
//! libssl calls the callback of an `SSL` instead of that of its `SSL_CTX`, so `on_event` calls the
//! latter. An application that sets a callback on the `SSL` itself replaces `on_event`.
//!
//! From OpenSSL 3.5 on, a new object does not say yet whether it is one for QUIC, which has no
//! place for the callback. There the contexts are watched, too ([`new_context`]), and no callback
//! is set any more as soon as there is one that is not for TLS. A context that was made before the
//! module was loaded could be one for QUIC, so nothing is counted then. One case is left that the
//! module cannot see: a context for TLS that a program turns into one for QUIC afterwards, by the
//! deprecated `SSL_CTX_set_ssl_version`.

use core::ffi::{c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use keypool::{NegotiatedGroup, Role, Watch, count_connection, count_handshake, watch_handshakes};
use openssl_abi::{Class, Core, Libcrypto, Libssl, Ssl, SslContext, guard, number};

use crate::release::Release;

/// The first release whose libssl does not tell new objects for QUIC from others.
const UNTYPED_OBJECTS: Release = Release::new(3, 5);
/// libcrypto keeps index 0 for applications, and gives 1 to the first who asks. For verifications
/// that is libssl, before it makes its first context.
const FIRST_INDEX: c_int = 1;

/// The callbacks that libcrypto has been given, and what they need. It stays until the process
/// ends: there is no way to be sure that libcrypto and libssl do not call it any more.
struct Registration {
    libcrypto: Libcrypto,
    /// Of all groups, in the order of [`kex::TLS_GROUPS`].
    code_points: Box<[u16]>,
    /// Null until the first `SSL` or `SSL_CTX`: libssl may be loaded later than the module.
    libssl: AtomicPtr<Libssl>,
    /// No callback is set on new objects any more.
    is_over: AtomicBool,
}

/// The only one of the process, for the first libcrypto that loads the module.
static REGISTRATION: AtomicPtr<Registration> = AtomicPtr::new(ptr::null_mut());
/// Number of loads of the module with `statistics = on`.
static LOADS: AtomicUsize = AtomicUsize::new(0);

/// Counts handshakes as long as one of these exists.
pub(crate) struct Counting(());

impl Counting {
    /// Begins to count, if the libcrypto and its libssl allow it.
    pub(crate) fn start(core: &Core, code_points: &[u16]) -> Self {
        LOADS.fetch_add(1, Ordering::Relaxed);
        if REGISTRATION.load(Ordering::Acquire).is_null()
            && let Err(why) = Registration::build(core, code_points)
        {
            watch_handshakes(why);
        }
        Counting(())
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        LOADS.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_counting() -> bool {
    LOADS.load(Ordering::Relaxed) > 0
}

impl Registration {
    /// Asks libcrypto to call this module for new objects. A child of fork that inherits the state
    /// between the steps counts nothing. Fails with the reason.
    fn build(core: &Core, code_points: &[u16]) -> Result<(), Watch> {
        let libcrypto = Libcrypto::of(core).ok_or(Watch::NoLibssl)?;
        let registration = Box::into_raw(Box::new(Registration {
            libcrypto,
            code_points: code_points.into(),
            libssl: AtomicPtr::default(),
            is_over: AtomicBool::new(false),
        }));
        let none = ptr::null_mut();
        if REGISTRATION
            .compare_exchange(none, registration, Ordering::AcqRel, Ordering::Acquire)
            .is_err()
        {
            // SAFETY: it was made above, and nobody has seen it.
            drop(unsafe { Box::from_raw(registration) });
            return Ok(());
        }
        // From now on `end` may say otherwise.
        watch_handshakes(Watch::On);
        // SAFETY: what is published stays.
        let libcrypto = &unsafe { &*registration }.libcrypto;
        let argument = registration.cast();
        if Release::of(core).is_none_or(|release| release >= UNTYPED_OBJECTS) {
            // SAFETY: the module stays mapped after unloading, and so does the registration.
            let contexts =
                unsafe { libcrypto.new_index(Class::SslContext, Some(new_context), argument) };
            // In this order: a thread that makes a context takes libssl's index of verifications
            // first, and calls `new_context` after that.
            // SAFETY: no function.
            let first = unsafe { libcrypto.new_index(Class::Verification, None, argument) };
            if contexts.is_none() || first != Some(FIRST_INDEX) {
                // SAFETY: as above.
                unsafe { &*registration }.is_over.store(true, Ordering::SeqCst);
                return Err(if contexts.is_none() { Watch::NoLibssl } else { Watch::Late });
            }
        }
        // SAFETY: the module stays mapped after unloading, and so does the registration.
        let connections = unsafe { libcrypto.new_index(Class::Ssl, Some(new_ssl), argument) };
        connections.map(|_| ()).ok_or(Watch::NoLibssl)
    }

    /// libssl, looked up at the first call. `None` if it is not there, and from then on.
    fn libssl(&self) -> Option<&Libssl> {
        let mut libssl = self.libssl.load(Ordering::Acquire);
        if libssl.is_null() {
            let Some(found) = Libssl::beside(&self.libcrypto) else {
                self.end(Watch::NoLibssl);
                return None;
            };
            let found = Box::into_raw(Box::new(found));
            let none = ptr::null_mut();
            libssl = found;
            let publish =
                self.libssl.compare_exchange(none, found, Ordering::AcqRel, Ordering::Acquire);
            if let Err(other) = publish {
                // SAFETY: it was made above, and nobody has seen it.
                drop(unsafe { Box::from_raw(found) });
                libssl = other;
            }
        }
        // SAFETY: what is published stays.
        Some(unsafe { &*libssl })
    }

    fn end(&self, why: Watch) {
        self.is_over.store(true, Ordering::SeqCst);
        watch_handshakes(why);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::SeqCst)
    }
}

/// Called by libcrypto for each new `SSL_CTX`.
unsafe extern "C" fn new_context(
    context: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: c_int,
    _: c_long,
    registration: *mut c_void,
) {
    guard((), || {
        // SAFETY: registered with the registration, which stays.
        let registration = unsafe { &*registration.cast::<Registration>() };
        if registration.is_over() {
            return;
        }
        let context: *const SslContext = context.cast();
        // SAFETY: a context of this libcrypto's libssl, which has set its method before.
        let is_for_tls = registration.libssl().map(|libssl| unsafe { libssl.is_for_tls(context) });
        if is_for_tls == Some(false) {
            registration.end(Watch::Quic);
        }
    });
}

/// Called by libcrypto for each new `SSL`.
unsafe extern "C" fn new_ssl(
    ssl: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: c_int,
    _: c_long,
    registration: *mut c_void,
) {
    guard((), || {
        // SAFETY: registered with the registration, which stays.
        let registration = unsafe { &*registration.cast::<Registration>() };
        if registration.is_over() || !is_counting() {
            return;
        }
        if let Some(libssl) = registration.libssl() {
            count_connection();
            // SAFETY: libssl is making this object, and nobody else has it. It is one for TLS or
            // DTLS: no context for anything else has ever been made, or libssl knows what the
            // object is and ignores the callback.
            unsafe { libssl.set_info_callback(ssl.cast(), on_event) };
        }
    });
}

/// The info callback of all connections.
unsafe extern "C" fn on_event(ssl: *const Ssl, event: c_int, value: c_int) {
    // SAFETY: the callback was set by the published registration and its libssl, which stay.
    let Some((registration, libssl)) = (unsafe {
        let registration = REGISTRATION.load(Ordering::Acquire).as_ref();
        registration.and_then(|registration| {
            Some((registration, registration.libssl.load(Ordering::Acquire).as_ref()?))
        })
    }) else {
        return;
    };
    if event & number::HANDSHAKE_DONE != 0 && is_counting() {
        guard((), || {
            // SAFETY: a connection of libssl, in its callback.
            let handshake = unsafe { libssl.handshake(ssl) };
            let of =
                |code_point| NegotiatedGroup::of_code_point(code_point, &registration.code_points);
            let group = handshake.group.map_or(NegotiatedGroup::NONE, of);
            let role = if handshake.is_server { Role::Server } else { Role::Client };
            count_handshake(group, role);
        });
    }
    // SAFETY: a connection of libssl; libssl would call the context's callback in this way.
    unsafe {
        if let Some(callback) = libssl.context_info_callback(ssl) {
            callback(ssl, event, value);
        }
    }
}
