//! Processor time of handshakes by group, certificate and the module's part.

use timer::results::{HandshakeCosts, ModuleUse};

use crate::Figure;
use crate::layout::{Layout, NamedBar, Panel};
use crate::style::Style;

/// Returns the reason if the measurements cannot be drawn.
pub(crate) fn problem(costs: &HandshakeCosts) -> Option<&'static str> {
    let is_time = |time: f64| time > 0.0 && time.is_finite();
    if costs.rows.is_empty() {
        Some("holds no measurements")
    } else if !costs.rows.iter().all(|row| is_time(row.cost.microseconds)) {
        Some("holds times that are not positive")
    } else {
        None
    }
}

/// Draws a panel of bars for each certificate.
///
/// # Errors
/// The figure cannot be drawn.
pub(crate) fn figure(costs: &HandshakeCosts) -> Result<Figure, String> {
    let mut certificates: Vec<&str> = Vec::new();
    for row in &costs.rows {
        if !certificates.contains(&&*row.certificate) {
            certificates.push(&row.certificate);
        }
    }
    let is_there = |part: &ModuleUse| costs.rows.iter().any(|row| row.module == *part);
    let parts = ModuleUse::ALL.into_iter().filter(is_there);
    let legend = parts.map(|part| (format!("module {}", part.text()), style(part))).collect();
    let layout = Layout {
        title: "Processor time of a TLS 1.3 handshake".into(),
        subtitle: format!(
            "OpenSSL {}, client and server in one process, no resumption",
            costs.openssl
        ),
        legend,
        panels: certificates.into_iter().map(|certificate| panel(costs, certificate)).collect(),
        notes: vec![
            format!("Measured: {}. Shorter is better.", costs.method),
            format!("Machine: {}.", costs.machine),
        ],
    };
    Figure::new("handshakes", &layout)
}

fn panel(costs: &HandshakeCosts, certificate: &str) -> Panel {
    let rows = costs.rows.iter().filter(|row| row.certificate == certificate);
    let bars = rows.map(|row| NamedBar {
        name: row.group.clone(),
        style: style(row.module),
        value: row.cost.microseconds,
        label: format!("{:.0}", row.cost.microseconds),
    });
    let title = format!("Certificate: {certificate}");
    Panel::of_bars(title, "microseconds of both sides", bars.collect())
}

fn style(part: ModuleUse) -> Style {
    Style::of(ModuleUse::ALL.iter().position(|other| *other == part).unwrap_or(0))
}
