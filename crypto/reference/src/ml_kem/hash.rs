//! The hash functions of section 4.1.

use super::{HASH_BYTES, SEED_BYTES, SHARED_SECRET_BYTES};
use sha3::{Digest, Sha3_256, Sha3_512};
use shake::digest::{ExtendableOutput, Update, XofReader};
use shake::{Shake128, Shake128Reader, Shake256};

/// H: SHA3-256.
pub fn h(s: &[u8]) -> [u8; HASH_BYTES] {
    Sha3_256::digest(s).into()
}

/// J: the first 32 bytes of SHAKE256.
pub fn j(s: &[u8]) -> [u8; SHARED_SECRET_BYTES] {
    let mut output = [0; SHARED_SECRET_BYTES];
    shake256(s, &mut output);
    output
}

/// G: the two halves of SHA3-512.
pub fn g(c: &[u8]) -> ([u8; HASH_BYTES], [u8; HASH_BYTES]) {
    let digest: [u8; 2 * HASH_BYTES] = Sha3_512::digest(c).into();
    let (a, b) = digest.split_at(HASH_BYTES);
    (a.try_into().expect("the first half"), b.try_into().expect("the second half"))
}

/// PRF_eta: the first 64 eta bytes of SHAKE256 of s and then the byte b.
pub fn prf(eta: usize, s: &[u8; SEED_BYTES], b: u8) -> Vec<u8> {
    let mut output = vec![0; 64 * eta];
    shake256(&[&s[..], &[b]].concat(), &mut output);
    output
}

/// XOF: SHAKE128 after all of its input. `read` of the trait `XofReader` is XOF.Squeeze.
pub fn xof(input: &[u8]) -> Shake128Reader {
    let mut xof = Shake128::default();
    xof.update(input);
    xof.finalize_xof()
}

fn shake256(input: &[u8], output: &mut [u8]) {
    let mut xof = Shake256::default();
    xof.update(input);
    xof.finalize_xof().read(output);
}
