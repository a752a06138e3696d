//! libsntrup: the NIST KEM API for the six parameter sets, with batch key generation.
//! `include/sntrup.h` documents it.

use core::ffi::{c_int, c_uchar};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use random::OperationRandom;
use sntrup_kem::{
    Backend, Ciphertext, Error, KeyPair, Operations, PublicKey, SecretKey, Sntrup653, Sntrup761,
    Sntrup857, Sntrup953, Sntrup1013, Sntrup1277,
};

const SUCCESS: c_int = 0;
const FAILURE: c_int = -1;

/// Runs `body`; nothing unwinds into C.
fn status(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SUCCESS,
        _ => FAILURE,
    }
}

/// # Safety
/// `from` has `length` bytes.
unsafe fn input<'a>(from: *const c_uchar, length: usize) -> &'a [u8] {
    // SAFETY: by the caller's promise; a null pointer becomes an input of the wrong size.
    if from.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(from, length) } }
}

/// # Safety
/// `to` has room for `bytes` and may be uninitialised.
unsafe fn output(to: *mut c_uchar, bytes: &[u8]) {
    // SAFETY: by the caller's promise; the library's own buffers do not overlap the caller's.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

/// # Safety
/// `public` and `secret` have room for `count` keys.
unsafe fn keypair_batch<P: Operations>(
    public: *mut c_uchar,
    secret: *mut c_uchar,
    count: usize,
) -> c_int {
    if public.is_null() || secret.is_null() {
        return FAILURE;
    }
    status(|| {
        let keys =
            KeyPair::<P>::generate_batch(Backend::best(), count, &mut OperationRandom::new())?;
        for (i, key) in keys.into_iter().enumerate() {
            let (one_public, one_secret) = key.into_parts();
            // SAFETY: i < count, so both places lie inside the caller's buffers.
            unsafe {
                output(public.add(i * P::PUBLIC_KEY_BYTES), one_public.as_bytes());
                output(secret.add(i * P::SECRET_KEY_BYTES), one_secret.as_bytes());
            }
        }
        Ok(())
    })
}

/// # Safety
/// The buffers have the parameter set's sizes.
unsafe fn enc<P: Operations>(
    ciphertext: *mut c_uchar,
    shared: *mut c_uchar,
    public: *const c_uchar,
) -> c_int {
    if ciphertext.is_null() || shared.is_null() {
        return FAILURE;
    }
    status(|| {
        // SAFETY: by the caller's promise.
        let key = PublicKey::<P>::from_bytes(unsafe { input(public, P::PUBLIC_KEY_BYTES) })?;
        let (made, secret) = key.encapsulate(Backend::best(), &mut OperationRandom::new())?;
        // SAFETY: by the caller's promise.
        unsafe {
            output(ciphertext, made.as_bytes());
            output(shared, secret.as_bytes());
        }
        Ok(())
    })
}

/// # Safety
/// The buffers have the parameter set's sizes.
unsafe fn dec<P: Operations>(
    shared: *mut c_uchar,
    ciphertext: *const c_uchar,
    secret: *const c_uchar,
) -> c_int {
    if shared.is_null() {
        return FAILURE;
    }
    status(|| {
        // SAFETY: by the caller's promise.
        let (key, ciphertext) =
            unsafe { (input(secret, P::SECRET_KEY_BYTES), input(ciphertext, P::CIPHERTEXT_BYTES)) };
        let key = SecretKey::<P>::from_bytes(key)?;
        let made = key.decapsulate(Backend::best(), &Ciphertext::from_bytes(ciphertext)?);
        // SAFETY: by the caller's promise.
        unsafe { output(shared, made.as_bytes()) };
        Ok(())
    })
}

macro_rules! c_api {
    ($($set:ty: $keypair:ident, $keypair_batch:ident, $enc:ident, $dec:ident;)*) => {$(
        /// # Safety
        /// As sntrup.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair(pk: *mut c_uchar, sk: *mut c_uchar) -> c_int {
            // SAFETY: a batch of one; the caller's promise is the same.
            unsafe { keypair_batch::<$set>(pk, sk, 1) }
        }

        /// # Safety
        /// As sntrup.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $keypair_batch(
            pk: *mut c_uchar,
            sk: *mut c_uchar,
            n: usize,
        ) -> c_int {
            // SAFETY: the caller's promise is the same.
            unsafe { keypair_batch::<$set>(pk, sk, n) }
        }

        /// # Safety
        /// As sntrup.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $enc(
            ct: *mut c_uchar,
            ss: *mut c_uchar,
            pk: *const c_uchar,
        ) -> c_int {
            // SAFETY: the caller's promise is the same.
            unsafe { enc::<$set>(ct, ss, pk) }
        }

        /// # Safety
        /// As sntrup.h says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $dec(
            ss: *mut c_uchar,
            ct: *const c_uchar,
            sk: *const c_uchar,
        ) -> c_int {
            // SAFETY: the caller's promise is the same.
            unsafe { dec::<$set>(ss, ct, sk) }
        }
    )*};
}

c_api! {
    Sntrup653: crypto_kem_sntrup653_keypair, crypto_kem_sntrup653_keypair_batch,
        crypto_kem_sntrup653_enc, crypto_kem_sntrup653_dec;
    Sntrup761: crypto_kem_sntrup761_keypair, crypto_kem_sntrup761_keypair_batch,
        crypto_kem_sntrup761_enc, crypto_kem_sntrup761_dec;
    Sntrup857: crypto_kem_sntrup857_keypair, crypto_kem_sntrup857_keypair_batch,
        crypto_kem_sntrup857_enc, crypto_kem_sntrup857_dec;
    Sntrup953: crypto_kem_sntrup953_keypair, crypto_kem_sntrup953_keypair_batch,
        crypto_kem_sntrup953_enc, crypto_kem_sntrup953_dec;
    Sntrup1013: crypto_kem_sntrup1013_keypair, crypto_kem_sntrup1013_keypair_batch,
        crypto_kem_sntrup1013_enc, crypto_kem_sntrup1013_dec;
    Sntrup1277: crypto_kem_sntrup1277_keypair, crypto_kem_sntrup1277_keypair_batch,
        crypto_kem_sntrup1277_enc, crypto_kem_sntrup1277_dec;
}
