//! The expansion of values: quotations, escapes and variables.

use crate::config::Config;
use crate::error::ErrorKind;
use crate::lexis::{byte, is_quote, is_variable};

/// OpenSSL's limit on the length of a value that contains variables, in bytes.
const VALUE_LIMIT: usize = 65536;

/// The sources of the values of variables.
pub(crate) struct Variables<'a> {
    pub(crate) config: &'a Config,
    pub(crate) env: &'a dyn Fn(&str) -> Option<String>,
    /// The section in which a bare `$name` is looked up before `default`; `None` in section
    /// headers.
    pub(crate) section: Option<&'a str>,
    /// True after `.pragma dollarid:on`: only `${name}` and `$(name)` are variables.
    pub(crate) dollars: bool,
}

impl Variables<'_> {
    fn value(&self, section: Option<&str>, name: &str) -> Option<String> {
        if let Some(section) = section {
            if let Some(entry) = self.config.own(section, name) {
                return Some(entry.value.clone());
            }
            if section == "ENV"
                && let Some(value) = (self.env)(name)
            {
                return Some(value);
            }
        }
        self.config.own("default", name).map(|entry| entry.value.clone())
    }

    /// Expands the quotations, escapes and variables in `text`.
    pub(crate) fn expand(&self, text: &[u8]) -> Result<String, ErrorKind> {
        let mut out = Vec::with_capacity(text.len());
        // OpenSSL's length limit includes the text that is still to be read.
        let mut length = text.len() + 1;
        let mut at = 0;
        while at < text.len() {
            match text[at] {
                quote if is_quote(quote) => {
                    at += 1;
                    while at < text.len() && text[at] != quote {
                        if text[at] == b'\\' {
                            at += 1;
                        }
                        out.extend(text.get(at));
                        at += 1;
                    }
                    at += 1;
                }
                b'\\' => {
                    out.extend(text.get(at + 1).map(|c| match c {
                        b'r' => b'\r',
                        b'n' => b'\n',
                        b'b' => 8,
                        b't' => b'\t',
                        &c => c,
                    }));
                    at += 2;
                }
                b'$' if !self.dollars || matches!(byte(text, at + 1), b'{' | b'(') => {
                    let (value, end) = self.variable(text, at)?;
                    length = (length + value.len()).saturating_sub(end - at);
                    if length > VALUE_LIMIT {
                        return Err(ErrorKind::TooLong);
                    }
                    out.extend_from_slice(value.as_bytes());
                    at = end;
                }
                c => {
                    out.push(c);
                    at += 1;
                }
            }
        }
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// Returns the value of the variable whose `$` is at `at`, and the position after the variable.
    fn variable(&self, text: &[u8], at: usize) -> Result<(String, usize), ErrorKind> {
        let close = match byte(text, at + 1) {
            b'{' => Some(b'}'),
            b'(' => Some(b')'),
            _ => None,
        };
        let start = at + 1 + usize::from(close.is_some());
        let end = self.skip_variable(text, start);
        let first = name(text, start, end);
        let (section, name, end) = if text[end..].starts_with(b"::") {
            let second = self.skip_variable(text, end + 2);
            (Some(first), name(text, end + 2, second), second)
        } else {
            (None, first, end)
        };
        let next = match close {
            Some(close) if byte(text, end) != close => {
                return Err(ErrorKind::MissingBrace(char::from(close)));
            }
            Some(_) => end + 1,
            None => end,
        };
        match self.value(section.as_deref().or(self.section), &name) {
            Some(value) => Ok((value, next)),
            None => Err(ErrorKind::NoValue(section, name)),
        }
    }

    fn skip_variable(&self, text: &[u8], mut at: usize) -> usize {
        while is_variable(byte(text, at)) || (self.dollars && byte(text, at) == b'$') {
            at += 1;
        }
        at
    }
}

fn name(text: &[u8], start: usize, end: usize) -> String {
    String::from_utf8_lossy(&text[start..end]).into_owned()
}
