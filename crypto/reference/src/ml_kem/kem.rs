//! ML-KEM itself: its internal algorithms (section 6) and input checks (section 7).

use super::error::check_bytes;
use super::{
    Error, HASH_BYTES, Parameters, Q, SEED_BYTES, SHARED_SECRET_BYTES, bytes_to_bits, g, h, j,
    k_pke_decrypt, k_pke_encrypt, k_pke_key_generation,
};

/// An encapsulation key and a decapsulation key, in this order, of
/// [`Parameters::encapsulation_key_bytes`] and [`Parameters::decapsulation_key_bytes`] bytes.
pub type KeyPair = (Vec<u8>, Vec<u8>);

/// A ciphertext of [`Parameters::ciphertext_bytes`] bytes and its shared secret key, in this order.
pub type Encapsulation = (Vec<u8>, [u8; SHARED_SECRET_BYTES]);

/// ML-KEM.KeyGen_internal (algorithm 16): the keys of the seeds d and z.
pub fn key_generation(params: &Parameters, d: &[u8; SEED_BYTES], z: &[u8; SEED_BYTES]) -> KeyPair {
    let (ek, dk_pke) = k_pke_key_generation(params, d);
    let dk = [&dk_pke[..], &ek, &h(&ek), z].concat();
    (ek, dk)
}

/// The checks of an encapsulation key (section 7.2): its length, and that ByteEncode_12 of
/// ByteDecode_12 of its coefficients gives the same bytes, in other words that all are below q.
///
/// # Errors
///
/// [`Error::WrongLength`]; [`Error::NotReduced`].
pub fn check_encapsulation_key(params: &Parameters, ek: &[u8]) -> Result<(), Error> {
    check_bytes("encapsulation key", ek, params.encapsulation_key_bytes())?;
    let bits = bytes_to_bits(&ek[..params.vector_bytes()]);
    for (index, bits) in bits.chunks(12).enumerate() {
        let value = bits.iter().rev().fold(0, |value, &bit| 2 * value + u16::from(bit));
        if value >= Q {
            return Err(Error::NotReduced { index, value });
        }
    }
    Ok(())
}

/// ML-KEM.Encaps_internal (algorithm 17) after the checks of section 7.2: a ciphertext and its
/// shared secret key, with 32 random bytes m.
///
/// # Errors
///
/// Those of [`check_encapsulation_key`].
pub fn encapsulate(
    params: &Parameters,
    ek: &[u8],
    m: &[u8; SEED_BYTES],
) -> Result<Encapsulation, Error> {
    check_encapsulation_key(params, ek)?;
    let (key, r) = g(&[&m[..], &h(ek)].concat());
    let c = k_pke_encrypt(params, ek, m, &r)?;
    Ok((c, key))
}

/// The checks of a decapsulation key (section 7.3): its length, and the hash in it. Its
/// coefficients are not checked: the standard reduces them.
///
/// # Errors
///
/// [`Error::WrongLength`]; [`Error::WrongHash`].
pub fn check_decapsulation_key(params: &Parameters, dk: &[u8]) -> Result<(), Error> {
    let parts = Parts::split(params, dk)?;
    if h(parts.ek) == parts.h { Ok(()) } else { Err(Error::WrongHash) }
}

/// The four parts of a decapsulation key.
struct Parts<'a> {
    dk_pke: &'a [u8],
    ek: &'a [u8],
    h: &'a [u8],
    z: &'a [u8],
}

impl<'a> Parts<'a> {
    fn split(params: &Parameters, dk: &'a [u8]) -> Result<Self, Error> {
        check_bytes("decapsulation key", dk, params.decapsulation_key_bytes())?;
        let (dk_pke, rest) = dk.split_at(params.vector_bytes());
        let (ek, rest) = rest.split_at(params.encapsulation_key_bytes());
        let (h, z) = rest.split_at(HASH_BYTES);
        Ok(Parts { dk_pke, ek, h, z })
    }
}

/// Intermediate values of a decapsulation. No `Debug`: it is secret.
pub struct Decapsulation {
    /// The shared secret key: K' or, if the ciphertext was rejected, K_bar.
    pub shared_secret: [u8; SHARED_SECRET_BYTES],
    /// Whether the ciphertext was rejected.
    pub rejected: bool,
    /// m', the message that K-PKE.Decrypt gave.
    pub m: [u8; SEED_BYTES],
    /// c', the ciphertext of m' that was compared with the given one.
    pub c: Vec<u8>,
}

/// ML-KEM.Decaps_internal (algorithm 18) after the checks of section 7.3: the shared secret key. A
/// ciphertext that re-encryption does not reproduce, byte for byte, is rejected implicitly: its
/// shared secret key is J of z and the ciphertext.
///
/// # Errors
///
/// [`Error::WrongLength`] for the ciphertext; those of [`check_decapsulation_key`].
pub fn decapsulate(
    params: &Parameters,
    dk: &[u8],
    c: &[u8],
) -> Result<[u8; SHARED_SECRET_BYTES], Error> {
    Ok(decapsulate_detailed(params, dk, c)?.shared_secret)
}

/// [`decapsulate`], with what it found on its way.
///
/// # Errors
///
/// Those of [`decapsulate`].
pub fn decapsulate_detailed(
    params: &Parameters,
    dk: &[u8],
    c: &[u8],
) -> Result<Decapsulation, Error> {
    check_bytes("ciphertext", c, params.ciphertext_bytes())?;
    check_decapsulation_key(params, dk)?;
    let Parts { dk_pke, ek, h, z } = Parts::split(params, dk)?;
    let m = k_pke_decrypt(params, dk_pke, c)?;
    let (key, r) = g(&[&m[..], h].concat());
    let key_bar = j(&[z, c].concat());
    let again = k_pke_encrypt(params, ek, &m, &r)?;
    let rejected = c != again;
    let shared_secret = if rejected { key_bar } else { key };
    Ok(Decapsulation { shared_secret, rejected, m, c: again })
}
