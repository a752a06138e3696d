//! The NIST KEM API in C for any [`Kem`]. A C library is a crate that calls [`export!`] with its
//! parameter sets, and has a header and a build script.
//!
//! All functions return 0, or -1 and write nothing. A null pointer is an error. Buffers for output
//! may be uninitialised. Nothing unwinds into C.

use core::ffi::{c_int, c_uchar};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use kex::{Backend, Error, Kem};
use rand_core::TryCryptoRng;
use random::{Given, OperationRandom};
use secret::Secret;

const SUCCESS: c_int = 0;
const FAILURE: c_int = -1;

/// Runs `body`; nothing unwinds into C.
fn status(body: impl FnOnce() -> Result<(), Error>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => SUCCESS,
        _ => FAILURE,
    }
}

/// Input of `length` bytes. A null pointer becomes an input of the wrong size.
///
/// # Safety
/// `from` is null or has `length` bytes.
unsafe fn input<'a>(from: *const c_uchar, length: usize) -> &'a [u8] {
    // SAFETY: by the caller's promise.
    if from.is_null() { &[] } else { unsafe { core::slice::from_raw_parts(from, length) } }
}

/// Writes output.
///
/// # Safety
/// `to` has room for `bytes` and may be uninitialised.
unsafe fn output(to: *mut c_uchar, bytes: &[u8]) {
    // SAFETY: by the caller's promise; the library's own buffers do not overlap the caller's.
    unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
}

/// Generates `count` key pairs.
///
/// # Safety
/// `public` and `secret` are null or have room for `count` keys.
unsafe fn generate<K: Kem>(
    public: *mut c_uchar,
    secret: *mut c_uchar,
    count: usize,
    random: &mut impl TryCryptoRng,
) -> Result<(), Error> {
    let pairs = K::generate_batch(&mut K::BatchMemory::default(), Backend::best(), count, random)?;
    let mut encoded_public = Secret::<[u8]>::slice(K::PUBLIC_KEY_BYTES);
    let mut encoded_secret = Secret::<[u8]>::slice(K::SECRET_KEY_BYTES);
    for (i, pair) in pairs.into_iter().enumerate() {
        K::write_public_key(&pair.public, &mut encoded_public);
        K::write_secret_key(&pair.secret, &mut encoded_secret);
        // SAFETY: i < count, so both places lie inside the caller's buffers.
        unsafe {
            output(public.add(i * K::PUBLIC_KEY_BYTES), &encoded_public);
            output(secret.add(i * K::SECRET_KEY_BYTES), &encoded_secret);
        }
    }
    Ok(())
}

/// Generates `count` key pairs, with random bytes of the operating system's.
///
/// # Safety
/// `public` and `secret` are null or have room for `count` keys.
pub unsafe fn keypair_batch<K: Kem>(
    public: *mut c_uchar,
    secret: *mut c_uchar,
    count: usize,
) -> c_int {
    if public.is_null() || secret.is_null() {
        return FAILURE;
    }
    // SAFETY: the caller's promise is the same.
    status(|| unsafe { generate::<K>(public, secret, count, &mut OperationRandom::new()) })
}

/// Generates the key pair of `COINS` given random bytes.
///
/// # Safety
/// The buffers are null or have the KEM's sizes, and `coins` has `COINS` bytes.
pub unsafe fn keypair_derand<K: Kem, const COINS: usize>(
    public: *mut c_uchar,
    secret: *mut c_uchar,
    coins: *const c_uchar,
) -> c_int {
    if public.is_null() || secret.is_null() {
        return FAILURE;
    }
    // SAFETY: the caller's promise is the same.
    status(|| unsafe { generate::<K>(public, secret, 1, &mut Given(input(coins, COINS))) })
}

/// Encapsulates.
///
/// # Safety
/// The buffers are null or have the KEM's sizes.
unsafe fn encapsulate<K: Kem>(
    ciphertext: *mut c_uchar,
    shared: *mut c_uchar,
    public: *const c_uchar,
    random: &mut impl TryCryptoRng,
) -> c_int {
    if ciphertext.is_null() || shared.is_null() {
        return FAILURE;
    }
    status(|| {
        // SAFETY: by the caller's promise.
        let public = unsafe { input(public, K::PUBLIC_KEY_BYTES) };
        let key = K::read_public_key(Backend::best(), public)?;
        let mut made = Secret::<[u8]>::slice(K::CIPHERTEXT_BYTES);
        let mut secret = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
        K::encapsulate(&key, Backend::best(), random, &mut made, &mut secret)?;
        // SAFETY: by the caller's promise.
        unsafe {
            output(ciphertext, &made);
            output(shared, &secret);
        }
        Ok(())
    })
}

/// Encapsulates, with random bytes of the operating system's.
///
/// # Safety
/// The buffers are null or have the KEM's sizes.
pub unsafe fn enc<K: Kem>(
    ciphertext: *mut c_uchar,
    shared: *mut c_uchar,
    public: *const c_uchar,
) -> c_int {
    // SAFETY: the caller's promise is the same.
    unsafe { encapsulate::<K>(ciphertext, shared, public, &mut OperationRandom::new()) }
}

