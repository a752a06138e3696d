//! The field's operations: from the ranges that they may be given to those that they state, and of
//! the right value.

use lanes::FIELD_LANES;
use lanes::proof::Residue;
use reference::drbg::Drbg;

use super::super::field::{add, carry, mul, mul_carry, negate_canonical, square, sub};
use super::super::ladder::mul_small;
use super::{NO_FACTOR, Proof, REDUCED, Vectors, WIDE, holds, holds_by_operations};
use super::{is_within, value, values, vectors};
use crate::proof::definition::Number;

/// Does it on both kinds of lanes.
type Binary<const SIGNED: bool> = fn(Proof<SIGNED>, Vectors, Vectors) -> Vectors;

/// An operation: what its operands' limbs may be at most, what those of its result are, and its
/// value.
struct Operation<const SIGNED: bool> {
    name: &'static str,
    operands: [u64; 2],
    /// A range of operands for which the proof must fail.
    too_large: [u64; 2],
    result: u64,
    run: Binary<SIGNED>,
    value: fn(Number, Number) -> Number,
}

impl<const SIGNED: bool> Operation<SIGNED> {
    const ALL: &[Self] = &[
        Operation {
            name: "mul",
            operands: [REDUCED; 2],
            too_large: [NO_FACTOR; 2],
            result: WIDE,
            run: mul,
            value: Number::mul,
        },
        Operation {
            name: "mul_carry",
            operands: [REDUCED; 2],
            too_large: [NO_FACTOR; 2],
            result: REDUCED,
            run: mul_carry,
            value: Number::mul,
        },
        Operation {
            name: "square",
            operands: [REDUCED, 0],
            too_large: [NO_FACTOR, 0],
            result: WIDE,
            run: |lanes, a, _| square(lanes, a),
            value: |a, _| a.mul(a),
        },
        Operation {
            name: "mul_small",
            operands: [REDUCED, 0],
            too_large: [NO_FACTOR, 0],
            result: WIDE,
            run: |lanes, a, _| mul_small(lanes, a, LARGEST_SMALL),
            value: |a, _| a.mul(Number::of(LARGEST_SMALL.into())),
        },
        Operation {
            name: "carry",
            operands: [(1 << 63) - 1, 0],
            too_large: [u64::MAX, 0],
            result: REDUCED,
            run: |lanes, a, _| carry(lanes, a),
            value: |a, _| a,
        },
        Operation {
            name: "a sum",
            operands: [WIDE; 2],
            too_large: [u64::MAX; 2],
            result: REDUCED,
            run: |lanes, a, b| carry(lanes, add(lanes, a, b)),
            value: Number::add,
        },
        Operation {
            name: "a difference of a sum of two",
            operands: [2 * WIDE, WIDE],
            too_large: [u64::MAX, 2 * WIDE + 1],
            result: REDUCED,
            run: |lanes, a, b| carry(lanes, sub(lanes, a, b)),
            value: Number::sub,
        },
        Operation {
            name: "negate_canonical",
            operands: [(1 << 51) - 19, 0],
            too_large: [(1 << 51) - 18, 0],
            result: (1 << 51) - 1,
            run: |lanes, a, _| negate_canonical(lanes, a),
            value: |a, _| Number::default().sub(a),
        },
    ];
}

/// The largest factor of `mul_small`.
const LARGEST_SMALL: u32 = (1 << 17) - 1;

impl<const SIGNED: bool> Operation<SIGNED> {
    fn holds(&self, operands: [u64; 2]) -> bool {
        let mut random = Drbg::new(&[1; 48]);
        let [a, b] = operands.map(|largest| vectors(&mut random, largest));
        let found = (self.run)(Proof::default(), a, b);
        let expected: [Number; FIELD_LANES] =
            core::array::from_fn(|lane| (self.value)(value(&a, lane), value(&b, lane)));
        values(&found) == expected && is_within(&found, self.result)
    }
}

fn operations_are_right<const SIGNED: bool>() {
    for operation in Operation::<SIGNED>::ALL {
        holds_by_operations(1, operation.name, || operation.holds(operation.operands));
    }
}

#[test]
fn operations_are_right_and_stay_in_range() {
    operations_are_right::<false>();
    operations_are_right::<true>();
}

fn too_large_operands_are_found<const SIGNED: bool>() {
    for operation in Operation::<SIGNED>::ALL {
        for i in 0..2 {
            let mut operands = operation.operands;
            if operands[i] > 0 {
                operands[i] = operation.too_large[i];
                assert!(!holds(|| operation.holds(operands)), "{}: operand {i}", operation.name);
            }
        }
    }
}

#[test]
fn operands_out_of_range_are_found() {
    too_large_operands_are_found::<false>();
    too_large_operands_are_found::<true>();
}
