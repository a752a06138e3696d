//! Axes of panels: scales, ticks and labels.

use std::ops::Range;

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};

/// An axis of a panel.
pub(crate) struct Axis {
    /// The quantity, with its unit.
    pub(crate) title: String,
    pub(crate) scale: Scale,
    /// Values with grid lines, lowest first.
    pub(crate) ticks: Vec<f64>,
    /// The first and the last value on the axis.
    pub(crate) range: (f64, f64),
    pub(crate) label: Box<dyn Fn(f64) -> String>,
}

/// Mapping from values to places on an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Logarithmic,
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        }
    }
}

/// An axis as a `plotters` coordinate.
pub(crate) struct Coordinate {
    scale: Scale,
    range: (f64, f64),
    ticks: Vec<f64>,
}

impl Ranged for Coordinate {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let (from, to) = (self.scale.place(self.range.0), self.scale.place(self.range.1));
        let part = (self.scale.place(*value) - from) / (to - from);
        limit.0 + (part * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.0..self.range.1
    }
}

impl Axis {
    /// Makes a linear axis with about five ticks around all `values`. It begins at zero if
    /// `from_zero`.
    pub(crate) fn linear(
        title: &str,
        values: impl Iterator<Item = f64>,
        from_zero: bool,
        label: impl Fn(f64) -> String + 'static,
    ) -> Self {
        let (least, greatest) = extremes(values);
        let least = if from_zero { 0.0 } else { least };
        let margin = 0.03 * (greatest - least).max(greatest.abs() * 1e-3);
        let ticks = round_ticks(least, greatest.max(least + margin));
        let from = if from_zero { 0.0 } else { least - margin };
        Axis {
            title: title.into(),
            scale: Scale::Linear,
            range: (from, greatest + margin),
            ticks,
            label: Box::new(label),
        }
    }

    /// Makes a logarithmic axis. Its ticks are powers of `base` times each of `steps`, and enclose
    /// all `values`.
    pub(crate) fn logarithmic(
        title: &str,
        values: impl Iterator<Item = f64>,
        (base, steps): (f64, &[f64]),
        label: impl Fn(f64) -> String + 'static,
    ) -> Self {
        let ticks = enclosing_ticks(extremes(values), base, steps);
        Axis {
            title: title.into(),
            scale: Scale::Logarithmic,
            range: (ticks[0], ticks[ticks.len() - 1]),
            ticks,
            label: Box::new(label),
        }
    }

    /// Converts the axis for `plotters`, with some of its ticks.
    pub(crate) fn coordinate(&self, ticks: Vec<f64>) -> Coordinate {
        Coordinate { scale: self.scale, range: self.range, ticks }
    }

    /// Returns the ticks without those whose labels would touch. `length` is the axis's length and
    /// `letter` the width of a letter, both in pixels.
    pub(crate) fn thinned(&self, length: f64, letter: f64) -> Vec<f64> {
        let place = |value| self.scale.place(value);
        let (from, to) = (place(self.range.0), place(self.range.1));
        let mut end = f64::NEG_INFINITY;
        let mut kept = Vec::new();
        for &tick in &self.ticks {
            let middle = length * (place(tick) - from) / (to - from);
            let half = letter * (self.label)(tick).chars().count() as f64 / 2.0;
            if middle - half > end {
                kept.push(tick);
                end = middle + half + letter;
            }
        }
        kept
    }
}

fn extremes(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, greatest) = values
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    if least > greatest { (0.0, 1.0) } else { (least, greatest) }
}

/// Returns the multiples of a round number between two values.
fn round_ticks(least: f64, greatest: f64) -> Vec<f64> {
    let raw = (greatest - least) / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0].map(|step| step * power).into_iter().find(|step| *step >= raw);
    let step = step.unwrap_or(10.0 * power);
    let (first, last) = ((least / step).ceil() as i64, (greatest / step).floor() as i64);
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Returns at least two ticks. The first is at most the least value, the last at least the
/// greatest.
fn enclosing_ticks((least, greatest): (f64, f64), base: f64, steps: &[f64]) -> Vec<f64> {
    let first = least.log(base).floor() as i32;
    let last = greatest.log(base).ceil() as i32;
    let all: Vec<f64> = (first - 1..=last + 1)
        .flat_map(|power| steps.iter().map(move |step| step * base.powi(power)))
        .collect();
    let below = all.iter().rposition(|&tick| tick <= least).unwrap_or(0);
    let above = all.iter().skip(below + 1).position(|&tick| tick >= greatest).unwrap_or(0);
    all[below..=below + 1 + above].to_vec()
}

/// Formats a tick of a decimal axis: `20 k`.
pub(crate) fn decimal(number: f64) -> String {
    let number = tidy(number);
    match number {
        ..1e3 => format!("{number}"),
        ..1e6 => format!("{} k", tidy(number / 1e3)),
        ..1e9 => format!("{} M", tidy(number / 1e6)),
        _ => format!("{} G", tidy(number / 1e9)),
    }
}

/// Rounds away the last digits, which hold only rounding errors.
pub(crate) fn tidy(number: f64) -> f64 {
    format!("{number:.9e}").parse().unwrap_or(number)
}

/// Formats a tick of a binary axis: `64 KiB`.
pub(crate) fn binary(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes {
        ..KIB => format!("{bytes} B"),
        ..1_048_576.0 => format!("{} KiB", bytes / KIB),
        _ => format!("{} MiB", bytes / (KIB * KIB)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[f64] = &[1.0, 2.0, 5.0];

    #[test]
    fn ticks_enclose_the_values() {
        let ticks = |least, greatest| enclosing_ticks((least, greatest), 10.0, STEPS);
        assert_eq!(ticks(30.0, 700.0), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(100.0, 100.0), [100.0, 200.0]);
        assert_eq!(enclosing_ticks((70_000.0, 70_000.0), 4.0, &[1.0]), [65_536.0, 262_144.0]);
    }

    #[test]
    fn round_ticks_are_inside() {
        assert_eq!(round_ticks(0.0, 9.7), [0.0, 2.0, 4.0, 6.0, 8.0]);
        assert_eq!(round_ticks(1361.0, 1420.0), [1380.0, 1400.0, 1420.0]);
        let axis = Axis::linear("x", [5.0, 5.0].into_iter(), false, decimal);
        assert!(axis.range.0 < 5.0 && axis.range.1 > 5.0 && !axis.ticks.is_empty());
        let axis = Axis::linear("x", std::iter::empty(), false, decimal);
        assert!(axis.range.0 < axis.range.1);
    }

    #[test]
    fn labels_do_not_touch() {
        let axis = Axis {
            ticks: (0..100).map(f64::from).collect(),
            ..Axis::linear("x", [0.0, 99.0].into_iter(), true, decimal)
        };
        let kept = axis.thinned(400.0, 8.0);
        assert!(kept.len() < 20 && kept.len() > 5, "{kept:?}");
    }

    #[test]
    fn labels() {
        assert_eq!([0.5, 500.0, 20e3, 5e6, 2e9].map(decimal), ["0.5", "500", "20 k", "5 M", "2 G"]);
        assert_eq!(decimal(0.1 + 0.2), "0.3");
        assert_eq!([256.0, 65_536.0, 1_048_576.0].map(binary), ["256 B", "64 KiB", "1 MiB"]);
    }
}
