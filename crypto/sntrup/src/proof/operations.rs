//! The modular operations of every backend against the integers, and kernels that take a
//! coefficient to a coefficient on every coefficient.

use core::marker::PhantomData;

use lanes::proof::{check_montgomery_products, check_operations_on_one_word, check_reductions};
use lanes::{Backend, Dispatch, Hardware};

use super::definition::Definition;
use super::ranges::Ranges;
use crate::encode::{DecodeRounded, DecodeRq, EncodeRounded, EncodeRq};
use crate::every_set::{Claim, for_every_set};
use crate::params::ParameterSet;
use crate::product::Coefficients;
use crate::r3::Reduce;
use crate::rq::{Round, TripleToSmall};

/// The remainder in `-(q-1)/2 ..= (q-1)/2`, for an odd q.
fn centred(x: i16, q: i16) -> i16 {
    let (x, q) = (i32::from(x), i32::from(q));
    ((x + q / 2).rem_euclid(q) - q / 2) as i16
}

struct Operations;

impl Claim for Operations {
    fn check<P: ParameterSet>(&self) {
        check_operations_on_one_word(P::MODULUS);
        check_reductions(P::MODULUS);
        // Constant factors of the multiplier and the inversion: every c of x^m - c, which are a
        // power of g times a sixth root of unity each, and 2^16, all times 2^16.
        let roots = Definition::<P>::roots();
        let constants = roots.as_flattened().iter().map(|root| root << 16).chain([1 << 32]);
        let constants: Vec<_> = constants.map(Definition::<P>::centred).collect();
        check_montgomery_products(P::MODULUS, &constants);
    }
}

#[test]
fn modular_operations_are_exact() {
    for_every_set(&Operations);
}

/// Kernels that take a coefficient to a coefficient, on every coefficient.
struct OneCoefficient<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for OneCoefficient<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let half = Ranges::<P>::COEFFICIENT;
        let all: Vec<_> = (-half..=half).collect();
        for some in all.chunks(P::P) {
            let mut coefficients = Coefficients::<P>::zero();
            coefficients.as_mut_slice()[..some.len()].copy_from_slice(some);
            let check = |result: &Coefficients<P>, expected: &dyn Fn(i16) -> i16| {
                for (&x, &y) in coefficients.words().iter().zip(result.words()) {
                    assert_eq!(y, expected(x), "{} {x}", P::NAME);
                }
            };
            let mut result = coefficients.clone();
            lanes.run(Round::<P, L>(&mut result));
            check(&result, &|x| 3 * (i32::from(x) as f64 / 3.0).round() as i16);
            assert!(result.words().iter().all(|x| x.abs() <= half));
            result.clone_from(&coefficients);
            lanes.run(TripleToSmall::<P, L>(&mut result));
            check(&result, &|x| centred(centred(3 * x, P::Q), 3));
            result.clone_from(&coefficients);
            lanes.run(Reduce::<P, L>(&mut result));
            check(&result, &|x| centred(x, 3));

            let mut bytes = vec![0; P::PUBLIC_KEY_BYTES];
            lanes.run(EncodeRq(&coefficients, &mut bytes));
            lanes.run(DecodeRq(&mut result, &bytes));
            check(&result, &|x| x);
            let mut rounded = coefficients.clone();
            lanes.run(Round::<P, L>(&mut rounded));
            lanes.run(EncodeRounded(&rounded, &mut bytes[..P::ROUNDED_BYTES]));
            lanes.run(DecodeRounded(&mut result, &bytes[..P::ROUNDED_BYTES]));
            assert!(result.words() == rounded.words(), "{}", P::NAME);
        }
    }
}

/// Bytes from anyone decode to coefficients that the multiplier takes.
struct HostileBytes<P>(PhantomData<P>);

impl<P: ParameterSet> Dispatch for HostileBytes<P> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        let mut state = 1u64;
        let mut bytes = vec![0; P::PUBLIC_KEY_BYTES];
        for round in 0..64 {
            for byte in &mut bytes {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let random = (state >> 56) as u8;
                *byte = match round % 4 {
                    0 => random,
                    1 => 0xff,
                    2 => random | 0xf0,
                    _ => 0xff * (random & 1),
                };
            }
            let mut a = Coefficients::<P>::zero();
            let in_range = |a: &Coefficients<P>| {
                a.words()[P::P..].iter().all(|&x| x == 0)
                    && a.words().iter().all(|x| x.abs() <= Ranges::<P>::COEFFICIENT)
            };
            lanes.run(DecodeRq(&mut a, &bytes));
            assert!(in_range(&a), "{}", P::NAME);
            lanes.run(DecodeRounded(&mut a, &bytes[..P::ROUNDED_BYTES]));
            assert!(in_range(&a), "{}", P::NAME);
        }
    }
}

struct Coefficientwise;

impl Claim for Coefficientwise {
    fn check<P: ParameterSet>(&self) {
        for backend in Backend::available() {
            backend.run(OneCoefficient::<P>(PhantomData));
            backend.run(HostileBytes::<P>(PhantomData));
        }
    }
}

#[test]
fn every_coefficient_is_rounded_and_reduced_as_defined() {
    for_every_set(&Coefficientwise);
}
