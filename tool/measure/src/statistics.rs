//! Quantiles of measured values.

/// The quartiles of at least one value; interpolated if the position is between two values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quartiles {
    /// A quarter of the values are lower.
    pub first: f64,
    /// Half of the values are lower.
    pub median: f64,
    /// A quarter of the values are higher.
    pub third: f64,
}

impl Quartiles {
    /// Returns the quartiles of values in any order; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values.to_vec());
        let at = |part| quantile(&sorted, part);
        Some(Quartiles { first: at(0.25)?, median: at(0.5)?, third: at(0.75)? })
    }
}

/// Sorts values in ascending order.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// Returns the value below which this part of the sorted values lies; `None` if there are no
/// values. If the position is between two values, it interpolates.
pub fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let place = part * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    Some(low + (high - low) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let values = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(
            [0.0, 0.25, 0.5, 1.0].map(|part| quantile(&values, part).unwrap()),
            [1.0, 1.75, 2.5, 4.0]
        );
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn quartiles_are_of_values_in_any_order() {
        let of = |values: &[f64]| {
            Quartiles::of(values)
                .map(|quartiles| (quartiles.first, quartiles.median, quartiles.third))
        };
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Some((1.75, 2.5, 3.25)));
        assert_eq!(of(&[4.0, 1.0, 5.0, 2.0, 3.0]), Some((2.0, 3.0, 4.0)));
        assert_eq!(of(&[7.0]), Some((7.0, 7.0, 7.0)));
        assert_eq!(of(&[]), None);
    }
}
