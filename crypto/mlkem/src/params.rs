//! The one table of parameter sets (FIPS 203, section 8). A parameter set is a type; everything
//! else derives from its constants.

use core::fmt::Debug;

use kem_common::{Array, Element};
use lanes::Modulus;

/// Coefficients of a polynomial.
pub(crate) const N: usize = 256;
/// The modulus.
pub(crate) const Q: i16 = 3329;
/// q with the constants of its reductions.
pub(crate) const MODULUS: Modulus = Modulus::new(Q);
/// Bytes of a polynomial in 12 bits a coefficient.
pub(crate) const POLY_BYTES: usize = N * 12 / 8;
/// Bytes of a seed, a hash, a message and a shared secret.
pub(crate) const SEED: usize = 32;
/// eta of the noise in a ciphertext.
pub(crate) const ETA2: usize = 2;
/// The largest k.
pub(crate) const MAX_K: usize = 4;

/// A parameter set of ML-KEM.
///
/// Sealed: there are three. The ring is Z_q\[X\]/(X^256 + 1) with q = 3329.
pub trait ParameterSet: Copy + Debug + PartialEq + Eq + Send + Sync + 'static {
    /// Its name, in lower case: `mlkem768`.
    const NAME: &'static str;
    /// Polynomials in a vector.
    const K: usize;
    /// Bound of the secret's and the key's noise.
    const ETA1: usize;
    /// Bits of a compressed coefficient of u.
    const DU: usize;
    /// Bits of a compressed coefficient of v.
    const DV: usize;

    /// Bytes of an encapsulation key: t and the seed of the matrix.
    const ENCAPSULATION_KEY_BYTES: usize = POLY_BYTES * Self::K + SEED;
    /// Bytes of a decapsulation key: s, the encapsulation key, its hash and z.
    const DECAPSULATION_KEY_BYTES: usize =
        POLY_BYTES * Self::K + Self::ENCAPSULATION_KEY_BYTES + 2 * SEED;
    /// Bytes of a ciphertext: u and v, compressed.
    const CIPHERTEXT_BYTES: usize = N / 8 * (Self::DU * Self::K + Self::DV);

    /// K elements.
    type Vector<E: Element>: Array<E>;
    /// K rows of K elements.
    type Matrix<E: Element>: Array<E>;
    /// [`Self::ENCAPSULATION_KEY_BYTES`] bytes.
    type EncapsulationKeyBytes: Array<u8>;
    /// [`Self::DECAPSULATION_KEY_BYTES`] bytes.
    type DecapsulationKeyBytes: Array<u8>;
    /// [`Self::CIPHERTEXT_BYTES`] bytes.
    type CiphertextBytes: Array<u8>;
}

macro_rules! parameter_sets {
    ($($type:ident $title:literal $name:literal k $k:literal eta1 $eta1:literal du $du:literal dv $dv:literal;)*) => {$(
        #[doc = concat!($title, ": k = ", $k, ", eta1 = ", $eta1, ", du = ", $du, ", dv = ", $dv, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $type;

        impl ParameterSet for $type {
            const NAME: &'static str = $name;
            const K: usize = $k;
            const ETA1: usize = $eta1;
            const DU: usize = $du;
            const DV: usize = $dv;

            type Vector<E: Element> = [E; Self::K];
            type Matrix<E: Element> = [E; Self::K * Self::K];
            type EncapsulationKeyBytes = [u8; Self::ENCAPSULATION_KEY_BYTES];
            type DecapsulationKeyBytes = [u8; Self::DECAPSULATION_KEY_BYTES];
            type CiphertextBytes = [u8; Self::CIPHERTEXT_BYTES];
        }
    )*};
}

parameter_sets! {
    MlKem512 "ML-KEM-512" "mlkem512" k 2 eta1 3 du 10 dv 4;
    MlKem768 "ML-KEM-768" "mlkem768" k 3 eta1 2 du 10 dv 4;
    MlKem1024 "ML-KEM-1024" "mlkem1024" k 4 eta1 2 du 11 dv 5;
}
