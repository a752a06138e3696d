//! K-PKE, the public-key encryption inside of ML-KEM (section 5).

use super::error::check_bytes;
use super::parameters::encoded_bytes;
use super::{
    Error, N, Parameters, Polynomial, SEED_BYTES, add, byte_decode, byte_encode,
    compress_polynomial, decompress_polynomial, g, inverse_ntt, multiply_ntts, ntt, prf,
    sample_ntt, sample_poly_cbd, subtract,
};

/// The matrix A in T_q: A\[i\]\[j\] is [`sample_ntt`] of rho, j and i (algorithm 13, lines 3 to 7).
pub fn matrix(params: &Parameters, rho: &[u8; SEED_BYTES]) -> Vec<Vec<Polynomial>> {
    let entries: Vec<_> = entries(params, rho).map(|(entry, _)| entry).collect();
    entries.chunks(params.k).map(<[_]>::to_vec).collect()
}

/// The number of SHAKE128 blocks for each entry of [`matrix`], row after row.
pub fn matrix_blocks(params: &Parameters, rho: &[u8; SEED_BYTES]) -> Vec<usize> {
    entries(params, rho).map(|(_, blocks)| blocks).collect()
}

/// The entries of the matrix, row after row, with their numbers of blocks.
fn entries(
    params: &Parameters,
    rho: &[u8; SEED_BYTES],
) -> impl Iterator<Item = (Polynomial, usize)> {
    let (k, rho) = (params.k, *rho);
    (0..k * k).map(move |index| {
        let (i, j) = (index / k, index % k);
        let mut seed = [0; SEED_BYTES + 2];
        seed[..SEED_BYTES].copy_from_slice(&rho);
        seed[SEED_BYTES] = j as u8;
        seed[SEED_BYTES + 1] = i as u8;
        sample_ntt(&seed)
    })
}

/// Noise polynomials, one for each value of the counter N of algorithms 13 and 14.
fn noise(eta: usize, seed: &[u8; SEED_BYTES], counters: std::ops::Range<usize>) -> Vec<Polynomial> {
    counters.map(|n| sample_poly_cbd(eta, &prf(eta, seed, n as u8))).collect()
}

/// The sum in T_q of the products of the entries of two vectors.
fn inner_product(a_hat: &[Polynomial], b_hat: &[Polynomial]) -> Polynomial {
    a_hat.iter().zip(b_hat).fold([0; N], |sum, (a, b)| add(&sum, &multiply_ntts(a, b)))
}

/// ByteEncode_12 of each polynomial.
fn encode_vector(vector: &[Polynomial]) -> Vec<u8> {
    vector.iter().flat_map(|f| byte_encode(12, f)).collect()
}

/// ByteDecode_12 of each 384 bytes.
fn decode_vector(bytes: &[u8]) -> Vec<Polynomial> {
    bytes.chunks(encoded_bytes(12)).map(|bytes| byte_decode(12, bytes)).collect()
}

/// K-PKE.KeyGen (algorithm 13): the encryption key and the decryption key of a seed.
pub fn k_pke_key_generation(params: &Parameters, d: &[u8; SEED_BYTES]) -> (Vec<u8>, Vec<u8>) {
    let k = params.k;
    let (rho, sigma) = g(&[&d[..], &[k as u8]].concat());
    let a_hat = matrix(params, &rho);
    let s = noise(params.eta1, &sigma, 0..k);
    let e = noise(params.eta1, &sigma, k..2 * k);
    let s_hat: Vec<Polynomial> = s.iter().map(ntt).collect();
    let e_hat: Vec<Polynomial> = e.iter().map(ntt).collect();
    // t = A s + e
    let t_hat: Vec<Polynomial> =
        (0..k).map(|i| add(&inner_product(&a_hat[i], &s_hat), &e_hat[i])).collect();
    let ek = [encode_vector(&t_hat), rho.to_vec()].concat();
    let dk = encode_vector(&s_hat);
    (ek, dk)
}

/// K-PKE.Encrypt (algorithm 14): the ciphertext of a message of 32 bytes, with 32 random bytes r.
///
/// Coefficients of the key that are not below q are reduced, as ByteDecode_12 does.
///
/// # Errors
///
/// [`Error::WrongLength`] for the key.
pub fn k_pke_encrypt(
    params: &Parameters,
    ek: &[u8],
    m: &[u8; SEED_BYTES],
    r: &[u8; SEED_BYTES],
) -> Result<Vec<u8>, Error> {
    check_bytes("encryption key", ek, params.encapsulation_key_bytes())?;
    let k = params.k;
    let (t, rho) = ek.split_at(params.vector_bytes());
    let t_hat = decode_vector(t);
    let a_hat = matrix(params, rho.try_into().expect("rho, the last 32 bytes of the key"));
    let y = noise(params.eta1, r, 0..k);
    let e1 = noise(params.eta2, r, k..2 * k);
    let e2 = noise(params.eta2, r, 2 * k..2 * k + 1)[0];
    let y_hat: Vec<Polynomial> = y.iter().map(ntt).collect();
    // u = A^T y + e1
    let u = (0..k).map(|i| {
        let column: Vec<Polynomial> = (0..k).map(|j| a_hat[j][i]).collect();
        add(&inverse_ntt(&inner_product(&column, &y_hat)), &e1[i])
    });
    let mu = decompress_polynomial(1, &byte_decode(1, m));
    // v = t^T y + e2 + mu
    let v = add(&add(&inverse_ntt(&inner_product(&t_hat, &y_hat)), &e2), &mu);
    let mut c: Vec<u8> =
        u.flat_map(|u| byte_encode(params.du, &compress_polynomial(params.du, &u))).collect();
    c.extend(byte_encode(params.dv, &compress_polynomial(params.dv, &v)));
    Ok(c)
}

/// K-PKE.Decrypt (algorithm 15): the message of a ciphertext, any 32 bytes if it is not honest.
///
/// # Errors
///
/// [`Error::WrongLength`] for the key or the ciphertext.
pub fn k_pke_decrypt(params: &Parameters, dk: &[u8], c: &[u8]) -> Result<[u8; SEED_BYTES], Error> {
    check_bytes("decryption key", dk, params.vector_bytes())?;
    check_bytes("ciphertext", c, params.ciphertext_bytes())?;
    let (c1, c2) = c.split_at(params.c1_bytes());
    let u_hat: Vec<Polynomial> = c1
        .chunks(encoded_bytes(params.du))
        .map(|c| ntt(&decompress_polynomial(params.du, &byte_decode(params.du, c))))
        .collect();
    let v = decompress_polynomial(params.dv, &byte_decode(params.dv, c2));
    let s_hat = decode_vector(dk);
    // w = v - s^T u
    let w = subtract(&v, &inverse_ntt(&inner_product(&s_hat, &u_hat)));
    let m = byte_encode(1, &compress_polynomial(1, &w));
    Ok(m.try_into().expect("256 bits"))
}
