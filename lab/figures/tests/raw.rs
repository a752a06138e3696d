//! Data files beside the figures: they hold the same numbers.

mod common;

use common::{dot, ended_early, handshakes, http, input};
use csv::{Reader, StringRecord};
use figures::Input;

fn rows(path: &std::path::Path) -> (StringRecord, Vec<StringRecord>) {
    let mut reader = Reader::from_path(path).unwrap();
    (reader.headers().unwrap().clone(), reader.records().map(Result::unwrap).collect())
}

#[test]
fn rows_equal_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = ended_early();
    first.series[0].label = "X25519, \"quoted\"".into();
    let all = input([first, dot(), http()]);
    let written = all.write_raw(&folder.path().join("a.b"), &[]).unwrap();
    let names: Vec<_> =
        written.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a.b.json", "a.b.csv", "a.b-connections.csv", "a.b-clients.csv"]);

    let (head, samples) = rows(&written[1]);
    let column =
        |head: &StringRecord, name: &str| head.iter().position(|other| other == name).unwrap();
    let mut expected = Vec::new();
    for (number, (_, run)) in all.runs.iter().enumerate() {
        for series in &run.series {
            for sample in &series.samples {
                expected.push((number + 1, series, sample));
            }
        }
    }
    assert_eq!(samples.len(), expected.len());
    for (row, (number, series, sample)) in samples.iter().zip(expected) {
        let cell = |name| &row[column(&head, name)];
        let float = |name| cell(name).parse::<f64>().unwrap();
        assert_eq!(cell("run"), number.to_string());
        assert_eq!((cell("label"), cell("group")), (&*series.label, &*series.group));
        assert_eq!(
            cell("requests"),
            series.requests.map_or(String::new(), |count| count.to_string())
        );
        assert_eq!(cell("connections"), sample.connections.to_string());
        assert_eq!(cell("failures"), sample.failures.to_string());
        assert_eq!(
            (float("seconds"), float("user_seconds")),
            (sample.seconds, sample.user_seconds)
        );
        assert_eq!(float("connections_per_second"), sample.rate().unwrap());
        assert_eq!(cell("complete"), (number > 1).to_string());
    }

    let (head, connections) = rows(&written[2]);
    let times = all.runs.iter().flat_map(|(_, run)| &run.series).flat_map(|series| &series.samples);
    let times: Vec<String> =
        times.flat_map(|sample| &sample.microseconds).map(u32::to_string).collect();
    let at = column(&head, "microseconds");
    assert_eq!(connections.iter().map(|row| row[at].to_owned()).collect::<Vec<_>>(), times);
    assert_eq!(rows(&written[3]).1.len(), 3 * 5);
}

#[test]
fn json_can_be_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let all = input([handshakes(), dot()]);
    let written = all.write_raw(&folder.path().join("again"), &[]).unwrap();
    let again = Input::read(&written[..1]).unwrap();
    let runs = |of: &Input| of.runs.iter().map(|(_, run)| run.clone()).collect::<Vec<_>>();
    // Equal to the last digit. Not assert_eq, which would print all of them.
    assert!(runs(&again) == runs(&all));
}

#[test]
fn what_is_no_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    let refused = |text: &str, expected: &str| {
        std::fs::write(&path, text).unwrap();
        let error = Input::read(std::slice::from_ref(&path)).unwrap_err().to_string();
        assert!(error.contains("x.json") && error.contains(expected), "{error}");
    };
    refused("", "not what --json of");
    refused("{\"what\":\"tls\"}", "not what --json of");
    refused("[]", "holds no measurements");
    refused("[3]", "not what --json of");
    let text = |run: &timer::results::Run| serde_json::to_string(run).unwrap();
    let mut run = handshakes();
    run.series.clear();
    refused(&text(&run), "holds no measurements");
    let mut run = handshakes();
    run.series[0].samples[0].seconds = -1.0;
    refused(&text(&run), "negative");
}
