//! Costs of key batches by their size (OpenSSLNTRU, table 3 and figure 2).

use measure::{Machine, Measurement};
use serde::{Deserialize, Serialize};

use crate::Figure;
use crate::axis::{Axis, binary, decimal};
use crate::layout::{Curve, Layout, Panel};
use crate::style::Style;

/// All measurements: the output of `fastkex-lab plot batches --json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Batches {
    /// The machine and the time of the measurement.
    pub machine: Machine,
    /// The method for times.
    pub method: String,
    /// The method for memory.
    pub memory_method: String,
    /// Points in the order of measurement.
    pub points: Vec<Point>,
}

/// A batch size of a parameter set on a backend.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Point {
    /// The parameter set.
    pub algorithm: String,
    /// The instruction set.
    pub backend: String,
    /// Keys in the batch.
    pub batch: usize,
    /// The cost of one key.
    #[serde(flatten)]
    pub per_key: Measurement,
    /// Bytes of all encoded public and secret keys.
    pub keys_bytes: usize,
    /// Peak heap usage in bytes.
    pub heap_bytes: usize,
    /// Stack usage in bytes, or `None` if the system does not report it.
    pub stack_bytes: Option<usize>,
}

impl Point {
    /// Returns the core cycles until the first key is available, which is when the whole batch is
    /// done.
    pub fn latency_core_cycles(&self) -> Option<f64> {
        self.per_key.core_cycles.map(|cycles| cycles * self.batch as f64)
    }

    /// Returns the same latency in nanoseconds.
    pub fn latency_nanoseconds(&self) -> f64 {
        self.per_key.nanoseconds * self.batch as f64
    }

    /// Returns the bytes of heap and stack.
    pub fn memory_bytes(&self) -> usize {
        self.heap_bytes + self.stack_bytes.unwrap_or(0)
    }
}

impl Batches {
    /// Returns the reason if the measurements cannot be drawn.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let positive = |point: &Point| {
            let Measurement { core_cycles, nanoseconds, .. } = point.per_key;
            let times = [Some(nanoseconds), core_cycles];
            times.into_iter().flatten().all(|time| time > 0.0)
                && point.batch > 0
                && point.heap_bytes > 0
        };
        if self.points.is_empty() {
            Some("holds no measurements")
        } else if !self.points.iter().all(positive) {
            Some("holds numbers that are not positive")
        } else {
            None
        }
    }

    /// Draws three panels over the size of the batch: latency, cost, memory.
    ///
    /// # Errors
    /// The figure cannot be drawn.
    pub fn figure(&self) -> Result<Figure, String> {
        let (series, subtitle) = self.series();
        let legend = series.iter().map(|series| (series.name.clone(), series.style)).collect();
        let panels = self.quantities().map(|quantity| self.panel(&quantity, &series));
        let layout = Layout {
            title: "Batch key generation with fastkex".into(),
            subtitle,
            legend,
            panels: panels.into(),
            notes: vec![
                format!("Measured: {}.", self.method),
                format!("Memory: {}.", self.memory_method),
                format!("Machine: {}.", self.machine),
            ],
        };
        Figure::new("batches", &layout)
    }

    fn panel(&self, quantity: &Quantity, series: &[Series<'_>]) -> Panel {
        let values = self.points.iter().map(|point| (quantity.value)(point));
        let mut sizes: Vec<f64> = self.points.iter().map(|point| point.batch as f64).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let range = (sizes[0] / 1.2, sizes[sizes.len() - 1] * 1.2);
        let x =
            Axis::logarithmic("keys in a batch", sizes.iter().copied(), (2.0, &[1.0]), |size| {
                format!("{size:.0}")
            });
        let curve = |series: &Series<'_>| {
            let points = series.points.iter();
            let points: Vec<_> =
                points.map(|point| (point.batch as f64, (quantity.value)(point))).collect();
            Curve { style: series.style, markers: points.clone(), points, spans: Vec::new() }
        };
        Panel {
            title: quantity.title.into(),
            x: Axis { range, ticks: sizes, ..x },
            y: Axis::logarithmic(quantity.unit, values, quantity.ticks, quantity.label),
            curves: series.iter().map(curve).collect(),
            bars: Vec::new(),
        }
    }

    /// Returns the series in the order of their first points, and the subtitle: the processor, and
    /// the backend if there is only one.
    fn series(&self) -> (Vec<Series<'_>>, String) {
        let mut algorithms: Vec<&str> = Vec::new();
        let mut backends: Vec<&str> = Vec::new();
        for point in &self.points {
            for (names, name) in
                [(&mut algorithms, &*point.algorithm), (&mut backends, &*point.backend)]
            {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        let processor = &self.machine.processor;
        let (one, subtitle) = match backends[..] {
            [backend] => (true, format!("{processor}, {backend}")),
            _ => (false, processor.clone()),
        };
        let mut all = Vec::new();
        for (i, algorithm) in algorithms.iter().enumerate() {
            for (j, backend) in backends.iter().rev().enumerate() {
                let of_series =
                    |point: &&Point| point.algorithm == *algorithm && point.backend == *backend;
                let mut points: Vec<_> = self.points.iter().filter(of_series).collect();
                points.sort_by_key(|point| point.batch);
                if !points.is_empty() {
                    all.push(Series {
                        name: if one {
                            (*algorithm).into()
                        } else {
                            format!("{algorithm}, {backend}")
                        },
                        // Colour and marker identify the parameter set, dashes the backend.
                        style: Style::of_two(i, j, i),
                        points,
                    });
                }
            }
        }
        (all, subtitle)
    }

    fn quantities(&self) -> [Quantity; 3] {
        const DECIMAL: (f64, &[f64]) = (10.0, &[1.0, 2.0, 5.0]);
        let memory = Quantity {
            title: "Memory while a batch is made: heap and stack",
            unit: "bytes",
            value: |point| point.memory_bytes() as f64,
            ticks: (4.0, &[1.0]),
            label: binary,
        };
        let quantity =
            |title, unit, value| Quantity { title, unit, value, ticks: DECIMAL, label: decimal };
        if self.points.iter().all(|point| point.per_key.core_cycles.is_some()) {
            let latency = |point: &Point| point.latency_core_cycles().unwrap_or(f64::NAN);
            let per_key = |point: &Point| point.per_key.core_cycles.unwrap_or(f64::NAN);
            [
                quantity("Latency: until the first key of a batch", "core cycles", latency),
                quantity("Cost of a key in the batch", "core cycles", per_key),
                memory,
            ]
        } else {
            let latency = |point: &Point| point.latency_nanoseconds();
            let per_key = |point: &Point| point.per_key.nanoseconds;
            [
                quantity("Latency: until the first key of a batch", "nanoseconds", latency),
                quantity("Cost of a key in the batch", "nanoseconds", per_key),
                memory,
            ]
        }
    }
}

/// A parameter set on a backend.
struct Series<'a> {
    name: String,
    style: Style,
    points: Vec<&'a Point>,
}

/// The quantity of one panel.
struct Quantity {
    title: &'static str,
    unit: &'static str,
    value: fn(&Point) -> f64,
    /// The base of the logarithmic axis, and the ticks within one power of it.
    ticks: (f64, &'static [f64]),
    label: fn(f64) -> String,
}
