//! Layout of a figure: title, legend, panels and notes, without overlap.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::axis::Axis;
use crate::style::Style;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

/// A figure.
pub(crate) struct Layout {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) legend: Vec<(String, Style)>,
    pub(crate) panels: Vec<Panel>,
    /// Method and place of the measurement.
    pub(crate) notes: Vec<String>,
}

/// Curves or bars between two axes.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) curves: Vec<Curve>,
    pub(crate) bars: Vec<Bar>,
}

/// A line with its markers.
pub(crate) struct Curve {
    pub(crate) style: Style,
    pub(crate) points: Vec<(f64, f64)>,
    pub(crate) markers: Vec<(f64, f64)>,
    /// Vertical spans: x, from, to.
    pub(crate) spans: Vec<(f64, f64, f64)>,
}

/// A horizontal bar from the left edge, at height `y`.
pub(crate) struct Bar {
    pub(crate) style: Style,
    pub(crate) y: f64,
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// A bar with its name on the left axis.
pub(crate) struct NamedBar {
    pub(crate) name: String,
    pub(crate) style: Style,
    pub(crate) value: f64,
    /// The text beside its end.
    pub(crate) label: String,
}

impl Panel {
    /// Makes a panel of bars, the first at the top, over an axis of numbers from zero.
    pub(crate) fn of_bars(title: String, unit: &str, bars: Vec<NamedBar>) -> Self {
        let count = bars.len();
        let values = bars.iter().map(|bar| bar.value);
        let mut x = Axis::linear(unit, values, true, measure::grouped);
        // Room for the number beside the longest bar.
        x.range.1 *= 1.15;
        let names: Vec<String> = bars.iter().map(|bar| bar.name.clone()).collect();
        let y = Axis {
            range: (-0.6, count as f64 - 0.4),
            ticks: (0..count).map(|i| i as f64).collect(),
            ..Axis::linear("", [0.0].into_iter(), true, move |place| {
                let row = place.round().max(0.0) as usize;
                names.get(names.len().wrapping_sub(row + 1)).cloned().unwrap_or_default()
            })
        };
        let bar = |(i, bar): (usize, NamedBar)| Bar {
            style: bar.style,
            y: (count - 1 - i) as f64,
            value: bar.value,
            label: bar.label,
        };
        let bars = bars.into_iter().enumerate().map(bar).collect();
        Panel { title, x, y, curves: Vec::new(), bars }
    }
}

const WIDTH: u32 = 860;
const MARGIN: i32 = 20;
const PANEL: u32 = 350;
/// Height of a bar, and height of the other parts of a panel of bars.
const BAR: (u32, u32) = (38, 110);
const LEGEND_LINE: i32 = 24;

// `plotters` draws letters smaller than their nominal size by this factor.
const SCALE: f64 = 1.24;
const TITLE: f64 = 21.0;
const TEXT: f64 = 14.0;
const NOTE: f64 = 11.0;
/// Width of a letter as a share of its size: an upper bound, and about the average.
const LETTER: f64 = 0.6;

const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0x59, 0x59, 0x59);
const RULE: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const AXIS: RGBColor = RGBColor(0x88, 0x88, 0x88);

