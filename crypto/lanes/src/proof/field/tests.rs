//! Lanes of symbols against lanes that run on hardware: the same operations on the same numbers.

use super::*;
use crate::proof::examine;
use crate::{Backend, EachPart, FieldDispatch, FieldParts, Portable};

/// Integers modulo 2^127 - 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Mersenne(u128);

const PRIME: u128 = (1 << 127) - 1;

impl Residue for Mersenne {
    fn of(value: u128) -> Self {
        Mersenne(value % PRIME)
    }

    fn drawn([low, high, ..]: [u64; 4]) -> Self {
        Self::of(u128::from(low) | u128::from(high) << 64)
    }

    fn add(self, other: Self) -> Self {
        Self::of(self.0 + other.0)
    }

    fn sub(self, other: Self) -> Self {
        Self::of(self.0 + PRIME - other.0)
    }

    fn mul(self, other: Self) -> Self {
        (0..127).rev().fold(Self::default(), |sum, bit| {
            let twice = sum.add(sum);
            if other.0 >> bit & 1 == 1 { twice.add(self) } else { twice }
        })
    }
}

type Limbs<L> = [<L as FieldLanes>::Limb; FIELD_LANES];

const TABLE: [u64; FIELD_LANES] = [3, 1 << 40, 0, 7, u64::MAX, 1 << 51, 9, 1];
/// Within halves, and from one to the other.
const ORDERS: [[u64; FIELD_LANES]; 2] = [[2, 3, 2, 3, 6, 7, 6, 7], [3, 0, 1, 0, 5, 4, 4, 6]];
const ACROSS: [u64; FIELD_LANES] = [7, 0, 1, 0, 5, 4, 4, 2];
/// Vectors that [`EveryOperation`] reads: large ones, factors, small ones.
const VECTORS: usize = 6;
/// Vectors that it writes.
const RESULTS: usize = 23;
/// Halves of products, which are not the only ones possible if low ones have signs.
const HALVES: core::ops::Range<usize> = 11..15;

/// Runs every operation.
struct EveryOperation<'a, L: FieldLanes> {
    from: &'a [Limbs<L>; VECTORS],
    to: &'a mut [Limbs<L>; RESULTS],
}

impl<L: FieldLanes> Kernel<L> for EveryOperation<'_, L> {
    type Output = ();

    #[inline(always)]
    fn run(self, lanes: L) {
        let [a, b, x, y, s, t] = self.from;
        let [a, b] = [lanes.load_limbs(a), lanes.load_limbs(b)];
        let [x, y] = [lanes.load_limbs(x), lanes.load_limbs(y)];
        let [s, t] = [lanes.load_limbs(s), lanes.load_limbs(t)];
        let [one, zero] = &ORDERS;
        // Low halves with signs are added to this.
        let above = lanes.add_limbs(a, lanes.splat_limb(1 << 53));
        let (low, high) = lanes.mul_add_all(above, b, [x, y, y], [y, x, y]);
        let across = if L::IS_WHOLE { lanes.permute_limbs(a, &ACROSS) } else { a };
        let results = [
            a,
            lanes.constant_limbs(&TABLE),
            lanes.splat_limb(TABLE[1]),
            lanes.add_limbs(a, b),
            lanes.sub_limbs(lanes.add_limbs(a, b), b),
            lanes.sub_limbs(lanes.splat_limb(u64::MAX), a),
            lanes.low_bits::<51>(a),
            lanes.high_bits::<51>(a),
            lanes.times::<{ 1 << 31 }>(s),
            lanes.times::<19>(t),
            lanes.mul_add_small(a, lanes.low_bits::<26>(s), lanes.low_bits::<26>(x)),
            lanes.mul_add_low(above, x, y),
            lanes.mul_add_high(b, x, y),
            low,
            high,
            lanes.blend_limbs(0b1010_0110, a, b),
            lanes.permute_limbs(a, one),
            across,
            lanes.swap_limbs(a),
            lanes.select_limbs(lanes.bit(a, 3), x, y),
            lanes.select_limbs(lanes.bit(a, 60), s, b),
            lanes.permute_either(lanes.bit(s, 0), b, one, zero),
            lanes.nibble(a, 20),
            lanes.look_up(&TABLE, s),
        ];
        for i in 0..RESULTS {
            lanes.store_limbs(&mut self.to[i], results[i]);
        }
    }
}

/// The largest factor whose square has 103 bits.
const LARGEST_FACTOR: u64 = (1u128 << 103).isqrt() as u64;

/// All operations on each part.
struct OnParts<'a> {
    from: &'a [Limbs<Portable>; VECTORS],
    to: &'a mut [Limbs<Portable>; RESULTS],
}

impl EachPart for OnParts<'_> {
    fn on<L: FieldLanes<Limb = u64>>(&mut self, lanes: L) {
        lanes.run_field(EveryOperation::<L> { from: self.from, to: self.to });
    }
}

