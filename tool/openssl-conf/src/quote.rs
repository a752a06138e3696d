//! Writes names and values so that OpenSSL reads them back unchanged.

use crate::lexis::{is_blank, is_name};

/// Returns a value (or the path of an `.include`), in quotation marks if necessary.
///
/// Inside quotation marks only the escapes `\"` and `\\` have a meaning. Control characters are
/// therefore written between two quotations.
pub(crate) fn value(text: &str) -> String {
    let plain = |c: u8| is_name(c) || c == b':' || c == b'=' || c == b' ';
    if !text.is_empty() && text.trim() == text && text.bytes().all(plain) {
        return text.to_owned();
    }
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\"\\n\""),
            '\r' => out.push_str("\"\\r\""),
            '\t' => out.push_str("\"\\t\""),
            '\u{8}' => out.push_str("\"\\b\""),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns the name for a section header; `None` if only bytes that are not UTF-8 could express it.
pub(crate) fn section(name: &str) -> Option<String> {
    let mut out = String::new();
    for (at, c) in name.char_indices() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            ' ' if at > 0 && !name[at + 1..].chars().all(is_blank_char) => out.push(' '),
            c if c.is_ascii() && is_name(c as u8) => out.push(c),
            c if c.is_ascii() => out.extend(['\\', c]),
            _ => return None,
        }
    }
    Some(out)
}

fn is_blank_char(c: char) -> bool {
    c.is_ascii() && is_blank(c as u8)
}

/// True if OpenSSL reads `name = ...` as a setting of that name.
pub(crate) fn is_key(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(is_name)
        && !name.starts_with(".include")
        && !name.starts_with(".pragma")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::config::Config;

    #[test]
    fn values_read_back() {
        for text in [
            "plain/path.so",
            "*X25519 / DEFAULT:?P-256",
            "",
            " blanks ",
            "$HOME and ${HOME}",
            "a#b",
            r#"quo"te's`"#,
            r"back\slash\",
            "line\nfeed\r\ttab\u{8}",
            "ümläut",
            "\\n",
            "a\\\nb",
            "a = b",
        ] {
            for pragma in ["", ".pragma dollarid:on\n"] {
                let line = format!("{pragma}k = {}\n", super::value(text));
                let config = Config::parse(&line, Path::new("t"), &|_| None).unwrap();
                assert_eq!(config.get("default", "k").unwrap().value, text, "{line}");
            }
        }
    }

    #[test]
    fn section_names_read_back() {
        for name in [
            "plain",
            "two  words",
            " edge ",
            "a]b[c",
            "a$b",
            "a#b",
            "a::b",
            "a\\b",
            "q\"uote",
            "",
            "n\nl",
            " ",
            "a\t",
            "a \t",
            "r",
        ] {
            for pragma in ["", ".pragma dollarid:on\n"] {
                let line = format!("{pragma}[ {} ]\nk = v\n", super::section(name).unwrap());
                let config = Config::parse(&line, Path::new("t"), &|_| None).unwrap();
                assert!(config.section(name).is_some_and(|section| !section.is_empty()), "{line}");
            }
        }
        assert_eq!(super::section("ü"), None);
    }
}
