//! The parameter sets of the standard (its section 8).

/// n, the number of coefficients of a polynomial.
pub const N: usize = 256;

/// q, the modulus.
pub const Q: u16 = 3329;

/// Bytes in a seed: d, z, m, rho, sigma and r.
pub const SEED_BYTES: usize = 32;

/// Bytes in an output of H, and in each half of an output of G.
pub const HASH_BYTES: usize = 32;

/// Bytes in a shared secret key.
pub const SHARED_SECRET_BYTES: usize = 32;

/// Bytes in a block of SHAKE128, from which [`sample_ntt`](super::sample_ntt) samples.
pub const XOF_BLOCK_BYTES: usize = 168;

/// The coefficients of a polynomial, or of its transform.
pub type Polynomial = [u16; N];

/// A parameter set: the rank of the module, the widths of the noise, and the bits of a compressed
/// coefficient (table 2 of the standard).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The name, in lower case without dashes.
    pub name: &'static str,
    /// The rank: A has k rows and k columns.
    pub k: usize,
    /// Width of the noise in s, e and y: coefficients from -eta1 to eta1.
    pub eta1: usize,
    /// Width of the noise in e1 and e2: coefficients from -eta2 to eta2.
    pub eta2: usize,
    /// Bits of a compressed coefficient of u.
    pub du: u32,
    /// Bits of a compressed coefficient of v.
    pub dv: u32,
}

impl Parameters {
    /// The three parameter sets of the standard, by growing k.
    pub const ALL: [Parameters; 3] = [
        Parameters { name: "mlkem512", k: 2, eta1: 3, eta2: 2, du: 10, dv: 4 },
        Parameters { name: "mlkem768", k: 3, eta1: 2, eta2: 2, du: 10, dv: 4 },
        Parameters { name: "mlkem1024", k: 4, eta1: 2, eta2: 2, du: 11, dv: 5 },
    ];

    /// The parameter set of [`Parameters::ALL`] with this name, such as "mlkem768".
    pub fn by_name(name: &str) -> Option<Parameters> {
        Self::ALL.into_iter().find(|params| params.name == name)
    }

    /// The parameter set of [`Parameters::ALL`] whose encapsulation keys have this length in bytes.
    pub fn by_encapsulation_key_bytes(bytes: usize) -> Option<Parameters> {
        Self::ALL.into_iter().find(|params| params.encapsulation_key_bytes() == bytes)
    }

    /// Bytes in a vector of k polynomials of 12 bits a coefficient: 384k.
    pub fn vector_bytes(&self) -> usize {
        encoded_bytes(12) * self.k
    }

    /// Bytes in an encapsulation key: the vector t_hat and rho.
    pub fn encapsulation_key_bytes(&self) -> usize {
        self.vector_bytes() + SEED_BYTES
    }

    /// Bytes in a decapsulation key: the vector s_hat, the encapsulation key, its hash, and z.
    pub fn decapsulation_key_bytes(&self) -> usize {
        self.vector_bytes() + self.encapsulation_key_bytes() + HASH_BYTES + SEED_BYTES
    }

    /// Bytes in the first part of a ciphertext: the compressed vector u.
    pub fn c1_bytes(&self) -> usize {
        encoded_bytes(self.du) * self.k
    }

    /// Bytes in a ciphertext: the compressed u and v.
    pub fn ciphertext_bytes(&self) -> usize {
        self.c1_bytes() + encoded_bytes(self.dv)
    }

    /// Bytes in a shared secret key: 32 for every set.
    pub fn shared_secret_bytes(&self) -> usize {
        SHARED_SECRET_BYTES
    }
}

/// Bytes in an encoded polynomial with d bits a coefficient: 32d.
pub(super) const fn encoded_bytes(d: u32) -> usize {
    N / 8 * d as usize
}
