//! `fastkex-lab plot batches`: the figure, the table, and drawing an earlier measurement again.

mod common;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use common::{assert_misused, assert_refused, stderr, stdout};
use roxmltree::{Document, Node};
use serde_json::Value;

fn plot(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fastkex-lab"));
    command.args(["plot", "batches"]).args(arguments).current_dir(folder).output().unwrap()
}

const BRIEFLY: [&str; 8] = [
    "--algorithm",
    "sntrup653,sntrup761",
    "--batches",
    "1..4",
    "--seconds",
    "0.001",
    "--json",
    "measured.json",
];

fn measured(folder: &Path, backend: &str) -> (Value, String, String) {
    let output =
        plot(folder, &[&BRIEFLY[..], &["--backend", backend, "--output", "a.svg"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stderr(&output), "");
    let report = serde_json::from_slice(&fs::read(folder.join("measured.json")).unwrap()).unwrap();
    (report, fs::read_to_string(folder.join("a.svg")).unwrap(), stdout(&output))
}

/// Counts the points of curves. The first set's are circles, the second's triangles.
fn markers(document: &Document<'_>) -> usize {
    let is_marker =
        |node: &Node<'_, '_>| node.has_tag_name("circle") || node.has_tag_name("polygon");
    document.descendants().filter(is_marker).count()
}

#[test]
fn sizes_and_memory_are_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (report, _, table) = measured(folder.path(), "portable");
    assert_eq!(report["machine"]["backends"][0], "portable");
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    for (i, point) in points.iter().enumerate() {
        let (name, key_bytes) = [("sntrup653", 994 + 1518), ("sntrup761", 1158 + 1763)][i / 3];
        let batch = 1u64 << (i % 3);
        assert_eq!((&point["algorithm"], &point["backend"]), (&name.into(), &"portable".into()));
        assert_eq!(
            (&point["batch"], &point["keys_bytes"]),
            (&batch.into(), &(batch * key_bytes).into())
        );
        assert!(point["nanoseconds"].as_f64().unwrap() > 0.0, "{point}");
        // The memory holds at least the keys, and fits into a thread of 1 MiB.
        assert!(point["heap_bytes"].as_u64().unwrap() >= batch * key_bytes, "{point}");
        if cfg!(target_os = "linux") {
            assert!((1024..1 << 20).contains(&point["stack_bytes"].as_u64().unwrap()), "{point}");
        }
        let row = format!("| {name} | portable | {batch:5} |");
        assert!(table.contains(&row), "no {row} in {table}");
    }
    for pair in [&points[..3], &points[3..]].iter().flat_map(|set| set.windows(2)) {
        let heap = |point: &Value| point["heap_bytes"].as_u64().unwrap();
        assert!(heap(&pair[0]) < heap(&pair[1]), "a larger batch needs more memory: {pair:?}");
    }
    assert!(table.contains("Memory: ") && table.ends_with("Figure: a.svg\n"), "{table}");
}

#[test]
fn ml_kem_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["--algorithm", "mlkem512,mlkem768,mlkem1024", "--batches", "4..8"];
    let rest = ["--seconds", "0.001", "--json", "measured.json", "--output", "a.svg"];
    let output = plot(folder.path(), &[&arguments[..], &rest].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let report = fs::read(folder.path().join("measured.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    let key_bytes =
        [("mlkem512", 800 + 1632), ("mlkem768", 1184 + 2400), ("mlkem1024", 1568 + 3168)];
    for (i, point) in points.iter().enumerate() {
        let (name, key_bytes) = key_bytes[i / 2];
        let keys_bytes = [4, 8][i % 2] * key_bytes;
        assert_eq!((&point["algorithm"], &point["keys_bytes"]), (&name.into(), &keys_bytes.into()));
        assert!(point["heap_bytes"].as_u64().unwrap() >= keys_bytes, "{point}");
    }
}

#[test]
fn the_figure_has_every_series_in_three_panels() {
    let folder = tempfile::tempdir().unwrap();
    let (_, figure, _) = measured(folder.path(), "portable");
    let document = Document::parse(&figure).unwrap();
    assert!(document.root_element().has_tag_name(("http://www.w3.org/2000/svg", "svg")));
    let texts: Vec<String> = document
        .descendants()
        .filter(|node| node.has_tag_name("text"))
        .filter_map(|node| node.text().map(|text| text.trim().to_owned()))
        .collect();
    let of = |wanted: &str| texts.iter().filter(|text| *text == wanted).count();
    assert_eq!((of("sntrup653"), of("sntrup761")), (1, 1), "{texts:?}");
    assert_eq!((of("keys in a batch"), of("1"), of("2"), of("4")), (3, 3, 3, 3), "{texts:?}");
    assert!(texts.iter().any(|text| text.ends_with(", portable")), "{texts:?}");
    // Three points for each series in each of three panels, and one in the legend.
    assert_eq!(markers(&document), 2 * (3 * 3 + 1));
    let is_inside = |node: &Node<'_, '_>| {
        let at = |name| node.attribute(name).unwrap().parse::<f64>().unwrap();
        let size = document.root_element();
        let limit = |name| size.attribute(name).unwrap().parse::<f64>().unwrap();
        (0.0..limit("width")).contains(&at("cx")) && (0.0..limit("height")).contains(&at("cy"))
    };
    assert!(
        document
            .descendants()
            .filter(|node| node.has_tag_name("circle"))
            .all(|node| is_inside(&node))
    );
}

#[test]
fn a_second_backend_has_series_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = sntrup::Backend::available().map(sntrup::Backend::name).collect();
    if names.len() == 1 {
        artifacts::skipped("one backend only on this processor");
        return;
    }
    let (_, figure, _) = measured(folder.path(), &names.join(","));
    let document = Document::parse(&figure).unwrap();
    assert_eq!(markers(&document), 2 * names.len() * (3 * 3 + 1));
    for name in names {
        assert!(figure.contains(&format!("sntrup653, {name}\n")), "{name}: {figure}");
    }
}

#[test]
fn drawing_again_gives_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (_, first, table) = measured(folder.path(), "portable");
    let output = plot(folder.path(), &["--from", "measured.json", "--output", "b.svg"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("b.svg")).unwrap(), first);
    assert_eq!(stdout(&output), table.replace("a.svg", "b.svg"));
}

#[test]
fn what_cannot_be_drawn_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], expected: &str| {
        assert_refused(&plot(folder.path(), arguments), expected);
    };
    let misused = |arguments: &[&str], expected: &str| {
        assert_misused(&plot(folder.path(), arguments), expected);
    };
    for batches in ["0..4", "3..8", "8..4", "1..131072", "1", "1..", "1..x", "..", ""] {
        misused(&[&format!("--batches={batches}")], "two powers of two, such as 1..1024");
    }
    misused(&["--algorithm", "x25519"], "sntrup653");
    misused(&["--backend", "sse9"], "portable, avx2, avx512");
    refused(&["--output", "no/such/folder.svg"], "its folder does not exist");
    refused(&["--output", "."], "is a folder");
    refused(&["--json", "no/such/folder.json"], "no/such/folder.json");
    refused(&["--from", "missing.json"], "missing.json: No such file");
    misused(&["--from", "x.json", "--algorithm", "sntrup653"], "cannot be used with");

    let (report, ..) = measured(folder.path(), "portable");
    let bad = |text: String, expected: &str| {
        fs::write(folder.path().join("bad.json"), text).unwrap();
        refused(&["--from", "bad.json"], expected);
        refused(&["--from", "bad.json"], "bad.json");
    };
    bad("[]".into(), "holds no measurements");
    bad("{}".into(), "not what --json of");
    bad("[3]".into(), "not what --json of");
    let mut empty = report.clone();
    empty["points"] = Value::Array(Vec::new());
    bad(empty.to_string(), "holds no measurements");
    for field in ["core_cycles", "nanoseconds", "batch"] {
        let mut negative = report.clone();
        negative["points"][1][field] = 0.into();
        bad(negative.to_string(), "not positive");
    }
    assert!(!folder.path().join("fastkex-plot.svg").exists());
}
