//! Styles of candidates: the same in every figure of a run, and distinguishable in colour, by
//! colour-blind readers, and in grey print.

use plotters::style::RGBColor;

/// Colours that colour-blind readers can distinguish (Okabe and Ito), without the yellow, which is
/// too faint for lines.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0x22, 0x22, 0x22),
];

/// Lengths of dash and gap in pixels, or `None` for a solid line.
const DASHES: [Option<(i32, i32)>; 4] = [None, Some((9, 4)), Some((2, 4)), Some((5, 9))];

/// Corners of markers around their middle, each as an angle in eighths of a turn and a distance
/// relative to the size. Empty for a circle.
const MARKERS: [&[(f64, f64)]; 5] = [
    &[],
    &[(-2.0, 1.25), (2.0 / 3.0, 1.25), (10.0 / 3.0, 1.25)],
    &[(-1.0, 1.2), (1.0, 1.2), (3.0, 1.2), (5.0, 1.2)],
    &[(0.0, 1.35), (2.0, 1.35), (4.0, 1.35), (6.0, 1.35)],
    &[(2.0, 1.25), (14.0 / 3.0, 1.25), (22.0 / 3.0, 1.25)],
];

/// Colour, dashes and marker of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    pub(crate) colour: RGBColor,
    pub(crate) dash: Option<(i32, i32)>,
    marker: usize,
}

impl Style {
    /// Returns the style of the candidate with this number.
    pub(crate) fn of(number: usize) -> Self {
        Style::of_two(number, number, number)
    }

    /// Returns a style whose colour, dashes and marker are chosen separately.
    pub(crate) fn of_two(colour: usize, dash: usize, marker: usize) -> Self {
        Style {
            colour: COLOURS[colour % COLOURS.len()],
            dash: DASHES[dash % DASHES.len()],
            marker: marker % MARKERS.len(),
        }
    }

    /// Returns the corners of its marker around `(x, y)`, or `None` for a circle.
    pub(crate) fn corners(&self, (x, y): (i32, i32), size: i32) -> Option<Vec<(i32, i32)>> {
        let corners = MARKERS[self.marker];
        let corner = |&(eighths, distance): &(f64, f64)| {
            let (sine, cosine) = (eighths * std::f64::consts::FRAC_PI_4).sin_cos();
            let distance = distance * f64::from(size);
            (x + (distance * cosine).round() as i32, y + (distance * sine).round() as i32)
        };
        (!corners.is_empty()).then(|| corners.iter().map(corner).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_differ_without_colour_too() {
        for number in 0..40 {
            let (one, next) = (Style::of(number), Style::of(number + 1));
            assert_ne!(one.colour, next.colour);
            assert_ne!(one.dash, next.dash);
            assert_ne!(one.marker, next.marker);
        }
        // At least as many as in any figure, all different.
        let all: Vec<_> = (0..20).map(Style::of).collect();
        for (i, one) in all.iter().enumerate() {
            assert!(!all[..i].contains(one), "{i}");
        }
    }
}
