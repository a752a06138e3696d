//! Figures of a timer's run.

use measure::quantile;
use timer::results::{Run, Series, What};

use crate::Figure;
use crate::axis::{Axis, decimal};
use crate::layout::{Curve, Layout, NamedBar, Panel};
use crate::names;
use crate::style::Style;

/// The number of points of a distribution's curve, if the distribution has more values.
const POINTS: usize = 400;
/// The share of connection times that is drawn. The slowest would leave no room for the others.
const SHOWN: f64 = 0.95;

/// Draws the figures of one run, as far as it holds their data.
pub(crate) fn figures(run: &Run) -> Result<Vec<Figure>, String> {
    let all = [
        ("rates", rates(run)),
        ("times", times(run)),
        ("latency", latency(run)),
        ("peaks", peaks(run)),
        ("clients", clients(run)),
    ];
    let drawn = all.into_iter().filter_map(|(name, layout)| Some(Figure::new(name, &layout?)));
    drawn.collect()
}

/// A candidate in a figure.
struct Candidate<'a> {
    name: String,
    style: Style,
    series: &'a Series,
}

/// Returns the series of a figure with their styles. A label has the same colour in every figure of
/// the run.
fn candidates<'a>(run: &'a Run, of: impl Fn(&Series) -> bool) -> Vec<Candidate<'a>> {
    let labels = labels(run);
    let mut requests: Vec<_> = run.series.iter().map(|series| series.requests).collect();
    requests.sort();
    requests.dedup();
    let candidate = |series: &'a Series| {
        let label = labels.iter().position(|label| *label == series.label).unwrap_or(0);
        let style = match series.requests {
            // Colour and marker identify the candidate, dashes the number of requests.
            Some(_) => {
                let number = requests.iter().position(|other| *other == series.requests);
                Style::of_two(label, number.unwrap_or(0), label)
            }
            None => Style::of(label),
        };
        Candidate { name: names::name(series), style, series }
    };
    run.series.iter().filter(|series| of(series)).map(candidate).collect()
}

fn labels(run: &Run) -> Vec<&str> {
    let mut labels: Vec<&str> = Vec::new();
    let all = run.series.iter().map(|series| &*series.label);
    for label in all.chain(run.peaks.iter().map(|peak| &*peak.label)) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    labels
}

/// Makes a figure whose note tells the number of samples.
fn sampled(
    run: &Run,
    title: &str,
    legend: Vec<(String, Style)>,
    panel: Panel,
    note: &str,
) -> Layout {
    layout(run, title, legend, panel, &format!("{note} {}", names::sizes(run)))
}

fn layout(
    run: &Run,
    title: &str,
    legend: Vec<(String, Style)>,
    panel: Panel,
    note: &str,
) -> Layout {
    let mut notes: Vec<String> = Vec::new();
    if !run.complete {
        notes.push("INCOMPLETE: the run was ended before everything was measured.".into());
    }
    notes.extend(names::failures(run));
    notes.push(note.into());
    notes.push(format!("Machine: {}.", run.machine));
    let title = if run.complete { title.to_owned() } else { format!("{title} (incomplete run)") };
    Layout { title, subtitle: names::setup(run), legend, panels: vec![panel], notes }
}

