//! Products, inverses and rounding, against the definitions.

use reference::drbg::Drbg;
use reference::sntrup::{self, Parameters, r3_inverse, r3_product, rq_inverse, rq_product};

/// A ring small enough to check products against by hand: x^5 = x + 1, modulo 7.
const TOY: Parameters = Parameters { name: "toy", p: 5, q: 7, w: 2 };

/// p coefficients of any size that fits, far beyond balanced ones.
fn anything(params: &Parameters, drbg: &mut Drbg) -> Vec<i32> {
    let integers = sntrup::u32s_random(params.p, &mut |bytes| drbg.fill(bytes));
    integers.into_iter().map(|u| u as i32).collect()
}

/// x^exponent.
fn monomial(params: &Parameters, exponent: usize) -> Vec<i32> {
    (0..params.p).map(|i| i32::from(i == exponent)).collect()
}

#[test]
fn toy_products() {
    // (x^4 + 2)(x^4 + 3x) = x^8 + 3x^5 + 2x^4 + 6x, x^8 = x^4 + x^3 and x^5 = x + 1.
    let (a, b) = ([2, 0, 0, 0, 1], [0, 3, 0, 0, 1]);
    assert_eq!(rq_product(&TOY, &a, &b), [3, 2, 0, 1, 3]);
    assert_eq!(r3_product(&TOY, &a, &b), [0, 0, 0, 1, 0]);
}

#[test]
fn monomials_wrap_around() {
    for params in Parameters::ALL {
        let p = params.p;
        let mut folded = monomial(&params, 0);
        folded[1] = 1;
        let half = rq_product(&params, &monomial(&params, p - 1), &monomial(&params, 1));
        assert_eq!(half, folded);
        // x^(2p-2) = x^(p-1) + x^(p-2).
        let mut top = monomial(&params, p - 1);
        top[p - 2] = 1;
        let last = monomial(&params, p - 1);
        assert_eq!(rq_product(&params, &last, &last), top);
        assert_eq!(r3_product(&params, &last, &last), top);
    }
}

#[test]
fn products_are_commutative_associative_and_balanced() {
    let mut drbg = Drbg::new(&[1; 48]);
    let params = Parameters::by_name("sntrup653").unwrap();
    let [a, b, c] = std::array::from_fn(|_| anything(&params, &mut drbg));
    for (product, modulus) in [(rq_product as fn(&_, &_, &_) -> _, params.q), (r3_product, 3)] {
        let ab: Vec<i32> = product(&params, &a, &b);
        assert!(ab.iter().all(|c| 2 * c.abs() < modulus));
        assert_eq!(ab, product(&params, &b, &a));
        assert_eq!(product(&params, &ab, &c), product(&params, &a, &product(&params, &b, &c)));
    }
}

#[test]
fn inverses_multiply_to_one() {
    let mut drbg = Drbg::new(&[2; 48]);
    for params in Parameters::ALL {
        let one = monomial(&params, 0);
        for _ in 0..3 {
            let a = anything(&params, &mut drbg);
            let inverse = rq_inverse(&params, &a).expect("R/q is a field");
            assert_eq!(rq_product(&params, &a, &inverse), one, "{}", params.name);
        }
        let (a, inverse) = loop {
            let a = anything(&params, &mut drbg);
            if let Some(inverse) = r3_inverse(&params, &a) {
                break (a, inverse);
            }
        };
        assert_eq!(r3_product(&params, &a, &inverse), one, "{}", params.name);
        for i in [0, 1, params.p - 1] {
            let x = monomial(&params, i);
            let inverse = rq_inverse(&params, &x).expect("x is no factor");
            assert_eq!(rq_product(&params, &x, &inverse), one);
        }
    }
}

#[test]
fn what_has_no_inverse() {
    for params in Parameters::ALL {
        let zero = vec![0; params.p];
        assert_eq!(rq_inverse(&params, &zero), None);
        assert_eq!(rq_inverse(&params, &vec![-params.q; params.p]), None);
        assert_eq!(r3_inverse(&params, &zero), None);
    }
    // x^653 - x - 1 has exactly one irreducible factor of degree 3 modulo 3. (No factor of degree 1
    // or 2 exists, so a monic cubic without inverse is that factor.)
    let params = Parameters::by_name("sntrup653").unwrap();
    let cubics = (0..27).map(|n| {
        let mut cubic = monomial(&params, 3);
        (cubic[0], cubic[1], cubic[2]) = (n % 3, n / 3 % 3, n / 9);
        cubic
    });
    let factors: Vec<_> = cubics.filter(|a| r3_inverse(&params, a).is_none()).collect();
    assert_eq!(factors.len(), 1);
    let multiple = anything(&params, &mut Drbg::new(&[3; 48]));
    let multiple = r3_product(&params, &multiple, &factors[0]);
    assert_ne!(multiple, vec![0; params.p]);
    assert_eq!(r3_inverse(&params, &multiple), None);
}

#[test]
fn rounding_goes_to_the_nearest_multiple_of_3() {
    for params in Parameters::ALL {
        let half = (params.q - 1) / 2;
        let all: Vec<i32> = (-half..=half).collect();
        for part in all.chunks(params.p) {
            let mut a = part.to_vec();
            a.resize(params.p, 0);
            for (c, rounded) in a.iter().zip(sntrup::round(&params, &a)) {
                assert_eq!(rounded % 3, 0);
                assert!((rounded - c).abs() <= 1 && rounded.abs() <= half, "{c} to {rounded}");
            }
        }
    }
    assert_eq!(sntrup::round(&TOY, &[4, 5, 6, -4, 9]), [-3, -3, 0, 3, 3]);
}

#[test]
#[should_panic(expected = "coefficients of a polynomial of sntrup761")]
fn wrong_number_of_coefficients() {
    let params = Parameters::by_name("sntrup761").unwrap();
    rq_product(&params, &[0; 761], &[0; 760]);
}
