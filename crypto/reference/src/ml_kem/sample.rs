//! Sampling (section 4.2.2).

use super::{N, Polynomial, Q, SEED_BYTES, XOF_BLOCK_BYTES, bytes_to_bits, hash};
use shake::digest::XofReader;

/// SampleNTT (algorithm 7): a polynomial in T_q from a seed of 32 bytes and two indices of one byte
/// each. Also returns the number of SHAKE128 blocks that hold the bytes that it read: 3 in most
/// cases, never fewer.
pub fn sample_ntt(b: &[u8; SEED_BYTES + 2]) -> (Polynomial, usize) {
    let mut ctx = hash::xof(b);
    let mut a_hat = [0; N];
    let mut j = 0;
    let mut bytes_read = 0;
    while j < N {
        let mut c = [0; 3];
        ctx.read(&mut c);
        bytes_read += c.len();
        let c = c.map(u16::from);
        let d1 = c[0] + 256 * (c[1] % 16);
        let d2 = c[1] / 16 + 16 * c[2];
        if d1 < Q {
            a_hat[j] = d1;
            j += 1;
        }
        if d2 < Q && j < N {
            a_hat[j] = d2;
            j += 1;
        }
    }
    (a_hat, bytes_read.div_ceil(XOF_BLOCK_BYTES))
}

/// SamplePolyCBD_eta (algorithm 8): coefficients from -eta to eta modulo q, each one the difference
/// of two sums of eta bits.
///
/// # Panics
///
/// If `b` has not 64 eta bytes.
pub fn sample_poly_cbd(eta: usize, b: &[u8]) -> Polynomial {
    assert_eq!(b.len(), 64 * eta, "64 eta bytes");
    let b = bytes_to_bits(b);
    let mut f = [0; N];
    for i in 0..N {
        let sum = |from: usize| b[from..from + eta].iter().map(|&bit| u16::from(bit)).sum::<u16>();
        let x = sum(2 * i * eta);
        let y = sum(2 * i * eta + eta);
        f[i] = (x + Q - y) % Q;
    }
    f
}