fn legend(candidates: &[Candidate<'_>]) -> Vec<(String, Style)> {
    candidates.iter().map(|candidate| (candidate.name.clone(), candidate.style)).collect()
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn shares() -> Axis {
    let ticks = vec![0.0, 0.25, 0.5, 0.75, 1.0];
    Axis { range: (0.0, 1.0), ticks, ..Axis::linear("share", [1.0].into_iter(), true, percent) }
}

/// Makes the cumulative distribution of sorted values, with markers at its quartiles.
fn distribution(sorted: &[f64], style: Style, shown: f64) -> Curve {
    let quartiles = [0.25, 0.5, 0.75];
    let (points, markers) = if sorted.len() <= POINTS {
        let count = sorted.len() as f64;
        let step = |(i, &value): (usize, &f64)| {
            [(value, i as f64 / count), (value, (i + 1) as f64 / count)]
        };
        // On a step of the curve. The interpolated quartile may lie beside it.
        let at = |share: f64| {
            let number = ((share * count).ceil() as usize).checked_sub(1)?;
            Some((*sorted.get(number)?, share))
        };
        let markers = quartiles.into_iter().filter_map(at).collect();
        (sorted.iter().enumerate().flat_map(step).collect(), markers)
    } else {
        let at = |share: f64| Some((quantile(sorted, share)?, share));
        let points = (0..=POINTS).filter_map(|i| at(shown * i as f64 / POINTS as f64)).collect();
        (points, quartiles.into_iter().filter_map(at).collect())
    };
    Curve { style, points, markers, spans: Vec::new() }
}

/// Draws rates by sample (OpenSSLNTRU, figure 5; ENG25519, figure 3).
fn rates(run: &Run) -> Option<Layout> {
    let candidates = candidates(run, |series| {
        series.requests.is_none() && series.samples.iter().any(|sample| sample.rate().is_some())
    });
    let all: Vec<_> = candidates.iter().map(|candidate| candidate.series.rates()).collect();
    (!all.is_empty()).then(|| {
        let curves = candidates.iter().zip(&all);
        let panel = Panel {
            title: "Cumulative distribution of samples".into(),
            x: Axis::linear(
                "connections per second, by sample (the axis need not begin at 0)",
                all.iter().flatten().copied(),
                false,
                decimal_grouped,
            ),
            y: Axis { title: "share of samples".into(), ..shares() },
            curves: curves
                .map(|(candidate, rates)| distribution(rates, candidate.style, 1.0))
                .collect(),
            bars: Vec::new(),
        };
        let title = match run.what {
            What::Tls => "TLS handshakes per second",
            What::Dot => "DNS queries over TLS per second, each with a handshake of its own",
            What::Http => "HTTP connections per second",
        };
        let note = "Further to the right is faster. Markers: quartiles and median.";
        sampled(run, title, legend(&candidates), panel, note)
    })
}

fn decimal_grouped(number: f64) -> String {
    if number.abs() < 1e3 { decimal(number) } else { measure::grouped(number) }
}

/// Makes a logarithmic axis if a linear one would leave no room for the fastest, else a linear one.
fn times_axis(ends: impl Iterator<Item = f64> + Clone) -> Axis {
    let least = ends.clone().fold(f64::INFINITY, f64::min);
    let greatest = ends.clone().fold(0.0, f64::max);
    if greatest < 4.0 * least {
        return Axis::linear(
            "milliseconds of a connection (the axis need not begin at 0)",
            ends,
            false,
            decimal,
        );
    }
    let steps = (10.0, &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0][..]);
    Axis::logarithmic("milliseconds of a connection (logarithmic)", ends, steps, decimal)
}

/// Draws the times of connections.
fn times(run: &Run) -> Option<Layout> {
    let candidates = candidates(run, |series| {
        series.samples.iter().any(|sample| !sample.microseconds.is_empty())
    });
    let milliseconds = |series: &Series| -> Vec<f64> {
        series.microseconds().iter().map(|time| time.max(1.0) / 1e3).collect()
    };
    let all: Vec<_> = candidates.iter().map(|candidate| milliseconds(candidate.series)).collect();
    (!all.is_empty()).then(|| {
        let slowest = |sorted: &Vec<f64>| quantile(sorted, SHOWN).unwrap_or(0.0);
        let ends = all.iter().flat_map(|sorted| [sorted[0], slowest(sorted)]);
        let x = times_axis(ends);
        let range = x.range;
        let curve = |(candidate, sorted): (&Candidate<'_>, &Vec<f64>)| {
            let mut curve = distribution(sorted, candidate.style, SHOWN);
            curve.points.retain(|point| point.0 <= range.1 && point.1 <= SHOWN);
            curve
        };
        let panel = Panel {
            title: "Cumulative distribution of connections".into(),
            x,
            y: Axis { title: "share of connections".into(), ..shares() },
            curves: candidates.iter().zip(&all).map(curve).collect(),
            bars: Vec::new(),
        };
        let title = match run.what {
            What::Tls => "Time of a TLS connection",
            What::Dot => "Time of a DNS query over TLS",
            What::Http => "Time of an HTTP connection",
        };
        let note = "From before TCP connects until the end; without the slowest twentieth. Further to the left is faster. Markers: \
             quartiles and median.";
        sampled(run, title, legend(&candidates), panel, note)
    })
}

/// Draws latency by number of requests (the AWS benchmark, figure 2).
fn latency(run: &Run) -> Option<Layout> {
    let all = candidates(run, |series| series.requests.is_some() && series.connections() > 0);
    let labels = labels(run);
    let mut curves = Vec::new();
    let mut legend = Vec::new();
    for (number, label) in labels.iter().enumerate() {
        let of_label = all.iter().filter(|candidate| candidate.series.label == *label);
        let mut places: Vec<(f64, [f64; 3])> = of_label
            .filter_map(|candidate| {
                let times = candidate.series.microseconds();
                let part = |share| Some(quantile(&times, share)? / 1e3);
                let requests = candidate.series.requests? as f64;
                Some((requests, [part(0.25)?, part(0.5)?, part(0.75)?]))
            })
            .collect();
        places.sort_by(|a, b| a.0.total_cmp(&b.0));
        if places.is_empty() {
            continue;
        }
        let style = Style::of(number);
        let medians: Vec<_> = places.iter().map(|&(at, [_, median, _])| (at, median)).collect();
        curves.push(Curve {
            style,
            points: medians.clone(),
            markers: medians,
            spans: places.iter().map(|&(at, [low, _, high])| (at, low, high)).collect(),
        });
        legend.push(((*label).to_owned(), style));
    }
    (!curves.is_empty()).then(|| {
        let mut requests: Vec<f64> =
            curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.0)).collect();
        requests.sort_by(f64::total_cmp);
        requests.dedup();
        let values = curves.iter().flat_map(|curve| curve.spans.iter().map(|span| span.2));
        let y = Axis::linear("milliseconds", values, true, decimal);
        let x =
            Axis::linear("HTTP requests on a connection", requests.iter().copied(), true, |n| {
                format!("{n:.0}")
            });
        let panel = Panel {
            title: "Median, and the quartiles as spans".into(),
            x: Axis { ticks: requests, ..x },
            y,
            curves,
            bars: Vec::new(),
        };
        let note =
            "From before TCP connects to the last byte of the last response. Lower is faster.";
        sampled(run, "Latency by number of HTTP requests", legend, panel, note)
    })
}

