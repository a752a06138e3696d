//! The figure: three panels over the size of the batch, on logarithmic axes.

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Point, Report};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), DrawingAreaErrorKind<<SVGBackend<'static> as DrawingBackend>::ErrorType>>;

const WIDTH: u32 = 940;
const PANEL_HEIGHT: u32 = 330;
const HEADER: u32 = 66;
const FOOTER: u32 = 76;
const LEGEND: u32 = 180;
const MARGIN: i32 = 20;

const FONT: &str = "sans-serif";
const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
const FAINT: RGBColor = RGBColor(0x66, 0x66, 0x66);
const RULE: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);
const AXIS: RGBColor = RGBColor(0x99, 0x99, 0x99);

/// Colours that colour-blind people tell apart, too (Okabe and Ito), one for each parameter set.
const COLOURS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// Lengths of dash and gap, one for each backend, the last backend first.
const DASHES: [Option<(u32, u32)>; 3] = [None, Some((8, 4)), Some((2, 4))];

/// A parameter set on a backend.
struct Series<'a> {
    name: String,
    colour: RGBColor,
    dash: Option<(u32, u32)>,
    points: Vec<&'a Point>,
}

/// One quantity by the size of the batch.
struct Panel {
    title: String,
    value: fn(&Point) -> f64,
    /// Factors of the ticks within `base`.
    steps: &'static [f64],
    base: f64,
    label: fn(f64) -> String,
}

/// The figure as the text of an SVG file.
pub(super) fn svg(report: &Report) -> Result<String, String> {
    let mut text = String::new();
    {
        let size = (WIDTH, HEADER + 3 * PANEL_HEIGHT + FOOTER);
        let root = SVGBackend::with_string(&mut text, size).into_drawing_area();
        draw(&root, report).map_err(|error| error.to_string())?;
    }
    Ok(text)
}

fn draw(root: &Area<'_>, report: &Report) -> Drawn {
    root.fill(&WHITE)?;
    let (header, rest) = root.split_vertically(HEADER);
    let (panels, footer) = rest.split_vertically(3 * PANEL_HEIGHT);
    let (panels, legend) = panels.split_horizontally(WIDTH - LEGEND);

    write(&header, "Batch key generation with fastkex", (MARGIN, 20), 22, INK)?;
    let (series, subtitle) = series(report);
    write(&header, &subtitle, (MARGIN, 46), 14, FAINT)?;
    for (area, panel) in panels.split_evenly((3, 1)).iter().zip(quantities(report)) {
        draw_panel(area, &panel, &series)?;
    }
    draw_legend(&legend, &series)?;
    let memory = format!("Memory: {}.", report.memory_method);
    let method = format!("Measured: {}.", report.method);
    let machine = format!("Machine: {}.", report.machine);
    for (i, line) in [method, memory, machine].iter().enumerate() {
        write(&footer, line, (MARGIN, 16 + 18 * i as i32), 10, FAINT)?;
    }
    root.present()
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: u32, colour: RGBColor) -> Drawn {
    let style = (FONT, size).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
    area.draw_text(text, &style, at)
}

