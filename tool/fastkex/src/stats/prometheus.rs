//! Counts in the text format of Prometheus: sums over the processes of a program, in seconds and
//! items, with labels that do not change when a process is replaced.

use std::fmt::Write;

use keypool::{Counter, Counts, NegotiatedGroup, Purpose, Watch};

use super::totals::{CONNECTIONS, HANDSHAKES, Source, Totals, lines, number, of_pool};
use super::{Shown, key};

const NANOSECONDS: u64 = 1_000_000_000;

/// Formats the sums, and what is true of the processes that run.
pub(super) fn text(totals: &Totals, shown: &[Shown]) -> String {
    let mut text = String::new();
    let mut metric = Metric(&mut text);
    metric.start("fastkex_up", "gauge", "Whether fastkex stats could read the processes.");
    metric.line("fastkex_up", &[], "1");

    let name = "fastkex_processes";
    metric.start(name, "gauge", "Processes that show counts, by whether they count handshakes.");
    for (is_on, state) in [(true, "counted"), (false, "not_counted")] {
        let holds = |process: &Shown| (process.handshakes.watch == Watch::On) == is_on;
        for (source, count) in number(shown, holds) {
            let labels = [source.labels(), vec![("handshakes", state.into())]].concat();
            metric.line(name, &labels, &count.to_string());
        }
    }

    let name = "fastkex_handshakes_total";
    metric.start(name, "counter", "TLS handshakes that were completed, by negotiated group.");
    for (source, item, count) in lines(totals, HANDSHAKES) {
        let resists =
            |group: &NegotiatedGroup| group.name() == item.group && group.is_post_quantum();
        let is_post_quantum = NegotiatedGroup::all().any(|group| resists(&group));
        let labels = [
            source.labels(),
            vec![
                ("group", item.group.clone()),
                ("role", item.role.clone().unwrap_or_default()),
                ("post_quantum", if is_post_quantum { "yes" } else { "no" }.into()),
            ],
        ];
        metric.line(name, &labels.concat(), &count.to_string());
    }

    let name = "fastkex_connections_total";
    metric.start(name, "counter", "TLS connections, whether or not a handshake was counted.");
    for (source, _, count) in lines(totals, CONNECTIONS) {
        metric.line(name, &source.labels(), &count.to_string());
    }

    for purpose in Purpose::ALL {
        let items = key(purpose);
        for counter in Counter::ALL {
            let (name, is_time) = match counter {
                Counter::SlowestRefillNanoseconds => continue,
                Counter::RefillNanoseconds => ("refill_seconds".into(), true),
                Counter::Unlocked => ("pools_unlocked".to_owned(), false),
                Counter::WithoutThread => ("thread_failures".into(), false),
                _ => (counter.name().into(), false),
            };
            let name = format!("fastkex_{items}_{name}_total");
            let what = counter.description().replace("nanoseconds", "seconds");
            metric.start(&name, "counter", &format!("Pools of {purpose}: {what}."));
            for (source, item, count) in lines(totals, &of_pool(items, counter)) {
                let labels = [source.labels(), vec![("group", item.group.clone())]].concat();
                let value = if is_time { seconds(count) } else { count.to_string() };
                metric.line(&name, &labels, &value);
            }
        }
        let gauges: [(&str, &str, Gauge); 2] = [
            ("in_stock", "items that are ready", |shown| of_each(shown, Counts::stock).sum()),
            ("slowest_refill_seconds", "seconds that the slowest batch took", |shown| {
                let slowest = |counts: &Counts| counts.get(Counter::SlowestRefillNanoseconds);
                of_each(shown, slowest).max().unwrap_or_default()
            }),
        ];
        for (ending, what, value) in gauges {
            let name = format!("fastkex_{items}_{ending}");
            metric.start(&name, "gauge", &format!("Pools of {purpose}: {what}."));
            for (source, group, counts) in by_group(shown, purpose) {
                let labels = [source.labels(), vec![("group", group.into())]].concat();
                let value = value(&counts);
                let is_time = ending.ends_with("seconds");
                metric.line(
                    &name,
                    &labels,
                    &if is_time { seconds(value) } else { value.to_string() },
                );
            }
        }
    }
    text
}

/// A value of the pools of one group.
type Gauge = fn(&[Counts]) -> u64;

/// One value of each, of which none is too large to be added.
fn of_each(all: &[Counts], value: impl Fn(&Counts) -> u64) -> impl Iterator<Item = u64> {
    let most = u64::MAX / (all.len() as u64).max(1);
    all.iter().map(move |counts| value(counts).min(most)).collect::<Vec<_>>().into_iter()
}

/// The pools for one purpose in processes that run, together for each source and group.
fn by_group(shown: &[Shown], purpose: Purpose) -> Vec<(Source, &'static str, Vec<Counts>)> {
    let mut found: Vec<(Source, &'static str, Vec<Counts>)> = Vec::new();
    for process in shown {
        for record in process.records.iter().filter(|record| record.purpose == purpose) {
            let is_it = |(source, group, _): &&mut (Source, &str, _)| {
                *source == process.source && *group == record.group
            };
            match found.iter_mut().find(is_it) {
                Some((_, _, counts)) => counts.push(record.counts),
                None => found.push((process.source.clone(), record.group, vec![record.counts])),
            }
        }
    }
    found.sort_by(|one, other| (&one.0, one.1).cmp(&(&other.0, other.1)));
    found
}

fn seconds(nanoseconds: u64) -> String {
    format!("{}.{:09}", nanoseconds / NANOSECONDS, nanoseconds % NANOSECONDS)
}

impl Source {
    fn labels(&self) -> Vec<(&'static str, String)> {
        let service = self.service.iter().map(|service| ("service", service.clone()));
        [("program", self.program.clone())].into_iter().chain(service).collect()
    }
}

/// Writes metrics.
struct Metric<'a>(&'a mut String);

impl Metric<'_> {
    fn start(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string does not fail.
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &[(&str, String)], value: &str) {
        let labels: Vec<_> = labels
            .iter()
            .map(|(name, value)| {
                let value = value.replace('\\', r"\\").replace('"', r#"\""#).replace('\n', r"\n");
                format!("{name}=\"{value}\"")
            })
            .collect();
        let labels =
            if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }
}
