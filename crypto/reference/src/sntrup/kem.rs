//! The key-encapsulation mechanism: keys, ciphertexts and session keys as byte strings.

use super::encode::small_decode_named;
use super::encryption::checked;
use super::error::{Error, check_bytes};
use super::{
    CONFIRM_BYTES, HASH_BYTES, Parameters, SHARED_SECRET_BYTES, encrypt, public_polynomial,
    r3_inverse, recover, rounded_decode, rounded_encode, rq_decode, rq_encode, short_random,
    small_encode, small_random, weight,
};
use sha2::{Digest, Sha512};

/// A public key and a secret key, in this order, of [`Parameters::public_key_bytes`] and
/// [`Parameters::secret_key_bytes`] bytes.
pub type KeyPair = (Vec<u8>, Vec<u8>);

/// A ciphertext of [`Parameters::ciphertext_bytes`] bytes and its session key, in this order.
pub type Encapsulation = (Vec<u8>, [u8; SHARED_SECRET_BYTES]);

/// Hash_b: the first 32 bytes of SHA-512 of the byte b and the input.
pub fn hash_b(b: u8, input: &[u8]) -> [u8; HASH_BYTES] {
    let digest = Sha512::new().chain_update([b]).chain_update(input).finalize();
    digest.first_chunk().copied().expect("SHA-512 gives 64 bytes")
}

/// HashConfirm: Hash_2 of Hash_3 of the encoded r and Hash_4 of the public key.
fn hash_confirm(encoded_r: &[u8], public_key_hash: &[u8; HASH_BYTES]) -> [u8; CONFIRM_BYTES] {
    hash_b(2, &[hash_b(3, encoded_r), *public_key_hash].concat())
}

/// HashSession: Hash_b of Hash_3 of y and the ciphertext. For b = 1 y is the encoded r, and for
/// b = 0 (a rejected ciphertext) it is rho.
pub fn session_key(b: u8, y: &[u8], ciphertext: &[u8]) -> [u8; SHARED_SECRET_BYTES] {
    hash_b(b, &[&hash_b(3, y)[..], ciphertext].concat())
}

/// KeyGen: a public key and its secret key.
///
/// Calls `random` for the 4p bytes of g until g is invertible in R/3, then for the 4p bytes of f,
/// then for the [`Parameters::small_bytes`] bytes of rho.
pub fn key_generation(params: &Parameters, random: &mut dyn FnMut(&mut [u8])) -> KeyPair {
    let (g, v) = loop {
        let g = small_random(params, random);
        if let Some(v) = r3_inverse(params, &g) {
            break (g, v);
        }
    };
    let f = short_random(params, random);
    let mut rho = vec![0; params.small_bytes()];
    random(&mut rho);
    assemble(params, &g, &v, &f, &rho)
}

/// KeyGen with its random choices as arguments: g (Small), f (Short) and rho
/// ([`Parameters::small_bytes`] bytes of any value).
///
/// # Errors
///
/// [`Error::NotInvertible`] for a g without inverse in R/3; [`Error::WrongLength`],
/// [`Error::NotSmall`] and [`Error::NotShort`] for arguments that are not what they have to be.
pub fn key_generation_derand(
    params: &Parameters,
    g: &[i32],
    f: &[i32],
    rho: &[u8],
) -> Result<KeyPair, Error> {
    check_small(params, "g", g)?;
    check_short(params, "f", f)?;
    check_bytes("rho", rho, params.small_bytes())?;
    let v = r3_inverse(params, g).ok_or(Error::NotInvertible)?;
    Ok(assemble(params, g, &v, f, rho))
}

/// The two keys: h, and f, v = 1/g, h, rho and Hash_4 of h, all encoded.
fn assemble(params: &Parameters, g: &[i32], v: &[i32], f: &[i32], rho: &[u8]) -> KeyPair {
    let public_key = rq_encode(params, &public_polynomial(params, f, g));
    let public_key_hash = hash_b(4, &public_key);
    let (f, v) = (small_encode(params, f), small_encode(params, v));
    let secret_key = [&f, &v, &public_key, rho, &public_key_hash].concat();
    (public_key, secret_key)
}

/// Hide: the ciphertext of r, and the encoded r.
///
/// The ciphertext is the encoded Rounded polynomial and then the confirmation,
/// [`Parameters::ciphertext_bytes`] bytes. `public_key_hash` is [`hash_b`]`(4, public_key)`.
///
/// # Errors
///
/// [`Error::WrongLength`] for the public key.
///
/// # Panics
///
/// If r is not Small with p coefficients.
pub fn hide(
    params: &Parameters,
    r: &[i32],
    public_key: &[u8],
    public_key_hash: &[u8; HASH_BYTES],
) -> Result<(Vec<u8>, Vec<u8>), Error> {
    check_bytes("public key", public_key, params.public_key_bytes())?;
    let h = rq_decode(params, public_key)?;
    let encoded_r = small_encode(params, r);
    let mut ciphertext = rounded_encode(params, &encrypt(params, r, &h));
    ciphertext.extend(hash_confirm(&encoded_r, public_key_hash));
    Ok((ciphertext, encoded_r))
}

/// Encap: a ciphertext and the session key.
///
/// Calls `random` once, for the 4p bytes of r. A public key that is not canonical is used as it
/// decodes, and hashed as it is, as the specification has it.
///
/// # Errors
///
/// [`Error::WrongLength`] for the public key.
pub fn encapsulate(
    params: &Parameters,
    public_key: &[u8],
    random: &mut dyn FnMut(&mut [u8]),
) -> Result<Encapsulation, Error> {
    check_bytes("public key", public_key, params.public_key_bytes())?;
    encapsulate_derand(params, public_key, &short_random(params, random))
}

