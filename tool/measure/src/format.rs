//! Formats numbers and tables for people.

use std::fmt;

use comfy_table::CellAlignment;
use comfy_table::presets::ASCII_MARKDOWN;

/// Rounds a number to an integer and separates its thousands: `75,089`.
pub fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    if number < 0.0 && digits != "0" {
        text.push('-');
    }
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with three digits: `5.31`, `53.1`, `531`.
fn three_digits(number: f64) -> String {
    let decimals = match number {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    format!("{number:.decimals$}")
}

/// Formats nanoseconds in the unit that suits them: `531 ns`, `5.31 µs`, `5.31 ms`, `5.31 s`.
pub fn duration(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ..999.5 => (nanoseconds, "ns"),
        ..999.5e3 => (nanoseconds / 1e3, "µs"),
        ..999.5e6 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    format!("{} {unit}", three_digits(number))
}

/// Formats bytes in the unit that suits them: `531 B`, `5.31 KiB`, `5.31 MiB`.
pub fn bytes(number: f64) -> String {
    const KIB: f64 = 1024.0;
    match number {
        ..999.5 => format!("{number:.0} B"),
        ..1_023_488.0 => format!("{} KiB", three_digits(number / KIB)),
        _ => format!("{} MiB", three_digits(number / (KIB * KIB))),
    }
}

/// Formats operations per second: `531`, `188 k`, `5.31 M`.
pub fn rate(per_second: f64) -> String {
    match per_second {
        ..999.5 => three_digits(per_second),
        ..999.5e3 => format!("{} k", three_digits(per_second / 1e3)),
        _ => format!("{} M", three_digits(per_second / 1e6)),
    }
}

/// Formats a ratio in percent: `5.3 %`.
pub fn percent(ratio: f64) -> String {
    format!("{:.1} %", 100.0 * ratio)
}

/// The alignment of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// For words.
    Left,
    /// For numbers.
    Right,
}

/// A text table that is also a valid Markdown table, so that it can be used in a document.
pub struct Table(comfy_table::Table);

impl Table {
    /// Creates an empty table with these columns.
    pub fn new(columns: &[(&str, Align)]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(ASCII_MARKDOWN);
        table.set_header(columns.iter().map(|(title, _)| *title));
        for (column, (_, align)) in table.column_iter_mut().zip(columns) {
            column.set_cell_alignment(match align {
                Align::Left => CellAlignment::Left,
                Align::Right => CellAlignment::Right,
            });
        }
        Table(table)
    }

    /// Adds a row, with one cell for each column.
    pub fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.0.add_row(cells.into_iter().map(C::into).collect::<Vec<String>>());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let texts = [0.0, 7.4, 999.0, 999.6, 75_089.2, 1_234_567.0, -4_321.0].map(grouped);
        assert_eq!(texts, ["0", "7", "999", "1,000", "75,089", "1,234,567", "-4,321"]);
        let texts = [0.25, 5.312, 53.12, 531.2, 999.6, 5312.0, 5.312e6, 5.312e9, 9.996e3];
        let expected = [
            "0.25 ns", "5.31 ns", "53.1 ns", "531 ns", "1.00 µs", "5.31 µs", "5.31 ms", "5.31 s",
            "10.0 µs",
        ];
        assert_eq!(texts.map(duration), expected);
        assert_eq!([531.0, 5440.0, 1024.0 * 1024.0].map(bytes), ["531 B", "5.31 KiB", "1.00 MiB"]);
        assert_eq!([53.12, 188_234.0, 5.312e6].map(rate), ["53.1", "188 k", "5.31 M"]);
        assert_eq!(percent(0.0531), "5.3 %");
    }

    #[test]
    fn tables() {
        let mut table = Table::new(&[("what", Align::Left), ("µs", Align::Right)]);
        table.row(["keygen", "5"]);
        table.row(["x", "1,234"]);
        let lines = [
            "| what   |    µs |",
            "|--------|-------|",
            "| keygen |     5 |",
            "| x      | 1,234 |",
        ];
        assert_eq!(table.to_string(), lines.join("\n"));
    }
}
