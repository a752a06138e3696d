//! The blocks of `docs/applications.md`, which the tests use.

use std::fs;
use std::sync::LazyLock;

/// The whole document.
pub(crate) static TEXT: LazyLock<String> =
    LazyLock::new(|| fs::read_to_string(artifacts::root().join("docs/applications.md")).unwrap());

/// Returns the block of this name. The name stands after the language, in a fence such as
/// `ini stunnel-server`.
pub(crate) fn block(name: &str) -> String {
    let mut found = blocks().filter(|(other, _)| *other == name);
    let (_, text) = found.next().unwrap_or_else(|| panic!("docs/applications.md: no block {name}"));
    assert!(found.next().is_none(), "docs/applications.md: two blocks {name}");
    text.to_owned()
}

/// Returns the names of all named blocks.
pub(crate) fn names() -> Vec<&'static str> {
    blocks().map(|(name, _)| name).collect()
}

fn blocks() -> impl Iterator<Item = (&'static str, &'static str)> {
    // Every second piece is the text between two fences.
    let pieces = TEXT.split("\n```").skip(1).step_by(2);
    pieces.filter_map(|piece| {
        let (fence, text) = piece.split_once('\n')?;
        let (_language, name) = fence.split_once(' ')?;
        Some((name, text))
    })
}

/// Replaces texts in a block; the block must contain all of them.
pub(crate) fn replaced(text: &str, replacements: &[(&str, String)]) -> String {
    replacements.iter().fold(text.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "no '{from}' in:\n{text}");
        text.replace(from, to)
    })
}

/// Removes the lines that name one of our groups. If the list is an argument of a command or of a
/// `bind` line, removes only this argument.
pub(crate) fn without_groups(text: &str) -> String {
    const LIST: &str = "X25519MLKEM768:X25519:P-256";
    let mut kept = String::new();
    for line in text.lines() {
        let inline = ["--curves", "-groups", "curves"]
            .iter()
            .find_map(|option| line.split_once(&format!(" {option} {LIST}")));
        match inline {
            Some((before, after)) => kept += &format!("{before}{after}\n"),
            None if line.contains("X25519MLKEM768") => {}
            None => kept += &format!("{line}\n"),
        }
    }
    assert!(!kept.contains("MLKEM"), "{kept}");
    kept
}
