//! Operations on words: the modular ones against the integers, and compression, encodings and
//! sampling on every input of a word, against the standard's transliteration.

use lanes::proof::{check_montgomery_products, check_operations_on_one_word, check_reductions};
use lanes::{Backend, Dispatch, Hardware, Kernel};
use reference::ml_kem::{self as oracle, Polynomial};

use super::definition::Q;
use crate::code::{
    are_below_q, binomial, decode, decode_compressed, encode, encode_compressed, sample_binomial,
};
use crate::ntt::montgomery_factor;
use crate::params::{MODULUS, N};
use crate::poly::{Poly, canonical};

#[test]
fn modular_operations_are_exact() {
    check_operations_on_one_word(MODULUS);
    check_reductions(MODULUS);
    // All factors of the transforms and of products are among these.
    let constants: Vec<_> = (0..Q).map(montgomery_factor).collect();
    check_montgomery_products(MODULUS, &constants);
}

/// Something that is checked on the lanes of every backend.
trait OnLanes {
    fn check<L: Hardware>(&self, lanes: L);
}

struct Run<'a, T>(&'a T);

impl<T: OnLanes> Dispatch for Run<'_, T> {
    type Output = ();

    fn on<L: Hardware>(self, lanes: L) {
        lanes.run(self);
    }
}

impl<T: OnLanes, L: Hardware> Kernel<L> for Run<'_, T> {
    type Output = ();

    fn run(self, lanes: L) {
        self.0.check(lanes);
    }
}

fn on_every_backend(what: &impl OnLanes) {
    Backend::available().for_each(|backend| backend.run(Run(what)));
}

/// Polynomials that have all integers of a range as coefficients.
fn polynomials(range: core::ops::RangeInclusive<i16>) -> Vec<Poly<i16>> {
    let all: Vec<i16> = range.collect();
    all.chunks(N).map(|some| Poly(core::array::from_fn(|i| some[i % some.len()]))).collect()
}

fn reduced(poly: &Poly<i16>) -> Polynomial {
    poly.0.map(|x| i64::from(x).rem_euclid(Q) as u16)
}

/// Encodings of every word, reduced or not, and their inverses on every field.
struct Compression;

impl OnLanes for Compression {
    fn check<L: Hardware>(&self, lanes: L) {
        for poly in polynomials(i16::MIN..=i16::MAX) {
            for bits in [1, 4, 5, 10, 11] {
                let mut bytes = vec![0; N / 8 * bits];
                encode_compressed(lanes, &poly, bits, &mut bytes);
                let compressed = oracle::compress_polynomial(bits as u32, &reduced(&poly));
                assert_eq!(bytes, oracle::byte_encode(bits as u32, &compressed), "{bits} bits");
            }
            let mut bytes = vec![0; N / 8 * 12];
            encode(lanes, &poly, &mut bytes);
            assert_eq!(bytes, oracle::byte_encode(12, &reduced(&poly)));
            let mut again = Poly::zero();
            decode(lanes, &bytes, &mut again);
            assert_eq!(again.0.map(|x| x as u16), reduced(&poly));
        }
        for bits in [1, 4, 5, 10, 11] {
            for fields in polynomials(0..=(1 << bits) - 1) {
                let fields: Polynomial = fields.0.map(|x| x as u16);
                let bytes = oracle::byte_encode(bits as u32, &fields);
                let mut poly = Poly::zero();
                decode_compressed(lanes, &bytes, bits, &mut poly);
                let expected = oracle::decompress_polynomial(bits as u32, &fields);
                assert_eq!(poly.0.map(|x| x as u16), expected, "{bits} bits");
            }
        }
    }
}

#[test]
fn every_word_is_compressed_and_encoded_as_defined() {
    on_every_backend(&Compression);
}

struct Canonical;

impl OnLanes for Canonical {
    fn check<L: Hardware>(&self, lanes: L) {
        for poly in polynomials(i16::MIN..=i16::MAX) {
            for i in (0..N).step_by(L::WORDS) {
                let mut words = vec![0; L::WORDS];
                lanes.store(&mut words, canonical(lanes, lanes.load(&poly.0[i..])));
                for (found, &word) in words.iter().zip(&poly.0[i..]) {
                    assert_eq!(i64::from(*found), i64::from(word).rem_euclid(Q), "{word}");
                }
            }
        }
    }
}

#[test]
fn every_word_has_its_representative() {
    on_every_backend(&Canonical);
}

/// Every 12 bits in every place of an encoded vector of polynomials.
struct Modulus;

impl OnLanes for Modulus {
    fn check<L: Hardware>(&self, lanes: L) {
        let below = |bytes: &[u8]| {
            let mut words = vec![0; L::WORDS];
            lanes.store(&mut words, are_below_q(lanes, bytes));
            words.iter().all(|&word| word == -1)
        };
        let mut bytes = oracle::byte_encode(12, &[3328; N]).repeat(2);
        assert!(below(&bytes));
        for place in 0..2 * N {
            let (at, shift) = (place * 12 / 8, place % 2 * 4);
            for value in 0..1 << 12 {
                let [low, high] = [bytes[at], bytes[at + 1]];
                let other = u16::from_le_bytes([low, high]) & !(0xfff << shift);
                [bytes[at], bytes[at + 1]] = (other | value << shift).to_le_bytes();
                assert_eq!(below(&bytes), i64::from(value) < Q, "{value} in place {place}");
                [bytes[at], bytes[at + 1]] = [low, high];
            }
        }
    }
}

#[test]
fn every_field_is_compared_with_the_modulus() {
    on_every_backend(&Modulus);
}

/// Every field of 2 eta bits, and bytes of which each is in each place.
struct Binomial;

impl OnLanes for Binomial {
    fn check<L: Hardware>(&self, lanes: L) {
        for eta in [2, 3] {
            for field in 0..1 << (2 * eta) {
                let mut words = vec![0; L::WORDS];
                lanes.store(&mut words, binomial(lanes, lanes.splat(field), eta));
                let ones = |x: i16| x.count_ones() as i16;
                let expected = ones(field & ((1 << eta) - 1)) - ones(field >> eta);
                assert_eq!(words, vec![expected; L::WORDS], "{field}");
            }
            for start in 0..=255 {
                let bytes: Vec<u8> = (0..64 * eta).map(|i| start ^ (i * 29) as u8).collect();
                let mut poly = Poly::zero();
                sample_binomial(lanes, &bytes, eta, &mut poly);
                assert_eq!(reduced(&poly), oracle::sample_poly_cbd(eta, &bytes));
                assert!(poly.0.iter().all(|x| x.unsigned_abs() <= eta as u16));
            }
        }
    }
}

#[test]
fn noise_is_sampled_as_defined() {
    on_every_backend(&Binomial);
}