impl Layout {
    /// Draws the figure and returns the text of an SVG file.
    pub(crate) fn svg(&self) -> Result<String, String> {
        let subtitle = wrapped(&self.subtitle, TEXT);
        let notes: Vec<String> = self.notes.iter().flat_map(|note| wrapped(note, NOTE)).collect();
        let legend = self.legend_places();
        let legend_lines = legend.last().map_or(0, |(_, line)| line + 1);
        let header = (48 + 19 * subtitle.len()) as u32;
        let legend_height = (LEGEND_LINE * legend_lines + 6) as u32;
        let panels: u32 = self.panels.iter().map(Panel::height).sum();
        let height = header + legend_height + panels + (16 * notes.len() + 26) as u32;

        let mut text = String::new();
        let draw = |text: &mut String| -> Drawn {
            let root = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
            root.fill(&WHITE)?;
            write(&root, &self.title, (MARGIN, 26), TITLE, INK)?;
            for (i, line) in subtitle.iter().enumerate() {
                write(&root, line, (MARGIN, 52 + 19 * i as i32), TEXT, FAINT)?;
            }
            let (_, rest) = root.split_vertically(header);
            let (area, mut rest) = rest.split_vertically(legend_height);
            for ((name, style), (x, line)) in self.legend.iter().zip(legend) {
                let y = LEGEND_LINE * line + 14;
                draw_line(&area, &[(x, y), (x + 40, y)], *style)?;
                draw_marker(&area, (x + 20, y), *style)?;
                write(&area, name, (x + 48, y), TEXT, INK)?;
            }
            for panel in &self.panels {
                let (area, below) = rest.split_vertically(panel.height());
                panel.draw(&area)?;
                rest = below;
            }
            for (i, note) in notes.iter().enumerate() {
                write(&rest, note, (MARGIN, 20 + 16 * i as i32), NOTE, FAINT)?;
            }
            root.present()
        };
        draw(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    /// Returns the left edge and the line of each entry of the legend.
    fn legend_places(&self) -> Vec<(i32, i32)> {
        let mut at = (MARGIN, 0);
        let mut places = Vec::new();
        for (name, _) in &self.legend {
            let width = 48 + width_of(name, TEXT) as i32;
            if at.0 > MARGIN && at.0 + width > WIDTH as i32 - MARGIN {
                at = (MARGIN, at.1 + 1);
            }
            places.push(at);
            at.0 += width + 24;
        }
        places
    }
}

fn width_of(text: &str, size: f64) -> f64 {
    LETTER * size * text.chars().count() as f64
}

/// Breaks a text into lines of the figure's width.
fn wrapped(text: &str, size: f64) -> Vec<String> {
    let most = f64::from(WIDTH as i32 - 2 * MARGIN);
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width_of(line, size) + width_of(word, size) + size < most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}

fn font(size: f64, colour: &RGBColor) -> TextStyle<'static> {
    ("sans-serif", SCALE * size).into_font().color(colour)
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: f64, colour: RGBColor) -> Drawn {
    let style = font(size, &colour).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw_text(text, &style, at)
}

fn draw_line(area: &Area<'_>, points: &[(i32, i32)], style: Style) -> Drawn {
    let points = points.to_vec();
    let stroke = style.colour.stroke_width(2);
    match style.dash {
        None => area.draw(&PathElement::new(points, stroke)),
        Some((dash, gap)) => area.draw(&DashedPathElement::new(points, dash, gap, stroke)),
    }
}

fn draw_marker(area: &Area<'_>, at: (i32, i32), style: Style) -> Drawn {
    const SIZE: i32 = 4;
    match style.corners(at, SIZE) {
        None => area.draw(&Circle::new(at, SIZE, style.colour.filled())),
        Some(corners) => area.draw(&Polygon::new(corners, style.colour.filled())),
    }
}

impl Panel {
    fn height(&self) -> u32 {
        if self.bars.is_empty() { PANEL } else { BAR.0 * self.bars.len() as u32 + BAR.1 }
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        let Panel { x, y, .. } = self;
        let widest = y.ticks.iter().map(|&tick| width_of(&(y.label)(tick), TEXT));
        let label_area =
            widest.fold(0.0, f64::max) as i32 + if y.title.is_empty() { 12 } else { 40 };
        let length = f64::from(WIDTH as i32 - 2 * MARGIN - label_area);
        let mut chart = ChartBuilder::on(area)
            .margin_left(MARGIN)
            .margin_right(MARGIN)
            .margin_top(6)
            .x_label_area_size(58)
            .y_label_area_size(label_area)
            .caption(&self.title, font(TEXT + 1.0, &INK))
            .build_cartesian_2d(
                x.coordinate(x.thinned(length, LETTER * TEXT)),
                y.coordinate(y.ticks.clone()),
            )?;
        let label = font(TEXT, &INK);
        let mut mesh = chart.configure_mesh();
        if !self.bars.is_empty() {
            mesh.disable_y_mesh();
        }
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(RULE)
            .axis_style(AXIS)
            .x_desc(&x.title)
            .y_desc(&y.title)
            .axis_desc_style(label.clone())
            .label_style(label)
            .x_label_formatter(&|&place| (x.label)(place))
            .y_label_formatter(&|&place| (y.label)(place))
            .draw()?;
        // In pixels from here on, so that dashes and markers look as in the legend.
        let base = area.get_base_pixel();
        let pixel = |(a, b): (f64, f64)| {
            let at = chart.backend_coord(&(a, b));
            (at.0 - base.0, at.1 - base.1)
        };
        for bar in &self.bars {
            let (left, right) = (pixel((x.range.0, bar.y)), pixel((bar.value, bar.y)));
            let ends = [(left.0, left.1 - 11), (right.0, right.1 + 11)];
            area.draw(&Rectangle::new(ends, bar.style.colour.filled()))?;
            write(area, &bar.label, (right.0 + 8, right.1), TEXT, INK)?;
        }
        for curve in &self.curves {
            let points: Vec<_> = curve.points.iter().copied().map(pixel).collect();
            for &(at, from, to) in &curve.spans {
                let (low, high) = (pixel((at, from)), pixel((at, to)));
                let lines = [
                    [low, high],
                    [(low.0 - 4, low.1), (low.0 + 4, low.1)],
                    [(high.0 - 4, high.1), (high.0 + 4, high.1)],
                ];
                for line in lines {
                    area.draw(&PathElement::new(
                        line.to_vec(),
                        curve.style.colour.stroke_width(1),
                    ))?;
                }
            }
            draw_line(area, &points, curve.style)?;
            for &marker in &curve.markers {
                draw_marker(area, pixel(marker), curve.style)?;
            }
        }
        Ok(())
    }
}
