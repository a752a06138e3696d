//! The character classes of the format, and functions to skip names, quotations and comments.
//!
//! All special characters are ASCII, so the parser works on bytes. Past the end of a line it reads
//! NUL bytes.

/// Returns the byte at `at`, or NUL past the end.
pub(crate) fn byte(text: &[u8], at: usize) -> u8 {
    text.get(at).copied().unwrap_or(0)
}

pub(crate) fn is_blank(c: u8) -> bool {
    matches!(c, b' ' | b'\t' | b'\r' | b'\n')
}

pub(crate) fn is_quote(c: u8) -> bool {
    matches!(c, b'"' | b'\'' | b'`')
}

/// True for the characters of a variable's name.
pub(crate) fn is_variable(c: u8) -> bool {
    c.is_ascii_alphanumeric() || c == b'_'
}

/// True for the characters of the name of a section or key.
pub(crate) fn is_name(c: u8) -> bool {
    is_variable(c) || b"!%&*+,-./;?@^|~".contains(&c)
}

pub(crate) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while is_blank(byte(text, at)) {
        at += 1;
    }
    at
}

pub(crate) fn trim_end(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|&c| !is_blank(c)).map_or(0, |last| last + 1);
    &text[..end]
}

/// Skips a backslash and the byte after it.
fn skip_escape(text: &[u8], at: usize) -> usize {
    (at + 2).min(text.len())
}

/// Skips the name at `at`. With `dollars`, a `$` is part of names (`.pragma dollarid:on`).
pub(crate) fn skip_name(text: &[u8], mut at: usize, dollars: bool) -> usize {
    loop {
        match byte(text, at) {
            b'\\' => at = skip_escape(text, at),
            c if is_name(c) || (dollars && c == b'$') => at += 1,
            _ => return at,
        }
    }
}

/// Skips the quotation that begins at `at`. Without a closing quotation mark it ends with the line.
fn skip_quotation(text: &[u8], at: usize) -> usize {
    let quote = byte(text, at);
    let mut at = at + 1;
    while at < text.len() && text[at] != quote {
        at = if text[at] == b'\\' { skip_escape(text, at) } else { at + 1 };
    }
    (at + 1).min(text.len())
}

/// Removes the comment from a line. A `#` inside of a quotation does not begin a comment.
pub(crate) fn without_comment(text: &[u8]) -> &[u8] {
    let mut at = 0;
    while at < text.len() {
        at = match text[at] {
            b'#' => return &text[..at],
            b'\\' => skip_escape(text, at),
            c if is_quote(c) => skip_quotation(text, at),
            _ => at + 1,
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_a_line_outside_of_quotations() {
        for (line, rest) in [
            ("a # b", "a "),
            ("#", ""),
            ("'#' # x", "'#' "),
            (r"\# # x", r"\# "),
            (r##""a\"#" # x"##, r##""a\"#" "##),
            ("it's # x", "it's # x"),
            (r"a\", r"a\"),
            ("`#", "`#"),
        ] {
            assert_eq!(without_comment(line.as_bytes()), rest.as_bytes(), "{line}");
        }
    }

    #[test]
    fn names_take_escapes_and_dollars_on_request() {
        assert_eq!(skip_name(b"a-b.c=d", 0, false), 5);
        assert_eq!(skip_name(br"a\=b=d", 0, false), 4);
        assert_eq!(skip_name(b"a$b", 0, false), 1);
        assert_eq!(skip_name(b"a$b", 0, true), 3);
        assert_eq!(skip_name(br"a\", 0, false), 2);
    }
}
