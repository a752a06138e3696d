//! Figures as a table, as a page of the documentation, and as JSON.

use std::fmt::Write;

use measure::{Align, Machine, Table, grouped, percent};
use serde::Serialize;

use crate::comparison::Figure;

/// All results of a run.
#[derive(Serialize)]
pub struct Report {
    /// The machine and the day of the measurement.
    pub machine: Machine,
    /// The measured implementations: name and version.
    pub versions: Vec<(String, String)>,
    /// The method of measurement.
    pub method: String,
    /// Seconds for each figure.
    pub seconds: f64,
    /// The measurements, algorithm by algorithm.
    pub figures: Vec<Figure>,
    /// Implementations that were skipped, with the reason.
    pub skipped: Vec<String>,
}

const COLUMNS: [(&str, Align); 8] = [
    ("algorithm", Align::Left),
    ("implementation", Align::Left),
    ("backend", Align::Left),
    ("operation", Align::Left),
    ("core cycles", Align::Right),
    ("ns", Align::Right),
    ("spread", Align::Right),
    ("ratio", Align::Right),
];

const RATIO: &str = "Ratio: how many times as long the fastest peer took for the same operation; above 1, ours is faster. \
    Ours in batches, prepared or expanded stands beside what peers do for one key or ciphertext.";

fn cells(figure: &Figure) -> [String; 8] {
    let Figure { algorithm, implementation, backend, operation, measurement, best_peer_ratio } =
        figure;
    [
        (*algorithm).into(),
        implementation.clone(),
        backend.unwrap_or("-").into(),
        operation.clone(),
        measurement.core_cycles.map_or("-".into(), grouped),
        grouped(measurement.nanoseconds),
        percent(measurement.spread),
        best_peer_ratio.map_or(String::new(), |ratio| format!("{ratio:.2}")),
    ]
}

impl Report {
    /// Formats the results for a terminal.
    pub fn table(&self) -> String {
        let mut table = Table::new(&COLUMNS);
        for figure in &self.figures {
            table.row(cells(figure));
        }
        let mut text = format!("{}\n\n{table}\n\n{RATIO}\n", self.machine);
        for line in self.notes() {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// Formats the results as a Markdown page. `command` is the command that makes the page.
    pub fn page(&self, command: &str) -> String {
        let mut text = format!(
            "# Peers beside ours\n\nWritten by `{command}`, which writes the same figures as JSON beside it.\n\n\
             - Machine: {}\n- How: {}; {} s for each figure\n- Versions: {}\n- {RATIO}\n",
            self.machine,
            self.method,
            self.seconds,
            self.versions()
        );
        for line in self.notes() {
            let _ = writeln!(text, "- {line}");
        }
        let mut algorithm = "";
        for figure in &self.figures {
            if figure.algorithm != algorithm {
                algorithm = figure.algorithm;
                let _ = writeln!(text, "\n## {algorithm}\n");
                let titles: Vec<_> = COLUMNS[1..].iter().map(|(title, _)| *title).collect();
                let _ = writeln!(text, "| {} |", titles.join(" | "));
                let rules = COLUMNS[1..].iter().map(|(_, align)| match align {
                    Align::Left => "---",
                    Align::Right => "---:",
                });
                let _ = writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "));
            }
            let _ = writeln!(text, "| {} |", cells(figure)[1..].join(" | "));
        }
        text
    }

    fn versions(&self) -> String {
        let versions = self.versions.iter().map(|(name, version)| format!("{name} {version}"));
        versions.collect::<Vec<_>>().join(", ")
    }

    /// Returns notes on skipped implementations and noise.
    fn notes(&self) -> Vec<String> {
        let mut notes: Vec<_> =
            self.skipped.iter().map(|what| format!("Skipped: {what}")).collect();
        let noisy = self.figures.iter().filter(|figure| figure.measurement.is_noisy()).count();
        if noisy > 0 {
            notes.push(format!(
                "Noise: {noisy} of {} figures spread over more than {}; the machine had other things to do",
                self.figures.len(),
                percent(measure::LARGE_SPREAD)
            ));
        }
        notes
    }
}

#[cfg(test)]
mod tests {
    use measure::Measurement;

    use super::*;

    fn report() -> Report {
        let figure = |implementation: &str, core_cycles, best_peer_ratio| Figure {
            algorithm: "X25519",
            implementation: implementation.into(),
            backend: None,
            operation: "derive".into(),
            measurement: Measurement {
                core_cycles: Some(core_cycles),
                nanoseconds: 25_000.4,
                spread: 0.2,
                samples: 9,
            },
            best_peer_ratio,
        };
        Report {
            machine: measure::machine(),
            versions: vec![("one".into(), "1.2.3".into()), ("other".into(), "4.5".into())],
            method: "quickly".into(),
            seconds: 0.5,
            figures: vec![figure("fastkex", 60_000.0, Some(2.0)), figure("one", 120_000.0, None)],
            skipped: vec!["this: that".into()],
        }
    }

    #[test]
    fn a_page_has_everything() {
        let page = report().page("make it");
        for part in [
            "`make it`",
            "quickly; 0.5 s",
            "one 1.2.3, other 4.5",
            "- Skipped: this: that",
            "- Noise: 2 of 2",
            "## X25519\n\n| implementation | backend |",
            "| fastkex | - | derive | 60,000 | 25,000 | 20.0 % | 2.00 |",
            "| one | - | derive | 120,000 | 25,000 | 20.0 % |  |",
        ] {
            assert!(page.contains(part), "{part} is missing:\n{page}");
        }
        assert_eq!(page.matches("## X25519").count(), 1);
    }

    #[test]
    fn a_table_and_json_have_the_figures() {
        let report = report();
        let table = report.table();
        assert!(table.contains("X25519") && table.contains("60,000") && table.contains("2.00"));
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["figures"][0]["core_cycles"], 60_000.0);
        assert_eq!(json["figures"][1]["best_peer_ratio"], serde_json::Value::Null);
        assert_eq!(json["versions"][0][1], "1.2.3");
    }
}
