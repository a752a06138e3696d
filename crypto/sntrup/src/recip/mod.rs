//! Inverses in R/q and R/3 by constant-time division steps (Bernstein and Yang, "Fast constant-time
//! gcd computation and modular inversion", section 6): 2p - 1 steps for every input.
//!
//! Polynomials are reversed on entry, so that a step divides by x instead of cutting the top.
//! Control (`delta`, the decision to exchange) lives in lanes and masks like the data.

mod mod_3;
mod mod_q;

pub(crate) use mod_3::r3_invert;
pub(crate) use mod_q::rq_invert_triple;

#[cfg(test)]
mod tests {
    use lanes::{Backend, Dispatch, Hardware};

    use super::*;
    use crate::every_set::{Claim, for_every_set};
    use crate::params::ParameterSet;
    use crate::product::{Coefficients, Multiplier};
    use crate::r3::{Reduce, is_invertible_by_small_factors};

    /// 3 times an element's claimed inverse times the element, in R/q.
    struct CheckModQ<'a, P: ParameterSet>(&'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for CheckModQ<'_, P> {
        type Output = Vec<i16>;

        fn on<L: Hardware>(self, lanes: L) -> Vec<i16> {
            let mut third = self.0.clone();
            rq_invert_triple(lanes, &mut third);
            Multiplier::<P>::new().multiply_by(lanes, &mut third, self.0);
            let q = i32::from(P::Q);
            third.as_slice().iter().map(|&x| (3 * i32::from(x)).rem_euclid(q) as i16).collect()
        }
    }

    struct HasNoSmallFactor<'a, P: ParameterSet>(&'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for HasNoSmallFactor<'_, P> {
        type Output = bool;

        fn on<L: Hardware>(self, lanes: L) -> bool {
            is_invertible_by_small_factors(lanes, self.0)
        }
    }

    struct CheckMod3<'a, P: ParameterSet>(&'a Coefficients<P>);

    impl<P: ParameterSet> Dispatch for CheckMod3<'_, P> {
        type Output = Option<Vec<i16>>;

        fn on<L: Hardware>(self, lanes: L) -> Option<Vec<i16>> {
            let mut one = self.0.clone();
            if !r3_invert(lanes, &mut one) {
                return None;
            }
            Multiplier::<P>::new().multiply_by(lanes, &mut one, self.0);
            lanes.run(Reduce::<P, L>(&mut one));
            Some(one.as_slice().to_vec())
        }
    }

    fn is_one(a: &[i16]) -> bool {
        a.iter().enumerate().all(|(i, &x)| x == i16::from(i == 0))
    }

    struct Inverses;

    impl Claim for Inverses {
        fn check<P: ParameterSet>(&self) {
            let mut state = 1u64;
            let mut next = |range: i16| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                ((state >> 33) % (2 * range as u64 + 1)) as i16 - range
            };
            for backend in Backend::available() {
                for round in 0..6 {
                    let mut large = Coefficients::<P>::zero();
                    let mut small = Coefficients::<P>::zero();
                    large.as_mut_slice().fill_with(|| next(if round < 3 { 1 } else { P::Q / 2 }));
                    small.as_mut_slice().fill_with(|| next(1));
                    assert!(is_one(&backend.run(CheckModQ(&large))), "{} R/q", P::NAME);
                    let one = backend.run(CheckMod3(&small));
                    assert_eq!(one.is_some(), backend.run(HasNoSmallFactor(&small)), "{}", P::NAME);
                    assert!(one.is_none_or(|one| is_one(&one)), "{} R/3", P::NAME);
                }
            }
        }
    }

    fn of_terms<P: ParameterSet>(terms: &[(usize, i16)]) -> Coefficients<P> {
        let mut a = Coefficients::zero();
        for &(i, x) in terms {
            a.as_mut_slice()[i] = x;
        }
        a
    }

    /// Zero, and each small factor times monomials and times binomials, have no inverse.
    struct WithoutInverse;

    impl Claim for WithoutInverse {
        fn check<P: ParameterSet>(&self) {
            let mut elements = vec![Coefficients::<P>::zero()];
            for factor in P::SMALL_FACTORS {
                let terms: Vec<_> =
                    factor.bytes().map(|c| i16::from(c == b'+') - i16::from(c == b'-')).collect();
                for first in [0, 1, 63, 64, P::P - terms.len()] {
                    let mut a = Coefficients::zero();
                    a.as_mut_slice()[first..][..terms.len()].copy_from_slice(&terms);
                    elements.push(a.clone());
                    let far = (first + P::P / 2) % (P::P - terms.len());
                    for (x, y) in a.as_mut_slice()[far..].iter_mut().zip(&terms) {
                        *x = (*x - y + 4) % 3 - 1;
                    }
                    elements.push(a);
                }
            }
            for backend in Backend::available() {
                for a in &elements {
                    assert!(backend.run(CheckMod3(a)).is_none(), "{}", P::NAME);
                    assert!(!backend.run(HasNoSmallFactor(a)), "{}", P::NAME);
                }
            }
        }
    }

    /// Monomials, whose inverses take the longest and the shortest way, and elements of little
    /// weight.
    struct SparseInverses;

    impl Claim for SparseInverses {
        fn check<P: ParameterSet>(&self) {
            let mut elements = Vec::new();
            for k in [0, 1, 2, 31, 62, 63, 64, 65, 127, P::P / 2, P::P - 65, P::P - 2, P::P - 1] {
                for sign in [1, -1] {
                    elements.push((true, of_terms::<P>(&[(k, sign)])));
                    for l in [0, 5, 64, P::P - 1] {
                        elements.push((false, of_terms(&[(k, 1), (l, sign)])));
                        elements.push((false, of_terms(&[(k, -1), (l, sign), (P::P / 3, sign)])));
                    }
                }
            }
            for backend in Backend::available() {
                for (invertible, a) in &elements {
                    let one = backend.run(CheckMod3(a));
                    assert!(one.is_some() || !invertible, "{}", P::NAME);
                    assert_eq!(one.is_some(), backend.run(HasNoSmallFactor(a)), "{}", P::NAME);
                    assert!(one.is_none_or(|one| is_one(&one)), "{}", P::NAME);
                }
            }
        }
    }

    #[test]
    fn an_element_times_its_inverse_is_one() {
        for_every_set(&Inverses);
    }

    #[test]
    fn sparse_elements_have_inverses() {
        for_every_set(&SparseInverses);
    }

    #[test]
    fn multiples_of_small_factors_have_none() {
        for_every_set(&WithoutInverse);
    }
}
