//! The printed results and the files.

use std::fs;
use std::path::{Path, PathBuf};

use figures::{Claim, Input};
use measure::{Align, Table, grouped, quantile};
use output::{Failure, Outcome};
use timer::results::{Run, Series};

use crate::say;

const TITLE: &str = "OpenSSLNTRU on OpenSSL 1.1.1, and on later releases";

/// Writes a run to a file.
pub(crate) fn write(folder: &Path, name: &str, run: &Run) -> Result<PathBuf, Failure> {
    let path = folder.join(name);
    let text = serde_json::to_string(run).map_err(Failure::new)? + "\n";
    fs::write(&path, text).map_err(Failure::about(path.display()))?;
    Ok(path)
}

/// Draws figure 5 of each file, makes the page, and prints the findings on OpenSSL 1.1.1 and the
/// tables of all runs.
pub(crate) fn report(measured: &Run, files: &[PathBuf], folder: &Path) -> Outcome {
    let input = Input::read(files)?;
    let mut is_well = true;
    for (_, run) in &input.runs {
        let server = run.scene.as_ref().and_then(|scene| scene.servers.first());
        let server = server.map_or("", |server| server);
        say(format_args!("\n{server}, client with {}:\n{}", run.client, table(run)))?;
        if run.failures() > 0 || !run.complete {
            is_well = false;
            say(format_args!("WRONG: {} connections failed", run.failures()))?;
        }
    }
    say("\nThe artifact's claims about handshakes (F.5.2), on OpenSSL 1.1.1:")?;
    for (number, claim) in figures::claims(measured).iter().enumerate() {
        say(format_args!("{}. {}", number + 1, sentence(claim)))?;
    }
    say("")?;
    for path in draw(&input, folder)? {
        say(path.display())?;
    }
    Ok(is_well)
}

fn table(run: &Run) -> Table {
    let mut table = Table::new(&[
        ("group", Align::Left),
        ("connections/s", Align::Right),
        ("quartiles", Align::Right),
        ("of X25519", Align::Right),
        ("p50 \u{b5}s", Align::Right),
        ("client's processor \u{b5}s", Align::Right),
    ]);
    let base = run.series.iter().find(|series| series.label == "X25519");
    for series in &run.series {
        table.row(row(series, base));
    }
    table
}

fn row(series: &Series, base: Option<&Series>) -> [String; 6] {
    let number = |value: Option<f64>| value.map_or_else(|| "-".into(), grouped);
    let (rates, times) = (series.rates(), series.microseconds());
    let ratio = base.and_then(|base| series.ratio_to(base));
    let processor = series.processor_microseconds();
    [
        series.label.clone(),
        number(quantile(&rates, 0.5)),
        format!("{}-{}", number(quantile(&rates, 0.25)), number(quantile(&rates, 0.75))),
        ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.3}")),
        number(quantile(&times, 0.5)),
        number(processor.map(|(user, kernel, _)| user + kernel)),
    ]
}

/// Describes the result of a claim.
fn sentence(claim: &Claim) -> String {
    let text = claim.text;
    let verdict = match claim.holds {
        None => return format!("{text}: not checked, as there is nothing to compare with"),
        Some(true) => "holds",
        Some(false) => "does not hold",
    };
    let quartiles =
        if claim.quartiles_separate { "quartiles are apart" } else { "quartiles overlap" };
    format!("{text}: {verdict}: {} ({quartiles})", claim.pairs.join("; "))
}

/// Draws figure 5 of each run, and writes the page with all results.
fn draw(input: &Input, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut written = Vec::new();
    let mut put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, bytes).map_err(Failure::about(path.display()))?;
        written.push(path);
        Ok::<_, Failure>(())
    };
    let figures = input.figures()?;
    for figure in figures.iter().filter(|figure| figure.name.ends_with("rates")) {
        let name =
            format!("figure-5-{}", figure.name.trim_end_matches("rates").trim_end_matches('-'));
        let name = name.trim_end_matches('-');
        put(&format!("{name}.svg"), figure.svg.as_bytes())?;
        let png = figures::png(&figure.svg).map_err(Failure::about("cannot draw"))?;
        put(&format!("{name}.png"), &png)?;
    }
    let names: Vec<_> = input.runs.iter().map(|(name, _)| name.clone()).collect();
    put("report.html", figures::page(input, TITLE, &names)?.as_bytes())?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_told_as_they_are() {
        let claim = |holds, quartiles_separate| {
            let pairs = vec!["a +1.0 % against b".into(), "a +2.0 % against c".into()];
            sentence(&Claim { text: "a is faster", holds, pairs, quartiles_separate })
        };
        assert_eq!(
            claim(Some(true), true),
            "a is faster: holds: a +1.0 % against b; a +2.0 % against c (quartiles are apart)"
        );
        assert!(claim(Some(false), false).contains(": does not hold: "));
        assert!(claim(Some(false), false).ends_with("(quartiles overlap)"));
        assert!(claim(None, false).contains("not checked"));
    }
}
