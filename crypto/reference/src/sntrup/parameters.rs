//! The parameter sets of the specification.

use super::encode::encoded_bytes;

/// Bytes in an output of [`hash_b`](super::hash_b).
pub const HASH_BYTES: usize = 32;

/// Bytes in the key confirmation that ends a ciphertext.
pub const CONFIRM_BYTES: usize = HASH_BYTES;

/// Bytes in a session key.
pub const SHARED_SECRET_BYTES: usize = HASH_BYTES;

/// A parameter set: the ring Z\[x\]/(x^p - x - 1), the modulus and the weight.
///
/// Fields are public so that tests can try other rings. The functions of this module need p and q
/// prime, q mod 6 = 1, q < 2^14, x^p - x - 1 irreducible modulo q, and
/// 16 w + 1 <= q for decryption never to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The name, in lower case.
    pub name: &'static str,
    /// The degree of the ring: the number of coefficients of a polynomial.
    pub p: usize,
    /// The modulus.
    pub q: i32,
    /// The weight: the number of nonzero coefficients of a Short polynomial.
    pub w: usize,
}

impl Parameters {
    /// The six parameter sets of the specification, by growing p.
    pub const ALL: [Parameters; 6] = [
        Parameters { name: "sntrup653", p: 653, q: 4621, w: 288 },
        Parameters { name: "sntrup761", p: 761, q: 4591, w: 286 },
        Parameters { name: "sntrup857", p: 857, q: 5167, w: 322 },
        Parameters { name: "sntrup953", p: 953, q: 6343, w: 396 },
        Parameters { name: "sntrup1013", p: 1013, q: 7177, w: 448 },
        Parameters { name: "sntrup1277", p: 1277, q: 7879, w: 492 },
    ];

    /// The parameter set of [`Parameters::ALL`] with this name, such as "sntrup761".
    pub fn by_name(name: &str) -> Option<Parameters> {
        Self::ALL.into_iter().find(|params| params.name == name)
    }

    /// The parameter set of [`Parameters::ALL`] whose public keys have this length in bytes.
    pub fn by_public_key_bytes(bytes: usize) -> Option<Parameters> {
        Self::ALL.into_iter().find(|params| params.public_key_bytes() == bytes)
    }

    /// (q-1)/2, the greatest balanced representative modulo q.
    pub(super) fn half_q(&self) -> i32 {
        (self.q - 1) / 2
    }

    /// The sizes of the sets that [`encode()`](super::encode()) takes the coefficients of an
    /// element of R/q from: p times q.
    pub fn rq_sizes(&self) -> Vec<u32> {
        vec![self.q.unsigned_abs(); self.p]
    }

    /// The sizes of the sets that [`encode()`](super::encode()) takes the coefficients of a Rounded
    /// polynomial from: p times (q+2)/3, the number of balanced multiples of 3.
    pub fn rounded_sizes(&self) -> Vec<u32> {
        vec![self.q.unsigned_abs().div_ceil(3); self.p]
    }

    /// Bytes in an encoded Small polynomial: four coefficients in a byte.
    pub fn small_bytes(&self) -> usize {
        self.p.div_ceil(4)
    }

    /// Bytes in an encoded Rounded polynomial.
    pub fn rounded_bytes(&self) -> usize {
        encoded_bytes(&self.rounded_sizes())
    }

    /// Bytes in a public key: an encoded element of R/q.
    pub fn public_key_bytes(&self) -> usize {
        encoded_bytes(&self.rq_sizes())
    }

    /// Bytes in a secret key: f, 1/g, the public key, rho and the hash of the public key.
    pub fn secret_key_bytes(&self) -> usize {
        2 * self.small_bytes() + self.public_key_bytes() + self.small_bytes() + HASH_BYTES
    }

    /// Bytes in a ciphertext: an encoded Rounded polynomial and its confirmation.
    pub fn ciphertext_bytes(&self) -> usize {
        self.rounded_bytes() + CONFIRM_BYTES
    }

    /// Bytes in a session key: 32 for every set.
    pub fn shared_secret_bytes(&self) -> usize {
        SHARED_SECRET_BYTES
    }
}
