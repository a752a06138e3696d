//! Kernels on portable lanes, whose overflow checks find a limb that leaves its range, beside the
//! code for one element at a time.

use lanes::{
    Backend, EachPart, FIELD_LANES, FieldDispatch, FieldLanes, FieldParts, Kernel, Portable,
};
use reference::drbg::Drbg;

use super::field::{Stored, add, carry, load, mul, square, store, sub, zeros};
use super::{double_multiple_vartime, ladder, ladders, multiple_of_base, multiples_of_base};
use crate::edwards::Point;
use crate::field::{Fe, LIMBS};
use crate::montgomery::{self, Projective};
use crate::scalar::{self, Words};

/// Does something on portable lanes, and on those of the machine.
fn on_all_lanes(what: impl Copy + FieldDispatch<Output = ()>) {
    what.on(Portable);
    for backend in Backend::available() {
        backend.run_field(what);
    }
}

/// Limbs at the edges of what is reduced, and random ones.
fn limbs(random: &mut Drbg, which: usize) -> u64 {
    const REDUCED: u64 = (1 << 51) + (1 << 17);
    let mut bytes = [0; 8];
    random.fill(&mut bytes);
    match which % 5 {
        0 => 0,
        1 => REDUCED - 1,
        2 => (1 << 51) - 1,
        3 => 1 << 51,
        _ => u64::from_le_bytes(bytes) % REDUCED,
    }
}

fn elements(random: &mut Drbg, which: usize) -> Stored<Portable> {
    let mut elements = zeros::<Portable>();
    for i in 0..LIMBS {
        for lane in 0..FIELD_LANES {
            elements[i][lane] = limbs(random, which / 5usize.pow(i as u32) + lane);
        }
    }
    elements
}

fn element(stored: &Stored<Portable>, lane: usize) -> Fe {
    Fe(core::array::from_fn(|i| stored[i][lane]))
}

/// Product, square, sum, difference, and difference of products.
struct Operations<'a, L: FieldLanes> {
    a: &'a Stored<L>,
    b: &'a Stored<L>,
    to: &'a mut [Stored<L>; 5],
}

impl<L: FieldLanes> Kernel<L> for Operations<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let (a, b) = (load(lanes, self.a), load(lanes, self.b));
        let (product, square) = (mul(lanes, a, b), square(lanes, a));
        let results = [
            product,
            square,
            add(lanes, a, b),
            sub(lanes, a, b),
            sub(lanes, add(lanes, product, product), square),
        ];
        for i in 0..results.len() {
            store(lanes, &mut self.to[i], carry(lanes, results[i]));
        }
    }
}

/// [`Operations`] on each part of the lanes.
struct EachOperations<'a> {
    a: &'a Stored<Portable>,
    b: &'a Stored<Portable>,
    to: &'a mut [Stored<Portable>; 5],
}

impl EachPart for EachOperations<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        lanes.run_field(Operations::<L> { a: self.a, b: self.b, to: self.to });
    }
}

#[derive(Clone, Copy)]
struct Field;

impl FieldDispatch for Field {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        let mut random = Drbg::new(&[1; 48]);
        for which in 0..3125 {
            let (a, b) = (elements(&mut random, which), elements(&mut random, which * 7 + 3));
            let mut to = [zeros::<Portable>(); 5];
            lanes.each(EachOperations { a: &a, b: &b, to: &mut to });
            for lane in 0..FIELD_LANES {
                let (a, b) = (element(&a, lane), element(&b, lane));
                let (product, square) = (a.mul(b), a.square());
                let doubled = product.add(product).carried().sub(square);
                let expected = [product, square, a.add(b), a.sub(b), doubled];
                for (expected, found) in expected.iter().zip(&to) {
                    let found = element(found, lane);
                    assert!(found.0.iter().all(|&limb| limb < (1 << 51) + (1 << 17)));
                    assert_eq!(found.to_bytes(), expected.to_bytes());
                }
            }
        }
    }

    fn without(self) {}
}

#[test]
fn field_operations() {
    on_all_lanes(Field);
}