/// Random numbers, which are often at the edges.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) ^ self.0 >> 32
    }

    /// One of `range`.
    fn of(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (low, high) = range.into_inner();
        match self.next() >> 61 {
            0 => low,
            1 => high,
            _ => low + self.next() % (high - low + 1),
        }
    }

    /// Ranges of the operands, of which the largest integers do not leave theirs.
    fn ranges(&mut self) -> [[RangeInclusive<u64>; FIELD_LANES]; VECTORS] {
        const LARGEST: [u64; VECTORS] = [
            (1 << 62) - 1,
            (1 << 62) - 1,
            LARGEST_FACTOR,
            LARGEST_FACTOR,
            u32::MAX as u64,
            1 << 31,
        ];
        LARGEST.map(|largest| {
            [(); FIELD_LANES].map(|()| {
                let (a, b) = (self.of(0..=largest), self.of(0..=largest));
                // Narrow ones, of which the high bits are known, and any.
                if self.next() >> 63 == 0 {
                    a..=(a + b % 1000).min(largest)
                } else {
                    a.min(b)..=a.max(b)
                }
            })
        })
    }
}

#[derive(Clone, Copy)]
struct Compare;

impl FieldDispatch for Compare {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        match L::Lower::SPLIT {
            Split::Unsigned52 => compare::<L, false>(lanes),
            Split::Signed51 => compare::<L, true>(lanes),
        }
    }

    fn without(self) {}
}

fn compare<L: FieldParts, const SIGNED: bool>(lanes: L) {
    let mut random = Random(1);
    let symbols = Symbols::<Mersenne, SIGNED>::default();
    let of = |value: u64| Mersenne::of(value.into());
    for _ in 0..300 {
        let ranges = random.ranges();
        let from = ranges.clone().map(|lanes| lanes.map(|range| random.of(range)));
        let mut expected = [[0; FIELD_LANES]; RESULTS];
        lanes.each(OnParts { from: &from, to: &mut expected });
        let run = |from: &[Vector<Mersenne>; VECTORS]| {
            let mut to = [[Symbol::default(); FIELD_LANES]; RESULTS];
            let kernel = EveryOperation { from, to: &mut to };
            let ((), violations) = examine(|| symbols.run_field(kernel));
            (to, violations)
        };

        // Of one integer: what hardware computes.
        let (found, violations) = run(&from.map(|lanes| lanes.map(Symbol::constant)));
        assert_eq!(violations, []);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            if SIGNED && HALVES.contains(&i) {
                continue;
            }
            let found = found.map(|limb| (limb.single(), limb.value()));
            assert_eq!(found, expected.map(|x| (Some(x), of(x))), "operation {i}");
        }

        // Of ranges: what hardware computes is in them.
        let of_ranges = core::array::from_fn(|i| {
            core::array::from_fn(|lane| Symbol::new(ranges[i][lane].clone(), of(from[i][lane])))
        });
        let (found, _) = run(&of_ranges);
        for (i, (found, expected)) in found.iter().zip(&expected).enumerate() {
            for (found, expected) in found.iter().zip(expected) {
                let holds = (found.low()..=found.high()).contains(expected);
                assert!(holds, "operation {i}: {expected:#x} is not in {found}");
            }
        }
    }
}

#[test]
fn symbols_are_what_hardware_computes() {
    Compare.on(Portable);
    for backend in Backend::available() {
        backend.run_field(Compare);
    }
}

fn limb(range: RangeInclusive<u64>, value: u128) -> Vector<Mersenne> {
    [Symbol::new(range, Mersenne::of(value)); FIELD_LANES]
}

/// The two parts of a number add up, whatever it is; each is the same wherever it comes from, and
/// no other number's.
#[test]
fn parts_add_up() {
    let lanes = Symbols::<Mersenne>::default();
    let (a, b) = (limb(0..=(1 << 52) - 1, 12_345 << 90), limb(0..=(1 << 52) - 1, 77 << 100));
    let zero = lanes.splat_limb(0);
    let (low, high) = (lanes.mul_add_low(zero, a, b)[0], lanes.mul_add_high(zero, b, a)[0]);
    let sum = |low: Symbol<Mersenne>, high: Symbol<Mersenne>, bits| {
        low.value().add(high.value().mul(Mersenne::of(1u128 << bits)))
    };
    assert_eq!(sum(low, high, 52), a[0].value().mul(b[0].value()));
    assert_ne!(high, lanes.mul_add_high(zero, a, a)[0]);
    assert_ne!(high.value(), Mersenne::default());

    let wide = lanes.add_limbs(a, b);
    let (low, high) = (lanes.low_bits::<51>(wide)[0], lanes.high_bits::<51>(wide)[0]);
    assert_eq!(sum(low, high, 51), wide[0].value());
    assert_eq!(high, lanes.high_bits::<51>(lanes.add_limbs(b, a))[0]);
    assert_ne!(high.value(), lanes.high_bits::<51>(a)[0].value());
    // Nothing is above the highest bit.
    assert_eq!(lanes.low_bits::<52>(a), a);
    assert_eq!(lanes.high_bits::<52>(a), zero);
    let small = limb(0..=4095, 99 << 80);
    let product = lanes.mul_add_low(zero, small, lanes.splat_limb(19))[0];
    assert_eq!(product.value(), small[0].value().mul(Mersenne::of(19)));
}

