//! The number-theoretic transform (section 4.3), and sums of polynomials.

use super::{N, Polynomial, Q};

/// zeta = 17, a primitive 256th root of unity modulo q.
pub const ZETA: u16 = 17;

fn product(a: u16, b: u16) -> u16 {
    (u32::from(a) * u32::from(b) % u32::from(Q)) as u16
}

fn sum(a: u16, b: u16) -> u16 {
    (a + b) % Q
}

fn difference(a: u16, b: u16) -> u16 {
    (a + Q - b) % Q
}

/// zeta to a power.
fn zeta_power(exponent: usize) -> u16 {
    (0..exponent).fold(1, |power, _| product(power, ZETA))
}

/// zeta to each of the powers 0 to 255: computed once, as the transform asks for them often.
fn zetas() -> &'static [u16; 256] {
    static ZETAS: std::sync::LazyLock<[u16; 256]> =
        std::sync::LazyLock::new(|| std::array::from_fn(zeta_power));
    &ZETAS
}

fn check(f: &Polynomial) {
    assert!(f.iter().all(|&c| c < Q), "coefficients below q");
}

/// BitRev7: an integer of seven bits, with its bits in the opposite order.
///
/// # Panics
///
/// If i is not below 128.
pub fn bit_reverse(i: usize) -> usize {
    assert!(i < 128, "seven bits");
    (0..7).map(|bit| (i >> bit & 1) << (6 - bit)).sum()
}

/// NTT (algorithm 9): the transform in T_q of a polynomial.
///
/// # Panics
///
/// If a coefficient is not below q.
pub fn ntt(f: &Polynomial) -> Polynomial {
    check(f);
    let mut f_hat = *f;
    let mut i = 1;
    let mut len = 128;
    while len >= 2 {
        for start in (0..N).step_by(2 * len) {
            let zeta = zetas()[bit_reverse(i)];
            i += 1;
            for j in start..start + len {
                let t = product(zeta, f_hat[j + len]);
                f_hat[j + len] = difference(f_hat[j], t);
                f_hat[j] = sum(f_hat[j], t);
            }
        }
        len /= 2;
    }
    f_hat
}

/// NTT^-1 (algorithm 10): the polynomial of a transform.
///
/// # Panics
///
/// If a coefficient is not below q.
pub fn inverse_ntt(f_hat: &Polynomial) -> Polynomial {
    check(f_hat);
    let mut f = *f_hat;
    let mut i = 127;
    let mut len = 2;
    while len <= 128 {
        for start in (0..N).step_by(2 * len) {
            let zeta = zetas()[bit_reverse(i)];
            i -= 1;
            for j in start..start + len {
                let t = f[j];
                f[j] = sum(t, f[j + len]);
                f[j + len] = product(zeta, difference(f[j + len], t));
            }
        }
        len *= 2;
    }
    // 3303 is 1/128 modulo q.
    f.map(|c| product(c, 3303))
}

/// MultiplyNTTs (algorithm 11): the product in T_q.
///
/// # Panics
///
/// If a coefficient is not below q.
pub fn multiply_ntts(f_hat: &Polynomial, g_hat: &Polynomial) -> Polynomial {
    check(f_hat);
    check(g_hat);
    let mut h_hat = [0; N];
    for i in 0..128 {
        let gamma = zetas()[2 * bit_reverse(i) + 1];
        let (even, odd) = (2 * i, 2 * i + 1);
        (h_hat[even], h_hat[odd]) =
            base_case_multiply(f_hat[even], f_hat[odd], g_hat[even], g_hat[odd], gamma);
    }
    h_hat
}

/// BaseCaseMultiply (algorithm 12): the product of a0 + a1 X and b0 + b1 X modulo X^2 - gamma.
fn base_case_multiply(a0: u16, a1: u16, b0: u16, b1: u16, gamma: u16) -> (u16, u16) {
    let c0 = sum(product(a0, b0), product(product(a1, b1), gamma));
    let c1 = sum(product(a0, b1), product(a1, b0));
    (c0, c1)
}

/// The sum of two polynomials, or of two transforms.
pub fn add(f: &Polynomial, g: &Polynomial) -> Polynomial {
    check(f);
    check(g);
    std::array::from_fn(|i| sum(f[i], g[i]))
}

/// The difference of two polynomials, or of two transforms.
pub fn subtract(f: &Polynomial, g: &Polynomial) -> Polynomial {
    check(f);
    check(g);
    std::array::from_fn(|i| difference(f[i], g[i]))
}