/// Scalars that are small, large and in between.
fn scalars() -> Vec<Words> {
    let mut random = Drbg::new(&[2; 48]);
    let minus_one = [scalar::ORDER[0] - 1, scalar::ORDER[1], scalar::ORDER[2], scalar::ORDER[3]];
    let mut scalars = vec![[0; 4], [1, 0, 0, 0], [2, 0, 0, 0], [15, 0, 0, 0], minus_one];
    for _ in 0..8 {
        let mut bytes = [0; 64];
        random.fill(&mut bytes);
        scalars.push(scalar::reduce(&bytes));
    }
    scalars
}

fn encoded(point: &Point) -> [u8; 32] {
    point.encode(point.z.invert())
}

#[derive(Clone, Copy)]
struct Multiples;

impl FieldDispatch for Multiples {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        let scalars = scalars();
        let recoded: Vec<_> = scalars.iter().map(|scalar| *scalar::recode(scalar)).collect();
        let mut together = vec![Point::IDENTITY; scalars.len()];
        multiples_of_base(lanes, &recoded, &mut together);
        // The order-8 point of the smallest y, and sums with it.
        let mut small = [0; 32];
        small[..8].copy_from_slice(&0xb027_b2c2_8f95_e826u64.to_le_bytes());
        small[8..16].copy_from_slice(&0xf098_eff2_89f4_c345u64.to_le_bytes());
        small[16..24].copy_from_slice(&0x3933_c6d3_05ac_dfd5u64.to_le_bytes());
        small[24..].copy_from_slice(&0x05fc_536d_8802_38b1u64.to_le_bytes());
        let small = Point::decode_vartime(&small).unwrap();
        for (i, scalar) in scalars.iter().enumerate() {
            let expected = encoded(&Point::multiple_of_base(&recoded[i]));
            assert_eq!(encoded(&together[i]), expected);
            assert_eq!(encoded(&multiple_of_base(lanes, &recoded[i])), expected);
            let other = Point::decode_vartime(&expected).unwrap();
            let mixed = Point::decode_vartime(&encoded(&other.add(&small.prepared()))).unwrap();
            for point in [Point::BASE, Point::IDENTITY, small, other, mixed] {
                for b in [scalar, &scalars[(i + 3) % scalars.len()]] {
                    let found = double_multiple_vartime(lanes, scalar, &point, b);
                    let expected = Point::double_multiple_vartime(scalar, &point, b);
                    assert_eq!(encoded(&found), encoded(&expected));
                }
            }
        }
    }

    fn without(self) {}
}

#[test]
fn multiples() {
    on_all_lanes(Multiples);
}

#[derive(Clone, Copy)]
struct Ladders;

impl FieldDispatch for Ladders {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        let mut random = Drbg::new(&[3; 48]);
        let mut pairs = Vec::new();
        for i in 0..20 {
            let (mut secret, mut u) = ([0; 32], [0; 32]);
            random.fill(&mut secret);
            random.fill(&mut u);
            // Small order, small, and from p on.
            match i {
                0 => u = [0; 32],
                1 => (u, u[0]) = ([0; 32], 1),
                2 => u = [0xff; 32],
                3 => (u, u[0]) = ([0; 32], 9),
                _ => {}
            }
            pairs.push((secret, u));
        }
        let mut together = vec![Projective::default(); pairs.len()];
        ladders(lanes, pairs.iter().map(|(secret, u)| (secret, u)), &mut together);
        for ((secret, u), together) in pairs.iter().zip(&together) {
            let expected = montgomery::ladder(secret, u);
            for found in [&ladder(lanes, secret, u), together] {
                // X and Z up to a factor, and neither zero where the other's is not.
                let (one, other) = (found.x.mul(expected.z), expected.x.mul(found.z));
                assert_eq!(one.to_bytes(), other.to_bytes());
                assert_eq!(found.z.is_zero(), expected.z.is_zero());
            }
        }
    }

    fn without(self) {}
}

#[test]
fn all_ladders() {
    on_all_lanes(Ladders);
}