#[test]
fn what_leaves_its_range_is_a_violation() {
    let lanes = Symbols::<Mersenne>::default();
    let any = limb(0..=u64::MAX, 1);
    let (factor, zero) = (limb(0..=(1 << 52) - 1, 2), lanes.splat_limb(0));
    let fails = |what: &dyn Fn() -> Vector<Mersenne>| !examine(what).1.is_empty();
    assert!(fails(&|| lanes.add_limbs(any, lanes.splat_limb(1))));
    assert!(!fails(&|| lanes.add_limbs(any, zero)));
    assert!(fails(&|| lanes.sub_limbs(factor, lanes.splat_limb(1))));
    assert!(!fails(&|| lanes.sub_limbs(lanes.splat_limb(1 << 52), factor)));
    assert!(fails(&|| lanes.times::<4097>(factor)));
    assert!(!fails(&|| lanes.times::<4096>(factor)));
    let (small, large) = (limb(0..=(1 << 26) - 1, 4), limb(0..=1 << 26, 5));
    assert!(!fails(&|| lanes.mul_add_small(zero, small, small)));
    assert!(fails(&|| lanes.mul_add_small(zero, large, small)));
    assert!(fails(&|| lanes.mul_add_small(zero, small, large)));
    let wide = limb(0..=1 << 52, 3);
    for (a, b) in [(wide, factor), (factor, wide)] {
        assert!(fails(&|| lanes.mul_add_low(zero, a, b)));
        assert!(fails(&|| lanes.mul_add_high(zero, a, b)));
    }
    assert!(!fails(&|| lanes.mul_add_high(
        lanes.mul_add_low(zero, factor, factor),
        factor,
        factor
    )));
    assert!(fails(&|| lanes.mul_add_low(any, factor, factor)));
}

#[test]
fn an_operation_is_wrong_once() {
    let lanes = Symbols::<Mersenne>::default();
    let sums = || {
        let one = lanes.splat_limb(1);
        let two = lanes.add_limbs(one, one);
        [two, lanes.add_limbs(one, one)].map(|v| v[0].value())
    };
    let [two, three] = [2, 3].map(Mersenne::of);
    assert_eq!(with_fault(0, sums), Some([three, two]));
    assert_eq!(with_fault(1, sums), Some([two, three]));
    assert_eq!(with_fault(2, sums), None);
    assert_eq!(sums(), [two, two]);
}

/// Halves with signs: they add up, sums that may go below zero are found, and so are products of
/// more than 103 bits and orders from half to half.
#[test]
fn halves_with_signs() {
    let lanes = Symbols::<Mersenne, true>::default();
    let fails = |what: &dyn Fn() -> Vector<Mersenne>| !examine(what).1.is_empty();
    let factor = limb(0..=LARGEST_FACTOR, 12_345 << 90);
    let zero = lanes.splat_limb(0);
    let enough = (1 << 51) - 1;
    let low = lanes.mul_add_low(lanes.splat_limb(enough), factor, factor)[0];
    let high = lanes.mul_add_high(zero, factor, factor)[0];
    assert_eq!((low.low(), low.high()), (0, 2 * enough));
    assert_eq!((high.low(), high.high()), (0, 1 << 52));
    let sum = low.value().add(high.value().mul(Mersenne::of(1 << 51)));
    let square = factor[0].value().mul(factor[0].value());
    assert_eq!(sum, square.add(Mersenne::of(enough.into())));

    assert!(fails(&|| lanes.mul_add_low(lanes.splat_limb(enough - 1), factor, factor)));
    let largest = limb(0..=u64::MAX - enough + 1, 1);
    assert!(fails(&|| lanes.mul_add_low(largest, factor, factor)));
    let larger = limb(0..=LARGEST_FACTOR + 1, 2);
    assert!(fails(&|| lanes.mul_add_high(zero, larger, larger)));
    assert!(!fails(&|| lanes.mul_add_high(
        zero,
        lanes.splat_limb((1 << 52) - 1),
        lanes.splat_limb(1 << 51)
    )));
    // There is nothing below in what is a multiple.
    let power = lanes.splat_limb(1 << 50);
    assert_eq!(lanes.mul_add_low(zero, power, lanes.splat_limb(6)), zero);
    assert_eq!(lanes.mul_add_high(zero, power, lanes.splat_limb(6)), lanes.splat_limb(3));
    assert!(fails(&|| lanes.permute_limbs(factor, &ACROSS)));
    assert!(!fails(&|| lanes.permute_limbs(factor, &ORDERS[1])));
}