/// Encapsulates with `COINS` given random bytes.
///
/// # Safety
/// The buffers are null or have the KEM's sizes, and `coins` has `COINS` bytes.
pub unsafe fn enc_derand<K: Kem, const COINS: usize>(
    ciphertext: *mut c_uchar,
    shared: *mut c_uchar,
    public: *const c_uchar,
    coins: *const c_uchar,
) -> c_int {
    // SAFETY: the caller's promise is the same.
    unsafe { encapsulate::<K>(ciphertext, shared, public, &mut Given(input(coins, COINS))) }
}

/// Decapsulates.
///
/// # Safety
/// The buffers are null or have the KEM's sizes.
pub unsafe fn dec<K: Kem>(
    shared: *mut c_uchar,
    ciphertext: *const c_uchar,
    secret: *const c_uchar,
) -> c_int {
    if shared.is_null() {
        return FAILURE;
    }
    status(|| {
        // SAFETY: by the caller's promise.
        let (secret, ciphertext) =
            unsafe { (input(secret, K::SECRET_KEY_BYTES), input(ciphertext, K::CIPHERTEXT_BYTES)) };
        let key = K::read_secret_key(Backend::best(), secret)?;
        let mut made = Secret::<[u8]>::slice(K::SHARED_SECRET_BYTES);
        K::decapsulate(&key, Backend::best(), ciphertext, &mut made)?;
        // SAFETY: by the caller's promise.
        unsafe { output(shared, &made) };
        Ok(())
    })
}

/// Checks that a public key is one.
///
/// # Safety
/// The buffer is null or has the KEM's size.
pub unsafe fn check_pk<K: Kem>(public: *const c_uchar) -> c_int {
    // SAFETY: by the caller's promise.
    let public = unsafe { input(public, K::PUBLIC_KEY_BYTES) };
    status(|| K::read_public_key(Backend::best(), public).map(drop))
}

/// Checks that a secret key is one.
///
/// # Safety
/// The buffer is null or has the KEM's size.
pub unsafe fn check_sk<K: Kem>(secret: *const c_uchar) -> c_int {
    // SAFETY: by the caller's promise.
    let secret = unsafe { input(secret, K::SECRET_KEY_BYTES) };
    status(|| K::read_secret_key(Backend::best(), secret).map(drop))
}

/// Exports the functions `crypto_kem_{set}_{function}` of parameter sets: those of the NIST KEM API
/// and `keypair_batch`. With the numbers of random bytes of a key pair and an encapsulation also
/// `keypair_derand`, `enc_derand`, `check_pk` and `check_sk`.
///
/// ```
/// use kex::MlKem;
/// use mlkem::{MlKem512, MlKem768};
///
/// kem_capi::export! {
///     MlKem<MlKem512>: "example512";
///     MlKem<MlKem768>: "example768" derand 64 32;
/// }
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export {
    ($($kem:ty: $set:literal $(derand $keypair_coins:literal $enc_coins:literal)?;)*) => {$(
        $crate::function!($set, "_keypair", (pk: *mut c_uchar, sk: *mut c_uchar)
            => keypair_batch::<$kem>(pk, sk, 1));
        $crate::function!($set, "_keypair_batch", (pk: *mut c_uchar, sk: *mut c_uchar, n: usize)
            => keypair_batch::<$kem>(pk, sk, n));
        $crate::function!($set, "_enc",
            (ct: *mut c_uchar, ss: *mut c_uchar, pk: *const c_uchar)
            => enc::<$kem>(ct, ss, pk));
        $crate::function!($set, "_dec",
            (ss: *mut c_uchar, ct: *const c_uchar, sk: *const c_uchar)
            => dec::<$kem>(ss, ct, sk));
        $(
            $crate::function!($set, "_keypair_derand",
                (pk: *mut c_uchar, sk: *mut c_uchar, coins: *const c_uchar)
                => keypair_derand::<$kem, $keypair_coins>(pk, sk, coins));
            $crate::function!($set, "_enc_derand",
                (ct: *mut c_uchar, ss: *mut c_uchar, pk: *const c_uchar, coins: *const c_uchar)
                => enc_derand::<$kem, $enc_coins>(ct, ss, pk, coins));
            $crate::function!($set, "_check_pk", (pk: *const c_uchar) => check_pk::<$kem>(pk));
            $crate::function!($set, "_check_sk", (sk: *const c_uchar) => check_sk::<$kem>(sk));
        )?
    )*};
}

/// Exports one function, which calls one of this crate.
#[doc(hidden)]
#[macro_export]
macro_rules! function {
    ($set:literal, $name:literal, ($($argument:ident: $type:ty),*) => $function:ident $($call:tt)*) => {
        const _: () = {
            use ::core::ffi::{c_int, c_uchar};

            /// # Safety
            /// As the header says.
            #[unsafe(export_name = concat!("crypto_kem_", $set, $name))]
            unsafe extern "C" fn exported($($argument: $type),*) -> c_int {
                // SAFETY: the caller's promise is the same.
                unsafe { $crate::$function $($call)* }
            }
        };
    };
}