/// Draws bars of each server's peak (ENG25519, section 4.4).
fn peaks(run: &Run) -> Option<Layout> {
    let labels = labels(run);
    let bests: Vec<_> = run
        .peaks
        .iter()
        .filter_map(|peak| Some((peak, peak.best().filter(|best| best.served > 0)?)))
        .collect();
    (!bests.is_empty()).then(|| {
        let bars = bests.iter().map(|(peak, best)| {
            let number = labels.iter().position(|label| *label == peak.label).unwrap_or(0);
            let value = best.per_minute();
            let name = names::peak_name(peak);
            NamedBar { name, style: Style::of(number), value, label: measure::grouped(value) }
        });
        let unit = match run.what {
            What::Tls => "handshakes per minute",
            What::Dot => "queries per minute",
            What::Http => "connections per minute",
        };
        let panel = Panel::of_bars(String::new(), unit, bars.collect());
        let note = "The best of all numbers of clients that were tried. Longer is better.";
        layout(run, "Peak throughput of the server", Vec::new(), panel, note)
    })
}

/// Draws throughput by number of clients, from the search for the peaks.
fn clients(run: &Run) -> Option<Layout> {
    let labels = labels(run);
    let many =
        run.peaks.iter().filter(|peak| peak.steps.iter().filter(|s| s.served > 0).count() > 1);
    let mut legend = Vec::new();
    let mut curves = Vec::new();
    for peak in many {
        let number = labels.iter().position(|label| *label == peak.label).unwrap_or(0);
        let style = Style::of(number);
        let steps = peak.steps.iter().filter(|step| step.served > 0);
        let mut points: Vec<_> =
            steps.map(|step| (step.clients as f64, step.per_minute())).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        legend.push((names::peak_name(peak), style));
        curves.push(Curve { style, markers: points.clone(), points, spans: Vec::new() });
    }
    (!curves.is_empty()).then(|| {
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let mut counts: Vec<f64> = points().map(|point| point.0.max(1.0)).collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        let x = Axis::logarithmic("clients at once", counts.iter().copied(), (2.0, &[1.0]), |n| {
            format!("{n:.0}")
        });
        let range = (counts[0] / 1.1, counts[counts.len() - 1] * 1.1);
        let y = Axis::linear("per minute", points().map(|point| point.1), true, decimal_grouped);
        let panel = Panel {
            title: "Connections served in a minute".into(),
            x: Axis { range, ticks: counts, ..x },
            y,
            curves,
            bars: Vec::new(),
        };
        layout(
            run,
            "Throughput by number of clients",
            legend,
            panel,
            "Clients begin anew as soon as they are served.",
        )
    })
}
