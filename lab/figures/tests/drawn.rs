//! Figures: contents, nothing outside the borders, and PNG output.

mod common;

use std::collections::BTreeSet;

use common::{costs, dot, ended_early, handshakes, http, input};
use figures::{Batches, Figure, Input, Point};
use roxmltree::Document;
use timer::results::HandshakeCosts;

fn texts(figure: &Figure) -> Vec<String> {
    let document = Document::parse(&figure.svg).unwrap();
    let all = document.descendants().filter(|node| node.has_tag_name("text"));
    all.filter_map(|node| node.text().map(|text| text.trim().to_owned())).collect()
}

fn named<'a>(figures: &'a [Figure], name: &str) -> &'a Figure {
    figures.iter().find(|figure| figure.name == name).unwrap_or_else(|| panic!("no figure {name}"))
}

fn assert_texts(figure: &Figure, expected: &[&str]) {
    let texts = texts(figure);
    for text in expected {
        assert!(texts.iter().any(|other| other.contains(text)), "{text}: {texts:?}");
    }
}

#[test]
fn axes_have_titles_and_units() {
    let names = ["X25519", "P-256", "sntrup761", "sntrup857", "X25519MLKEM768"];
    let tls = input([handshakes()]).figures().unwrap();
    assert_eq!(tls.iter().map(|figure| &*figure.name).collect::<Vec<_>>(), ["rates", "times"]);
    assert_texts(named(&tls, "rates"), &names);
    assert_texts(
        named(&tls, "rates"),
        &["connections per second", "share of samples", "50 %", "stunnel 5.68"],
    );
    assert_texts(
        named(&tls, "times"),
        &["milliseconds of a connection", "share of connections", "100 %"],
    );
    let dot = input([dot()]).figures().unwrap();
    assert_texts(named(&dot, "peaks"), &["queries per minute", "X25519", "P-256", "sntrup761"]);
    assert_texts(named(&dot, "clients"), &["clients at once", "per minute", "16"]);
    let http = input([http()]).figures().unwrap();
    assert_texts(
        named(&http, "latency"),
        &["HTTP requests on a connection", "milliseconds", "25", "20 ms, 10 Mbit/s"],
    );
    assert!(
        !http.iter().any(|figure| figure.name == "rates"),
        "rates of different numbers of requests"
    );
}

#[test]
fn several_runs_have_figures_of_their_own() {
    let figures = input([handshakes(), dot(), http()]).figures().unwrap();
    let names: BTreeSet<_> = figures.iter().map(|figure| &figure.name).collect();
    assert_eq!(names.len(), figures.len());
    assert!(
        names.contains(&"1-rates".to_owned()) && names.contains(&"3-latency".to_owned()),
        "{names:?}"
    );
}

#[test]
fn an_incomplete_run_is_marked() {
    for figure in input([ended_early()]).figures().unwrap() {
        assert_texts(&figure, &["(incomplete run)", "INCOMPLETE", "3 connections failed"]);
    }
    for figure in input([handshakes()]).figures().unwrap() {
        assert!(!figure.svg.to_lowercase().contains("incomplete"));
    }
}