/// Series in the order of their first points, and where they were measured: with the backend if there is only one.
fn series(report: &Report) -> (Vec<Series<'_>>, String) {
    let mut algorithms: Vec<&str> = Vec::new();
    let mut backends: Vec<&str> = Vec::new();
    for point in &report.points {
        for (names, name) in
            [(&mut algorithms, &*point.algorithm), (&mut backends, &*point.backend)]
        {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let processor = &report.machine.processor;
    let (one, subtitle) = match backends[..] {
        [backend] => (true, format!("{processor}, {backend}")),
        _ => (false, processor.clone()),
    };
    let mut all = Vec::new();
    for (i, algorithm) in algorithms.iter().enumerate() {
        for (j, backend) in backends.iter().rev().enumerate() {
            let of_series =
                |point: &&Point| point.algorithm == *algorithm && point.backend == *backend;
            let mut points: Vec<_> = report.points.iter().filter(of_series).collect();
            points.sort_by_key(|point| point.batch);
            if !points.is_empty() {
                all.push(Series {
                    name: if one { (*algorithm).into() } else { format!("{algorithm}, {backend}") },
                    colour: COLOURS[i % COLOURS.len()],
                    dash: DASHES[j % DASHES.len()],
                    points,
                });
            }
        }
    }
    (all, subtitle)
}

fn quantities(report: &Report) -> [Panel; 3] {
    const STEPS: &[f64] = &[1.0, 2.0, 5.0];
    let memory = Panel {
        title: "Memory while a batch is made: heap and stack".into(),
        value: |point| point.memory_bytes() as f64,
        steps: &[1.0],
        base: 4.0,
        label: binary,
    };
    let panel = |title: &str, value, label| {
        let title = title.to_owned();
        Panel { title, value, steps: STEPS, base: 10.0, label }
    };
    if report.points.iter().all(|point| point.per_key.core_cycles.is_some()) {
        let latency = |point: &Point| point.latency_core_cycles().unwrap_or(f64::NAN);
        let per_key = |point: &Point| point.per_key.core_cycles.unwrap_or(f64::NAN);
        [
            panel("Latency: core cycles until the first key of a batch", latency, decimal),
            panel("Cost: core cycles per key", per_key, decimal),
            memory,
        ]
    } else {
        let latency = |point: &Point| point.latency_nanoseconds();
        let per_key = |point: &Point| point.per_key.nanoseconds;
        [
            panel("Latency: nanoseconds until the first key of a batch", latency, decimal),
            panel("Cost: nanoseconds per key", per_key, decimal),
            memory,
        ]
    }
}

/// A tick of a decimal axis: `20 k`.
fn decimal(number: f64) -> String {
    match number {
        ..1e3 => format!("{number}"),
        ..1e6 => format!("{} k", number / 1e3),
        ..1e9 => format!("{} M", number / 1e6),
        _ => format!("{} G", number / 1e9),
    }
}

/// A tick of a binary axis: `64 KiB`.
fn binary(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes {
        ..KIB => format!("{bytes} B"),
        ..1_048_576.0 => format!("{} KiB", bytes / KIB),
        _ => format!("{} MiB", bytes / (KIB * KIB)),
    }
}

/// Ticks around all `values`: the first is at most the least of them, the last at least the greatest.
fn ticks(values: &[f64], base: f64, steps: &[f64]) -> Vec<f64> {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(0.0, f64::max);
    let first = least.log(base).floor() as i32;
    let last = greatest.log(base).ceil() as i32;
    let all: Vec<f64> = (first..=last + 1)
        .flat_map(|power| steps.iter().map(move |step| step * base.powi(power)))
        .collect();
    let below = all.iter().rposition(|&tick| tick <= least).unwrap_or(0);
    let above = all.iter().skip(below + 1).position(|&tick| tick >= greatest).unwrap_or(0);
    all[below..=below + 1 + above].to_vec()
}

fn draw_panel(area: &Area<'_>, panel: &Panel, series: &[Series<'_>]) -> Drawn {
    let points = || series.iter().flat_map(|series| &series.points);
    let values: Vec<f64> = points().map(|point| (panel.value)(point)).collect();
    let y_ticks = ticks(&values, panel.base, panel.steps);
    let (bottom, top) = (y_ticks[0], y_ticks[y_ticks.len() - 1]);
    let mut x_ticks: Vec<f64> = points().map(|point| point.batch as f64).collect();
    x_ticks.sort_by(f64::total_cmp);
    x_ticks.dedup();
    let (left, right) = (x_ticks[0] / 1.2, x_ticks[x_ticks.len() - 1] * 1.2);

    let title = (FONT, 15).into_font().color(&INK);
    let mut chart = ChartBuilder::on(area)
        .margin_left(MARGIN)
        .margin_right(10)
        .margin_top(8)
        .x_label_area_size(46)
        .y_label_area_size(62)
        .caption(&panel.title, title)
        .build_cartesian_2d(
            (left..right).log_scale().with_key_points(x_ticks),
            (bottom..top).log_scale().with_key_points(y_ticks),
        )?;
    let label = (FONT, 12).into_font().color(&INK);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(RULE)
        .axis_style(AXIS)
        .x_desc("keys in a batch")
        .axis_desc_style(label.clone())
        .label_style(label)
        .x_label_formatter(&|x| x.to_string())
        .y_label_formatter(&|y| (panel.label)(*y))
        .draw()?;
    for Series { colour, dash, points, .. } in series {
        let style = colour.stroke_width(2);
        let line = points.iter().map(|point| (point.batch as f64, (panel.value)(point)));
        match *dash {
            None => chart.draw_series(LineSeries::new(line.clone(), style))?,
            Some((dash, gap)) => {
                chart.draw_series(DashedLineSeries::new(line.clone(), dash, gap, style))?
            }
        };
        chart.draw_series(line.map(|at| Circle::new(at, 3, colour.filled())))?;
    }
    Ok(())
}

fn draw_legend(area: &Area<'_>, series: &[Series<'_>]) -> Drawn {
    for (i, Series { name, colour, dash, .. }) in series.iter().enumerate() {
        let y = 44 + 22 * i as i32;
        let style = colour.stroke_width(2);
        let ends = [(8, y), (36, y)];
        match *dash {
            None => area.draw(&PathElement::new(ends, style))?,
            Some((dash, gap)) => {
                area.draw(&DashedPathElement::new(ends, dash, gap, style))?;
            }
        }
        area.draw(&Circle::new((22, y), 3, colour.filled()))?;
        write(area, name, (44, y), 12, INK)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_enclose_the_values() {
        let steps = &[1.0, 2.0, 5.0];
        assert_eq!(ticks(&[30.0, 700.0], 10.0, steps), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(&[100.0], 10.0, steps), [100.0, 200.0]);
        assert_eq!(ticks(&[70_000.0], 4.0, &[1.0]), [65_536.0, 262_144.0]);
    }

    #[test]
    fn labels() {
        assert_eq!([500.0, 20e3, 5e6, 2e9].map(decimal), ["500", "20 k", "5 M", "2 G"]);
        assert_eq!([256.0, 65_536.0, 1_048_576.0].map(binary), ["256 B", "64 KiB", "1 MiB"]);
    }
}
