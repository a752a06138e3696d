//! What a run says about the papers' claims, computed from it.

use timer::results::{Run, Series, What, quantile};

use crate::words::canonical;

/// Whether sntrup761 and sntrup857 make more connections per second than OpenSSL's X25519 and P-256 (OpenSSLNTRU, figure 5).
pub(crate) struct Order<'a> {
    pub(crate) holds: bool,
    /// Pairs of a lattice and a curve, each with how much faster the lattice is, by the median of rounds: 0.05 is 5 % more.
    pub(crate) pairs: Vec<(&'a Series, &'a Series, f64)>,
    /// Whether in each pair no more than a quarter of the slower one's samples reaches a quarter of the faster one's.
    pub(crate) apart: bool,
}

const LATTICES: [&str; 2] = ["sntrup761", "sntrup857"];
const CURVES: [&str; 2] = ["x25519", "p-256"];

/// A median of connections per second.
pub(crate) fn rate(series: &Series) -> Option<f64> {
    quantile(&series.rates(), 0.5)
}

/// A group's number of connections, compared to that of OpenSSL's X25519 in the same rounds: 0.05 is 5 % more.
pub(crate) fn against_x25519(run: &Run, series: &Series) -> Option<f64> {
    let same = |other: &&Series| {
        canonical(&other.group) == CURVES[0]
            && !other.is_faster()
            && other.requests == series.requests
            && other.certificate == series.certificate
    };
    let base = run.series.iter().find(same)?;
    if std::ptr::eq(base, series) { None } else { Some(series.ratio_to(base)? - 1.0) }
}

/// `None` if the run is about something else, or one of both kinds is missing.
pub(crate) fn order(run: &Run) -> Option<Order<'_>> {
    if run.what != What::Tls {
        return None;
    }
    let of = |names: [&str; 2]| -> Vec<&Series> {
        let wanted = |series: &&Series| {
            names.contains(&&*canonical(&series.group))
                && !series.is_faster()
                && rate(series).is_some()
        };
        run.series.iter().filter(wanted).collect()
    };
    let (lattices, curves) = (of(LATTICES), of(CURVES));
    let mut pairs = Vec::new();
    let mut apart = true;
    for lattice in lattices {
        for &curve in &curves {
            let ratio = lattice.ratio_to(curve)? - 1.0;
            let (slow, fast) = if ratio > 0.0 { (curve, lattice) } else { (lattice, curve) };
            apart &= quantile(&slow.rates(), 0.75)? < quantile(&fast.rates(), 0.25)?;
            pairs.push((lattice, curve, ratio));
        }
    }
    let holds = pairs.iter().all(|(.., ratio)| *ratio > 0.0);
    (!pairs.is_empty()).then_some(Order { holds, pairs, apart })
}

/// More or less, in percent: `+5.3 %`.
pub(crate) fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * ratio).replace('-', "−")
}