#[test]
fn handshakes_are_bars_by_the_modules_part() {
    let figures = costs().figures().unwrap();
    assert_eq!(figures.len(), 1);
    let figure = named(&figures, "handshakes");
    assert_texts(
        figure,
        &[
            "Processor time of a TLS 1.3 handshake",
            "OpenSSL 3.0.22",
            "module not loaded",
            "module loaded, not used",
            "module used",
            "Certificate: ecdsa-p-256",
            "Certificate: rsa-2048",
            "X25519SNTRUP761",
            "microseconds of both sides",
            "562",
        ],
    );
    let mut wrong = costs().costs;
    wrong[0].1.rows[1].cost.microseconds = 0.0;
    let folder = common::folder("costs");
    for (costs, problem) in [
        (serde_json::to_string(&wrong[0].1).unwrap(), "holds times that are not positive"),
        (
            serde_json::to_string(&HandshakeCosts { rows: Vec::new(), ..wrong[0].1.clone() })
                .unwrap(),
            "holds no measurements",
        ),
    ] {
        let file = folder.join("wrong.json");
        std::fs::write(&file, costs).unwrap();
        let error = Input::read(&[file]).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}

#[test]
fn handshakes_are_written_and_read_again() {
    let folder = common::folder("costs-raw");
    let base = folder.join("hs");
    let written = costs().write_raw(&base, &[]).unwrap();
    let ends = |ending: &str| written.iter().any(|path| path.to_string_lossy().ends_with(ending));
    assert!(ends("hs.json") && ends("hs-handshakes.csv") && written.len() == 2, "{written:?}");
    let again = Input::read(&written[..1]).unwrap();
    assert_eq!(again.costs[0].1, costs().costs[0].1);
    let csv = std::fs::read_to_string(folder.join("hs-handshakes.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8);
    assert!(csv.contains("1,c.json,3.0.22,rsa-2048,X25519SNTRUP761,used,502"), "{csv}");
    let page = figures::page(&again, "t", &[]).unwrap();
    assert!(page.contains("against the first row") && page.contains("-15.4 %"), "table");
}

/// A group whose rates are higher has its curve further to the right.
#[test]
fn curves_are_where_their_samples_are() {
    let run = handshakes();
    let figures = input([run.clone()]).figures().unwrap();
    let document = Document::parse(&named(&figures, "rates").svg).unwrap();
    // Solid lines are the curves of the first and the fifth candidate. Both have an entry in the
    // legend, too.
    let widest = |colour: &str| {
        let lines = document.descendants().filter(|node| {
            node.has_tag_name("polyline") && node.attribute("stroke") == Some(colour)
        });
        let points = lines.map(|node| node.attribute("points").unwrap().to_owned());
        let points = points.max_by_key(String::len).unwrap();
        let x = |point: &str| point.split(',').next().unwrap().parse::<f64>().unwrap();
        let all: Vec<f64> = points.split_whitespace().map(x).collect();
        (all.len(), all[all.len() / 2])
    };
    let (first, fifth) = (widest("#0072B2"), widest("#E69F00"));
    assert_eq!(first.0, 2 * run.series[0].samples.len());
    assert!(first.1 > fifth.1, "X25519 is faster than the hybrid: {first:?} {fifth:?}");
}

#[test]
fn everything_is_inside() {
    let mut all = input([handshakes(), ended_early(), dot(), http()]);
    all.batches = batches().batches;
    all.costs = costs().costs;
    for figure in all.figures().unwrap() {
        let document = Document::parse(&figure.svg).unwrap();
        let size = |name| document.root_element().attribute(name).unwrap().parse::<f64>().unwrap();
        let (width, height) = (size("width"), size("height"));
        for node in document.descendants().filter(|node| node.has_tag_name("text")) {
            let number =
                |name| node.attribute(name).map_or(0.0, |text| text.parse::<f64>().unwrap());
            let letters = node.text().unwrap_or("").trim().chars().count() as f64;
            let length = 0.6 * number("font-size") * letters;
            let (left, right) = match node.attribute("text-anchor") {
                _ if node.attribute("transform").is_some() => (number("x"), number("x")),
                Some("end") => (number("x") - length, number("x")),
                Some("middle") => (number("x") - length / 2.0, number("x") + length / 2.0),
                _ => (number("x"), number("x") + length),
            };
            assert!(left >= 0.0 && right <= width, "{}: {node:?} {left} {right}", figure.name);
            assert!((0.0..=height).contains(&number("y")), "{}: {node:?}", figure.name);
        }
        for node in document.descendants().filter(|node| node.has_tag_name("polyline")) {
            for point in node.attribute("points").unwrap().split_whitespace() {
                let (x, y) = point.split_once(',').unwrap();
                let (x, y) = (x.parse::<f64>().unwrap(), y.parse::<f64>().unwrap());
                assert!(
                    (0.0..=width).contains(&x) && (0.0..=height).contains(&y),
                    "{}: {point}",
                    figure.name
                );
            }
        }
    }
}

fn batches() -> Input {
    let point = |algorithm: &str, batch: usize| Point {
        algorithm: algorithm.into(),
        backend: "avx2".into(),
        batch,
        per_key: measure::Measurement {
            core_cycles: Some(80_000.0 + 500_000.0 / batch as f64),
            nanoseconds: 30_000.0,
            spread: 0.02,
            samples: 9,
        },
        keys_bytes: 2921 * batch,
        heap_bytes: 9000 * batch,
        stack_bytes: Some(20_000),
    };
    let sizes = (0..=10).map(|power| 1 << power);
    let points = sizes.flat_map(|batch| ["sntrup761", "sntrup857"].map(|name| point(name, batch)));
    let batches = Batches {
        machine: measure::machine(),
        method: measure::METHOD.into(),
        memory_method: "as a test has it".into(),
        points: points.collect(),
    };
    Input { batches: vec![("b.json".into(), batches)], ..Input::default() }
}

#[test]
fn pixels_are_not_blank_and_have_letters() {
    let folder = common::folder("drawn");
    let mut all = input([handshakes(), ended_early(), dot(), http()]);
    all.batches = batches().batches;
    for figure in all.figures().unwrap() {
        std::fs::write(folder.join(format!("{}.svg", figure.name)), &figure.svg).unwrap();
        let png = figures::png(&figure.svg).unwrap();
        std::fs::write(folder.join(format!("{}.png", figure.name)), &png).unwrap();
        let pixels = resvg::tiny_skia::Pixmap::decode_png(&png).unwrap();
        let width = Document::parse(&figure.svg)
            .unwrap()
            .root_element()
            .attribute("width")
            .unwrap()
            .parse::<u32>();
        assert_eq!(pixels.width(), 2 * width.unwrap());
        let dark = |from: u32, to: u32| {
            let rows = (from * pixels.width()) as usize..(to * pixels.width()) as usize;
            pixels.pixels()[rows].iter().filter(|pixel| pixel.red() < 0x80).count()
        };
        // In the title's rows only letters can be dark.
        assert!(dark(20, 80) > 1000, "{}: no letters", figure.name);
        assert!(dark(80, pixels.height()) > 5000, "{}", figure.name);
        let colours: BTreeSet<_> =
            pixels.pixels().iter().map(|p| (p.red(), p.green(), p.blue())).collect();
        assert!(colours.len() > 50, "{}", figure.name);
    }
}
