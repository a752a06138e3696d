//! The report: it has all data, and loads nothing from elsewhere.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{dot, ended_early, handshakes, http, input, series};
use figures::{Input, claims, page};
use html5gum::{Token, Tokenizer};
use measure::quantile;
use serde_json::Value;
use timer::results::Run;

/// A page as an HTML parser reads it.
#[derive(Default)]
struct Page {
    elements: Vec<(String, BTreeMap<String, String>)>,
    /// Text outside style elements. Elements, and words within them, are separated by one space.
    text: String,
    style: String,
}

fn parse(html: &str) -> Page {
    let string = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    for token in Tokenizer::new(html) {
        match token.unwrap() {
            Token::StartTag(tag) => {
                let name = string(&tag.name);
                let attributes = tag.attributes.iter();
                let attributes = attributes.map(|(name, value)| (string(name), string(value)));
                if name == "wbr" {
                    // No space: the word goes on.
                    page.text.pop();
                }
                page.elements.push((name.clone(), attributes.collect()));
                if !tag.self_closing && !["meta", "wbr"].contains(&&*name) {
                    open.push(name);
                }
            }
            Token::EndTag(tag) => assert_eq!(open.pop(), Some(string(&tag.name)), "mis-nested"),
            Token::String(text) if open.last().is_some_and(|name| name == "style") => {
                page.style += &string(&text);
            }
            Token::String(text) => {
                let words = string(&text);
                page.text += &words.split_whitespace().collect::<Vec<_>>().join(" ");
                page.text.push(' ');
            }
            Token::Error(error) => panic!("{error:?}"),
            Token::Doctype(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    page
}

impl Page {
    fn count(&self, name: &str) -> usize {
        self.elements.iter().filter(|(other, _)| other == name).count()
    }

    fn assert_says(&self, expected: &str) {
        assert!(self.text.contains(expected), "no {expected:?} in {}", self.text);
    }

    /// Checks that nothing is loaded: only links may lead elsewhere, and only to files beside the
    /// page.
    fn assert_needs_nothing(&self) {
        for (name, attributes) in &self.elements {
            let loads = [
                "script", "link", "img", "image", "iframe", "object", "embed", "base", "use",
                "video", "audio", "source", "form",
            ];
            assert!(!loads.contains(&&**name), "{name}");
            for (attribute, value) in attributes {
                let place = format!("{name} {attribute}={value}");
                assert!(
                    !["src", "srcset", "data", "action", "poster", "ping", "background"]
                        .contains(&&**attribute),
                    "{place}"
                );
                assert!(!attribute.starts_with("on"), "{place}");
                assert!(
                    !value.contains("//") && !value.contains("url(") && !value.contains("http:"),
                    "{place}"
                );
                if attribute == "href" {
                    assert_eq!(name, "a");
                    assert!(value.starts_with("./") || value.starts_with('#'), "{place}");
                }
            }
        }
        for what in ["//", "url(", "@import", "http"] {
            assert!(!self.style.contains(what), "{what} in the style");
        }
    }
}

fn of(input: &Input) -> Page {
    let raw = ["report.json".to_owned(), "report.csv".to_owned(), "http: a report.csv".to_owned()];
    parse(&page(input, "Title & <more>", &raw).unwrap())
}

fn one(run: Run) -> Page {
    of(&input([run]))
}

fn grouped(number: f64) -> String {
    measure::grouped(number)
}

#[test]
fn every_figure_and_number_is_there() {
    let all = input([handshakes(), dot(), http(), ended_early()]);
    let page = of(&all);
    page.assert_needs_nothing();
    page.assert_says("Title & <more>");
    let figures = all.figures().unwrap();
    assert_eq!((page.count("svg"), page.count("figcaption")), (figures.len(), figures.len()));
    let links: Vec<_> =
        page.elements.iter().filter_map(|(_, attributes)| attributes.get("href")).collect();
    assert!(links.contains(&&"./http%3A%20a%20report.csv".to_owned()), "{links:?}");
    for (_, run) in &all.runs {
        page.assert_says(&run.machine.to_string());
        page.assert_says(&run.client);
        page.assert_says("0.31 processes");
        for series in &run.series {
            let rates = series.rates();
            let part = |share| grouped(quantile(&rates, share).unwrap());
            if series.requests.is_none() {
                page.assert_says(&format!("{} ({} – {})", part(0.5), part(0.25), part(0.75)));
            }
            let times = series.microseconds();
            let slow = quantile(&times, 0.999).unwrap() / 1e3;
            page.assert_says(&if slow < 9.995 {
                format!("{slow:.2}")
            } else {
                format!("{slow:.1}")
            });
            let (user, kernel, server) = series.processor_microseconds().unwrap();
            page.assert_says(&format!(
                "{} {} {}",
                grouped(user),
                grouped(kernel),
                grouped(server.unwrap())
            ));
        }
        for peak in &run.peaks {
            page.assert_says(&grouped(peak.best().unwrap().per_minute()));
        }
    }
    for message in
        ["ClientHello", "ServerHello", "Certificate", "CertificateVerify", "Finished, sent"]
    {
        page.assert_says(message);
    }
}

#[test]
fn published_numbers_stand_beside() {
    let tls = one(handshakes());
    for text in [
        "1,707",
        "1,366",
        "1,260",
        "+25.0 %",
        "section 4.3",
        "Gigabit Ethernet",
        "Figure 5’s order holds in this run",
    ] {
        tls.assert_says(text);
    }
    let dot = one(dot());
    for text in ["290,315", "234,875", "206,275", "+23.6 %"] {
        dot.assert_says(text);
    }
    let http = one(http());
    for text in ["10.8", "+84.3 %", "133.3", "2,430", "8,961", "39,064", "16,994", "TLS 1.2"] {
        http.assert_says(text);
    }
}

#[test]
fn an_order_that_does_not_hold_is_said() {
    let page = one(ended_early());
    page.assert_says("Figure 5’s order does not hold in this run");
    let run = ended_early();
    let rounds = run.series[2].samples.iter().zip(&run.series[0].samples);
    let mut ratios: Vec<f64> =
        rounds.map(|(own, other)| own.rate().unwrap() / other.rate().unwrap()).collect();
    ratios.sort_by(f64::total_cmp);
    let ratio = format!("{:.1} %", 100.0 * (1.0 - quantile(&ratios, 0.5).unwrap()));
    page.assert_says(&format!("sntrup761 −{ratio} against X25519"));
    // The page also reports the processor time by group.
    let (user, kernel, server) = run.series[2].processor_microseconds().unwrap();
    let known = format!(
        "sntrup761: client {} µs, server {} µs",
        grouped(user + kernel),
        grouped(server.unwrap())
    );
    page.assert_says(&known);
    let mut curves = handshakes();
    curves.series.truncate(2);
    assert!(!one(curves).text.contains("Figure 5’s order"), "nothing to compare");
}

#[test]
fn claims_are_compared_by_who_computes() {
    let order = |run: &Run| claims(run)[1].pairs.clone();
    let mut run = handshakes();
    let (before, text) = (order(&run), one(run.clone()).text);
    assert_eq!(before.len(), 4);
    assert!(claims(&run)[0].holds.is_none() && !text.contains("reference code"));

    // A slower sntrup761 from another implementation is not part of the order in figure 5.
    let plan = run.plan;
    run.series.push(series("sntrup761", 0xfee1, 1_400.0, None, plan));
    let slow = run.series.last_mut().unwrap();
    slow.label = "sntrup761@serial".into();
    assert_eq!(order(&run), before);
    assert!(claims(&run)[0].holds.is_none());
    run.series.last_mut().unwrap().label = "sntrup761@reference".into();
    assert_eq!(order(&run), before);
    let [batches, curves] = claims(&run);
    assert_eq!((batches.holds, curves.holds), (Some(true), Some(true)));
    assert!(batches.quartiles_separate && batches.pairs.len() == 1, "{:?}", batches.pairs);
    assert!(
        batches.pairs[0].starts_with("sntrup761 +")
            && batches.pairs[0].ends_with(" against sntrup761@reference")
    );
    one(run.clone()).assert_says("Batches are faster than the reference code in this run");

    let ours = run.series.iter_mut().find(|series| series.label == "sntrup761").unwrap();
    ours.samples.iter_mut().for_each(|sample| sample.seconds *= 3.0);
    assert_eq!(claims(&run)[0].holds, Some(false));
    one(run).assert_says("Batches are not faster than the reference code in this run");
}

#[test]
fn incomplete_runs_and_failures_are_marked() {
    let page = of(&input([handshakes(), ended_early()]));
    page.assert_says("1 of 2 runs incomplete");
    page.assert_says("Incomplete: the run was ended before everything was measured.");
    page.assert_says("3 connections failed.");
    page.assert_says("connection reset <by peer>");
    assert!(!one(handshakes()).text.to_lowercase().contains("incomplete"));
    // With failures only there are no figures and no made-up numbers.
    let mut run = handshakes();
    for series in &mut run.series {
        for sample in &mut series.samples {
            sample.failures = sample.connections;
            sample.connections = 0;
            sample.microseconds.clear();
        }
    }
    let page = one(run);
    assert_eq!(page.count("svg"), 0);
    assert!(!page.text.contains("NaN") && !page.text.contains("inf "), "{}", page.text);
}

/// Opens a page in a browser that cannot resolve any name. Returns the resulting document and the
/// addresses that the page requested, or `None` if there is no browser.
fn browsed(file: &Path) -> Option<(String, Vec<String>)> {
    let profile = tempfile::tempdir().unwrap();
    let log = profile.path().join("net.json");
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
        ])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .arg("--host-resolver-rules=MAP * ~NOTFOUND")
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("--log-net-log={}", log.display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .ok()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let log: Value = serde_json::from_slice(&std::fs::read(&log).unwrap()).unwrap();
    // The browser's own requests to its maker have no origin.
    let asked = log["events"].as_array().unwrap().iter().filter_map(|event| {
        let origin = event["params"]["initiator"].as_str()?;
        (origin != "not an origin").then(|| event["params"]["url"].to_string())
    });
    Some((String::from_utf8(output.stdout).unwrap(), asked.collect()))
}

#[test]
fn a_browser_shows_it_without_a_request() {
    let folder = common::folder("page");
    let all = input([handshakes(), dot(), http(), ended_early()]);
    let raw = all.write_raw(&folder.join("report"), &[]).unwrap();
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    let raw: Vec<String> = raw.iter().map(name).collect();
    let file = folder.join("report.html");
    std::fs::write(&file, page(&all, "Report", &raw).unwrap()).unwrap();
    // A page with a request, to check that requests are detected.
    let asking = folder.join("asking.html");
    std::fs::write(&asking, "<!DOCTYPE html><img src=\"http://elsewhere.invalid/a.png\">").unwrap();
    let Some((_, asked)) = browsed(&asking) else {
        artifacts::skipped("no chromium (apt-get install chromium)");
        return;
    };
    assert!(asked.iter().any(|url| url.contains("elsewhere.invalid")), "{asked:?}");

    let (dom, asked) = browsed(&file).unwrap();
    assert!(dom.contains("</html>"));
    assert_eq!(dom.matches("<svg").count(), all.figures().unwrap().len());
    assert!(asked.is_empty(), "{asked:?}");
}

#[test]
fn peaks_are_compared_with_openssls_x25519() {
    let mut run = dot();
    let mut faster = run.peaks.iter().find(|peak| peak.label == "X25519").unwrap().clone();
    faster.label = "X25519@fastkex".into();
    for step in &mut faster.steps {
        step.served *= 2;
    }
    // The order of peaks has no effect.
    run.peaks.insert(0, faster);
    one(run).assert_says("+100.0 %");
}
