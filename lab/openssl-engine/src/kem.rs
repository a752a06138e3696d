//! KEM keys, and KEM operations in the form that OpenSSL 1.1.1 has (`EVP_PKEY_METHOD`; OpenSSLNTRU,
//! section 4.1).

use core::ffi::{c_int, c_uchar, c_void};
use core::marker::PhantomData;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use kex::Error;
use keypool::KeyMaterial as Material;
use openssl_abi::guard;
use secret::Secret;

use crate::key::{self, raise};
use crate::key_type::{Half, KeyType};
use crate::libcrypto::Libcrypto;
use crate::output::{Output, input};
use crate::reason;
use crate::state::{EngineKem, State};
use crate::types::{CTRL_PEER_KEY, Pkey, PkeyContext, PkeyMethod, UNSUPPORTED};

/// A key, and the shared secret of the latest encapsulation or decapsulation, until a caller takes
/// it.
pub(crate) struct Key<K: EngineKem> {
    material: Material<K>,
    secret: SecretSlot,
}

impl<K: EngineKem> Key<K> {
    fn new(material: Material<K>) -> Self {
        Key { material, secret: SecretSlot::default() }
    }
}

/// A place for a shared secret. An atomic pointer, as a child of fork could inherit a lock held.
#[derive(Default)]
struct SecretSlot(AtomicPtr<Secret<[u8]>>);

impl SecretSlot {
    fn is_empty(&self) -> bool {
        self.0.load(Ordering::Acquire).is_null()
    }

    /// Stores `secret` and drops an earlier one.
    fn put(&self, secret: Secret<[u8]>) {
        drop(self.exchange(Box::into_raw(Box::new(secret))));
    }

    /// Takes the stored secret.
    fn take(&self) -> Option<Box<Secret<[u8]>>> {
        self.exchange(ptr::null_mut())
    }

    fn exchange(&self, new: *mut Secret<[u8]>) -> Option<Box<Secret<[u8]>>> {
        let old = self.0.swap(new, Ordering::AcqRel);
        // SAFETY: not null, so made by `Box::into_raw` in `put`; after the swap only this thread
        // has it.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }
}

impl Drop for SecretSlot {
    fn drop(&mut self) {
        self.take();
    }
}

impl<K: EngineKem> KeyType for K {
    const PLACE: usize = <K as EngineKem>::PLACE;
    const SIZE: c_int = K::CIPHERTEXT_BYTES as c_int;
    const BITS: c_int = 8 * K::PUBLIC_KEY_BYTES as c_int;
    const SECURITY_BITS: c_int = K::GROUP.security_bits as c_int;
    const SIGNS: bool = false;
    /// Files have the format of `fastkex.so`: the octet string's bytes are the key itself.
    const PRIVATE_PREFIX: &'static [u8] = &[];

    type Contents = Key<K>;

    fn read(half: Half, bytes: &[u8]) -> Result<Key<K>, Error> {
        let backend = State::current().choice.backend;
        match half {
            Half::Public => Material::from_public_bytes(backend, bytes),
            Half::Private => Material::from_secret_bytes(backend, bytes),
        }
        .map(Key::new)
    }

    fn write(key: &Key<K>, half: Half) -> Option<Secret<[u8]>> {
        match half {
            Half::Public => key.material.public_bytes().ok(),
            Half::Private => key.material.secret_bytes().ok().flatten(),
        }
    }
}

/// The functions for `K`.
pub(crate) struct Operations<K>(PhantomData<K>);

impl<K: EngineKem> Operations<K> {
    /// Makes a table of the functions, which libcrypto frees. Returns `None` if there is no memory.
    pub(crate) fn table(libcrypto: &Libcrypto) -> Option<*mut PkeyMethod> {
        let functions = &libcrypto.functions;
        // SAFETY: fills in a table of libcrypto's with functions of the types in its header.
        unsafe {
            let table = (functions.method_new)(libcrypto.nid::<K>(), 0);
            if table.is_null() {
                return None;
            }
            (functions.method_set_copy)(table, copy);
            (functions.method_set_generate)(table, None, Self::generate);
            (functions.method_set_encrypt)(table, None, Self::encrypt);
            (functions.method_set_decrypt)(table, None, Self::decrypt);
            (functions.method_set_derive)(table, None, Self::derive);
            (functions.method_set_control)(table, control, None);
            Some(table)
        }
    }

