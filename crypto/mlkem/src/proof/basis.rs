//! The arithmetic as compiled for each backend, on bases of its inputs. It is linear, or linear in
//! each of two factors, as the runs on polynomials show; what is right on a basis is then right
//! everywhere.

use lanes::{Backend, Dispatch, Hardware};

use super::definition::{PAIRS, Q, centred, gamma, power};
use super::{InverseNtt, Ntt, SumOfProducts};
use crate::params::N;
use crate::poly::Poly;
use crate::product::Scale;

fn expect(found: i16, expected: i64, place: usize) {
    assert_eq!((i64::from(found) - expected).rem_euclid(Q), 0, "word {place}");
}

/// Every power of X, times one and the largest coefficients.
struct ForwardOnBasis;

impl Dispatch for ForwardOnBasis {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        for factor in [1, 3328, -3] {
            for e in 0..N {
                let mut poly = Poly::zero();
                poly.0[e] = factor;
                lanes.run(Ntt(&mut poly));
                for i in 0..N {
                    let power = if i % 2 == e % 2 { power(gamma(i / 2), e / 2) } else { 0 };
                    expect(poly.0[i], i64::from(factor) * power, i);
                }
            }
        }
    }
}

/// The transform of every power of X.
struct InverseOnBasis;

impl Dispatch for InverseOnBasis {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        for e in 0..N {
            let mut poly = Poly::zero();
            for pair in 0..PAIRS {
                poly.0[2 * pair + e % 2] = centred(power(gamma(pair), e / 2));
            }
            lanes.run(InverseNtt(&mut poly));
            for i in 0..N {
                expect(poly.0[i], if i == e { 128 } else { 0 }, i);
            }
        }
    }
}

/// All pairs of words of two factors, another number in each pair.
struct ProductsOnBasis;

impl Dispatch for ProductsOnBasis {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let inverse = power(128, Q as usize - 2);
        for (scale, constant) in [(Scale::One, 1), (Scale::ForInverse, inverse)] {
            for of_a in 0..2 {
                for of_b in 0..2 {
                    let (mut a, mut b, mut to) = (Poly::zero(), Poly::zero(), Poly::zero());
                    for pair in 0..PAIRS {
                        a.0[2 * pair + of_a] = 3328 - 7 * pair as i16;
                        b.0[2 * pair + of_b] = 23 * pair as i16 - 14_000;
                    }
                    lanes.run(SumOfProducts { a: &[a], b: &[b], scale, to: &mut to });
                    for pair in 0..PAIRS {
                        let of_pair = |poly: &Poly<i16>, half| i64::from(poly.0[2 * pair + half]);
                        let product = constant * of_pair(&a, of_a) * of_pair(&b, of_b) % Q;
                        let product =
                            if of_a + of_b == 2 { product * gamma(pair) } else { product };
                        let place = 2 * pair + (of_a + of_b) % 2;
                        expect(to.0[place], product, place);
                        expect(to.0[place ^ 1], 0, place ^ 1);
                    }
                }
            }
        }
    }
}

#[test]
fn every_backend_is_right_on_the_basis() {
    for backend in Backend::available() {
        backend.run(ForwardOnBasis);
        backend.run(InverseOnBasis);
        backend.run(ProductsOnBasis);
    }
}
