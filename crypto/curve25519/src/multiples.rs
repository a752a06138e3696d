//! Multiples of points, computed on lanes or without.

use lanes::{Backend, FieldDispatch, FieldParts};
use secret::Secret;

use crate::edwards::Point;
use crate::scalar::{Recoded, Words};
use crate::vector;

/// Multiples of the base point by secret scalars.
pub(crate) fn multiples_of_base(backend: Backend, scalars: &[Recoded]) -> Secret<[Point]> {
    let mut points = Secret::<[Point]>::slice(scalars.len());
    backend.run_field(OfBase { scalars, points: &mut points });
    points
}

struct OfBase<'a> {
    scalars: &'a [Recoded],
    points: &'a mut [Point],
}

impl FieldDispatch for OfBase<'_> {
    type Output = ();

    fn on<L: FieldParts>(self, lanes: L) {
        // Eight at once take as long as four by themselves; four, where they need no more lanes,
        // less than two by themselves.
        let alone = if L::IS_WHOLE { 3 } else { 1 };
        if self.scalars.len() > alone {
            vector::multiples_of_base(lanes, self.scalars, self.points);
        } else {
            for (point, scalar) in self.points.iter_mut().zip(self.scalars) {
                *point = vector::multiple_of_base(lanes, scalar);
            }
        }
    }

    fn without(self) {
        for (point, scalar) in self.points.iter_mut().zip(self.scalars) {
            *point = Point::multiple_of_base(scalar);
        }
    }
}

/// `a * point + b * base`, for public scalars below L; T is not valid. The point's Z is 1, and it
/// may have any order.
pub(crate) fn double_multiple_vartime(
    backend: Backend,
    a: &Words,
    point: &Point,
    b: &Words,
) -> Point {
    backend.run_field(Double { a, point, b })
}

struct Double<'a> {
    a: &'a Words,
    point: &'a Point,
    b: &'a Words,
}

impl FieldDispatch for Double<'_> {
    type Output = Point;

    fn on<L: FieldParts>(self, lanes: L) -> Point {
        vector::double_multiple_vartime(lanes, self.a, self.point, self.b)
    }

    fn without(self) -> Point {
        Point::double_multiple_vartime(self.a, self.point, self.b)
    }
}
