//! Names of runs and candidates in figures, tables and pages.

use timer::results::{Peak, Run, Series, What};

/// Names a candidate: its label, and the group and number of requests if they distinguish it.
pub(crate) fn name(series: &Series) -> String {
    let name = with_group(&series.label, &series.group);
    match series.requests {
        None => name,
        Some(1) => format!("{name}, 1 request"),
        Some(requests) => format!("{name}, {requests} requests"),
    }
}

/// Names a peak in the same way.
pub(crate) fn peak_name(peak: &Peak) -> String {
    with_group(&peak.label, &peak.group)
}

/// Appends the chosen group to a label if the label does not contain it.
fn with_group(label: &str, group: &str) -> String {
    if group.is_empty() || canonical(label).contains(&canonical(group)) {
        label.into()
    } else {
        format!("{label} ({group})")
    }
}

/// Returns a group's name in lower case. P-256 has several names, of which one is used.
pub(crate) fn canonical(group: &str) -> String {
    group.to_lowercase().replace("secp256r1", "p-256").replace("prime256v1", "p-256")
}

/// Describes servers, client and link.
pub(crate) fn setup(run: &Run) -> String {
    let Some(scene) = &run.scene else {
        return format!("{}, client with {}", run.target, run.client);
    };
    let link = scene.link.as_deref().unwrap_or("loopback");
    format!("{}; client with {}; {link}", scene.servers.join(", "), run.client)
}

/// Describes the planned number of connections.
pub(crate) fn sizes(run: &Run) -> String {
    let plan = run.plan;
    let plural = if plan.connections == 1 { "" } else { "s" };
    let (samples, connections) = (plan.samples, plan.connections);
    format!(
        "Planned: {samples} samples of {connections} connection{plural}, {} at a time.",
        plan.concurrency
    )
}

/// Reports the number of failed connections, if there are any.
pub(crate) fn failures(run: &Run) -> Option<String> {
    match run.failures() {
        0 => None,
        1 => Some("1 connection failed and is in no figure.".into()),
        failures => Some(format!("{failures} connections failed and are in no figure.")),
    }
}

/// Returns the heading for the kind of run.
pub(crate) fn what(what: What) -> &'static str {
    match what {
        What::Tls => "TLS handshakes",
        What::Dot => "DNS over TLS",
        What::Http => "HTTP over TLS",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_said_where_the_label_does_not() {
        assert_eq!(with_group("sntrup761", "sntrup761"), "sntrup761");
        assert_eq!(with_group("P-256", "secp256r1"), "P-256");
        assert_eq!(with_group("default", "X25519MLKEM768"), "default (X25519MLKEM768)");
        assert_eq!(with_group("X25519", ""), "X25519");
    }
}