/// Encap with r, a Short polynomial, as an argument.
///
/// # Errors
///
/// [`Error::WrongLength`] for the public key or r; [`Error::NotSmall`] and [`Error::NotShort`] for
/// r.
pub fn encapsulate_derand(
    params: &Parameters,
    public_key: &[u8],
    r: &[i32],
) -> Result<Encapsulation, Error> {
    check_short(params, "r", r)?;
    let (ciphertext, encoded_r) = hide(params, r, public_key, &hash_b(4, public_key))?;
    let key = session_key(1, &encoded_r, &ciphertext);
    Ok((ciphertext, key))
}

/// The five parts of a secret key. No `Debug`: it is secret.
pub struct SecretKey {
    /// f: Short in every key that KeyGen made, Small in every key that decodes.
    pub f: Vec<i32>,
    /// v = 1/g in R/3, Small.
    pub v: Vec<i32>,
    /// The public key, [`Parameters::public_key_bytes`] bytes.
    pub public_key: Vec<u8>,
    /// rho, [`Parameters::small_bytes`] bytes of any value.
    pub rho: Vec<u8>,
    /// Hash_4 of the public key, as the secret key has it: nothing compares them.
    pub public_key_hash: [u8; HASH_BYTES],
}

/// Takes a secret key apart: f, v, public key, rho, hash of the public key.
///
/// # Errors
///
/// [`Error::WrongLength`]; [`Error::NotSmallEncoded`] for f and v.
pub fn split_secret_key(params: &Parameters, secret_key: &[u8]) -> Result<SecretKey, Error> {
    check_bytes("secret key", secret_key, params.secret_key_bytes())?;
    let (f, rest) = secret_key.split_at(params.small_bytes());
    let (v, rest) = rest.split_at(params.small_bytes());
    let (public_key, rest) = rest.split_at(params.public_key_bytes());
    let (rho, public_key_hash) = rest.split_at(params.small_bytes());
    Ok(SecretKey {
        f: small_decode_named(params, f, "f in the secret key")?,
        v: small_decode_named(params, v, "1/g in the secret key")?,
        public_key: public_key.to_vec(),
        rho: rho.to_vec(),
        public_key_hash: public_key_hash.try_into().expect("32 bytes are left of the secret key"),
    })
}

/// Intermediate values of a decapsulation. No `Debug`: it is secret.
pub struct Decapsulation {
    /// The session key.
    pub session_key: [u8; SHARED_SECRET_BYTES],
    /// Whether the ciphertext was rejected: the session key is then that of rho.
    pub rejected: bool,
    /// The polynomial that Decrypt gave: [`Decapsulation::recovered`], or w ones and then zeros if
    /// its weight is not w.
    pub r: Vec<i32>,
    /// The result of [`recover`], before the weight check.
    pub recovered: Vec<i32>,
    /// The weight of [`Decapsulation::recovered`]; it is w for every honest ciphertext.
    pub weight: usize,
}

/// Decap: the session key. A ciphertext that re-encryption does not reproduce, byte for byte, is
/// rejected implicitly: its session key is a hash of rho and the ciphertext.
///
/// # Errors
///
/// [`Error::WrongLength`] for the secret key or the ciphertext; [`Error::NotSmallEncoded`] for the
/// secret key.
pub fn decapsulate(
    params: &Parameters,
    secret_key: &[u8],
    ciphertext: &[u8],
) -> Result<[u8; SHARED_SECRET_BYTES], Error> {
    Ok(decapsulate_detailed(params, secret_key, ciphertext)?.session_key)
}

/// [`decapsulate`], with what it found on its way.
///
/// # Errors
///
/// Those of [`decapsulate`].
pub fn decapsulate_detailed(
    params: &Parameters,
    secret_key: &[u8],
    ciphertext: &[u8],
) -> Result<Decapsulation, Error> {
    let key = split_secret_key(params, secret_key)?;
    check_bytes("ciphertext", ciphertext, params.ciphertext_bytes())?;
    let c = rounded_decode(params, &ciphertext[..params.rounded_bytes()])?;
    let recovered = recover(params, &key.f, &key.v, &c);
    let weight = weight(&recovered);
    let r = checked(params, recovered.clone());
    let (again, encoded_r) = hide(params, &r, &key.public_key, &key.public_key_hash)?;
    let rejected = again != ciphertext;
    let session_key = if rejected {
        session_key(0, &key.rho, ciphertext)
    } else {
        session_key(1, &encoded_r, ciphertext)
    };
    Ok(Decapsulation { session_key, rejected, r, recovered, weight })
}

fn check_small(params: &Parameters, what: &'static str, a: &[i32]) -> Result<(), Error> {
    if a.len() != params.p {
        let (expected, actual) = (params.p, a.len());
        return Err(Error::WrongLength { what, unit: "coefficients", expected, actual });
    }
    match a.iter().position(|c| !(-1..=1).contains(c)) {
        Some(exponent) => Err(Error::NotSmall { what, exponent }),
        None => Ok(()),
    }
}

fn check_short(params: &Parameters, what: &'static str, a: &[i32]) -> Result<(), Error> {
    check_small(params, what, a)?;
    if weight(a) == params.w {
        Ok(())
    } else {
        Err(Error::NotShort { what, expected: params.w, actual: weight(a) })
    }
}