    unsafe extern "C" fn generate(_: *mut PkeyContext, pkey: *mut Pkey) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            let pair = K::pools(State::current()).key();
            let contents = pair.map(|pair| Key::new(Material::Pair(pair)));
            // SAFETY: libcrypto passes a key to fill in.
            unsafe { key::put::<K>(libcrypto, pkey, contents) }
        })
    }

    /// Encapsulates to the context's key. There is no input, as a KEM has none. The shared secret
    /// stays in the key.
    unsafe extern "C" fn encrypt(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
        input: *const c_uchar,
        _: usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            if !input.is_null() {
                let what = "EVP_PKEY_encrypt has an input: expected a null pointer";
                return raise::<K>(libcrypto, reason::NOT_A_KEM, &what);
            }
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { key::of_context::<K>(libcrypto, context) }) else { return 0 };
            // SAFETY: buffer and size are the caller's, as `EVP_PKEY_encrypt(3)` says.
            let ciphertext = match unsafe {
                Output::new::<K>(libcrypto, "ciphertext", K::CIPHERTEXT_BYTES, out, out_size)
            } {
                Some(Output::Buffer(ciphertext)) => ciphertext,
                Some(Output::SizeOnly) => return 1,
                None => return 0,
            };
            let mut secret = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
            let pools = K::pools(State::current());
            match pools.encapsulate(key.material.public(), ciphertext, &mut secret) {
                Ok(()) => {
                    key.secret.put(secret);
                    1
                }
                Err(error) => {
                    raise::<K>(libcrypto, reason::of(&error, reason::INVALID_KEY), &error)
                }
            }
        })
    }

    /// Decapsulates with the context's key. There is no output, as the shared secret stays in the
    /// key.
    unsafe extern "C" fn decrypt(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
        ciphertext: *const c_uchar,
        ciphertext_size: usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            if !out.is_null() {
                let what = "EVP_PKEY_decrypt has an output: expected a null pointer";
                return raise::<K>(libcrypto, reason::NOT_A_KEM, &what);
            }
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { key::of_context::<K>(libcrypto, context) }) else { return 0 };
            // SAFETY: the caller's buffer has the given size.
            let ciphertext = unsafe { input(ciphertext, ciphertext_size) };
            let mut secret = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
            let backend = State::current().choice.backend;
            let done = key
                .material
                .secret()
                .map(|half| K::decapsulate(half, backend, ciphertext, &mut secret));
            match done {
                Some(Ok(())) => {
                    key.secret.put(secret);
                    if !out_size.is_null() {
                        // SAFETY: not null, so a place for the size.
                        unsafe { *out_size = K::SHARED_SECRET_BYTES };
                    }
                    1
                }
                Some(Err(error)) => {
                    let reason = reason::of(&error, reason::INVALID_CIPHERTEXT);
                    raise::<K>(libcrypto, reason, &error)
                }
                None => raise::<K>(libcrypto, reason::MISSING_KEY, &"the key has no private half"),
            }
        })
    }

    /// Returns the shared secret in the context's key, once.
    unsafe extern "C" fn derive(
        context: *mut PkeyContext,
        out: *mut c_uchar,
        out_size: *mut usize,
    ) -> c_int {
        guard(0, || {
            let Some(libcrypto) = Libcrypto::get() else { return 0 };
            // SAFETY: the context is libcrypto's, with a key of ours.
            let Some(key) = (unsafe { key::of_context::<K>(libcrypto, context) }) else { return 0 };
            let none = "no shared secret: call EVP_PKEY_encrypt or EVP_PKEY_decrypt before EVP_PKEY_derive";
            if key.secret.is_empty() {
                return raise::<K>(libcrypto, reason::MISSING_SECRET, &none);
            }
            // SAFETY: buffer and size are the caller's, as `EVP_PKEY_derive(3)` says.
            let place = unsafe {
                Output::new::<K>(libcrypto, "secret", K::SHARED_SECRET_BYTES, out, out_size)
            };
            match place {
                Some(Output::SizeOnly) => 1,
                None => 0,
                Some(Output::Buffer(out)) => match key.secret.take() {
                    Some(secret) => {
                        out.copy_from_slice(&secret);
                        1
                    }
                    None => raise::<K>(libcrypto, reason::MISSING_SECRET, &none),
                },
            }
        })
    }
}

/// Copies nothing, as a context has no data beside its key.
pub(crate) unsafe extern "C" fn copy(_: *mut PkeyContext, _: *mut PkeyContext) -> c_int {
    1
}

/// Accepts as peer only the key itself, which has no effect. A KEM has no peer's key.
unsafe extern "C" fn control(
    context: *mut PkeyContext,
    what: c_int,
    _: c_int,
    argument: *mut c_void,
) -> c_int {
    guard(UNSUPPORTED, || {
        let Some(libcrypto) = Libcrypto::get() else { return UNSUPPORTED };
        // SAFETY: the context is libcrypto's.
        let own = unsafe { (libcrypto.functions.context_key)(context) };
        // libcrypto reads 2 as: everything is done.
        if what == CTRL_PEER_KEY && own.cast() == argument { 2 } else { UNSUPPORTED }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(byte: u8) -> Secret<[u8]> {
        Secret::<[u8]>::copy_of(&[byte])
    }

    #[test]
    fn the_latest_secret_is_taken_once() {
        let slot = SecretSlot::default();
        assert!(slot.is_empty() && slot.take().is_none());
        slot.put(secret(1));
        slot.put(secret(2));
        assert!(!slot.is_empty());
        assert_eq!(**slot.take().unwrap(), [2]);
        assert!(slot.is_empty() && slot.take().is_none());
        slot.put(secret(3));
    }

    #[test]
    fn threads_take_what_is_put_once() {
        const COUNT: u8 = 200;
        let slot = SecretSlot::default();
        let take = || (0..1000).filter_map(|_| slot.take()).map(|secret| secret[0]).collect();
        let mut taken: Vec<u8> = std::thread::scope(|scope| {
            let takers = [scope.spawn(take), scope.spawn(take)];
            (0..COUNT).for_each(|byte| slot.put(secret(byte)));
            takers.into_iter().flat_map(|taker| -> Vec<u8> { taker.join().unwrap() }).collect()
        });
        let count = taken.len();
        taken.sort_unstable();
        taken.dedup();
        assert_eq!(taken.len(), count, "one was taken twice");
    }
}
