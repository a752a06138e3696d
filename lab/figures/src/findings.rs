//! A run's findings about the papers' claims.

use measure::quantile;
use timer::results::{Run, Series, What};

use crate::names::canonical;

/// Pairs of series of which the first is expected to be faster.
pub(crate) struct Order<'a> {
    pub(crate) holds: bool,
    /// The series expected to be faster, the other series, and the relative difference of their
    /// rates, as a median over rounds: 0.05 is 5 % more.
    pub(crate) pairs: Vec<(&'a Series, &'a Series, f64)>,
    /// True if in each pair the slower series' third quartile is below the faster series' first
    /// quartile.
    pub(crate) quartiles_separate: bool,
}

/// A claim of OpenSSLNTRU's artifact about handshakes (appendix F.5.2), and a run's result for it.
pub struct Claim {
    /// The claim.
    pub text: &'static str,
    /// True if it holds. `None` if the run has nothing to compare.
    pub holds: Option<bool>,
    /// The pairs compared, with the difference in connections per second:
    /// `sntrup761 +5.3 % against X25519`.
    pub pairs: Vec<String>,
    /// True if quartiles do not overlap. If they do, noise accounts for part of the result.
    pub quartiles_separate: bool,
}

impl Claim {
    fn new(text: &'static str, order: Option<&Order<'_>>) -> Self {
        Claim {
            text,
            holds: order.map(|order| order.holds),
            pairs: order.map_or_else(Vec::new, Order::pair_texts),
            quartiles_separate: order.is_some_and(|order| order.quartiles_separate),
        }
    }
}

/// Returns both claims of the artifact, in its order.
pub fn claims(run: &Run) -> [Claim; 2] {
    [
        Claim::new("keys in batches are faster than the reference code", reference(run).as_ref()),
        Claim::new("sntrup is faster than OpenSSL's X25519 and P-256", order(run).as_ref()),
    ]
}

const LATTICES: [&str; 2] = ["sntrup761", "sntrup857"];
const CURVES: [&str; 2] = ["x25519", "p-256"];
/// The part of a label after `@` if a reference implementation computes the group.
const REFERENCE: &str = "reference";

/// Returns the median of connections per second.
pub(crate) fn rate(series: &Series) -> Option<f64> {
    quantile(&series.rates(), 0.5)
}

/// Compares a group's connections per second with OpenSSL's X25519 in the same rounds: 0.05 is 5 %
/// more.
pub(crate) fn against_x25519(run: &Run, series: &Series) -> Option<f64> {
    let same = |other: &&Series| {
        canonical(&other.group) == CURVES[0]
            && other.parts().variant.is_none()
            && other.requests == series.requests
            && other.certificate == series.certificate
    };
    let base = run.series.iter().find(same)?;
    if std::ptr::eq(base, series) { None } else { Some(series.ratio_to(base)? - 1.0) }
}

/// Compares connections per second of sntrup761 and sntrup857 with OpenSSL's X25519 and P-256
/// (OpenSSLNTRU, figure 5). Returns `None` if the run does not time TLS handshakes, or if one of
/// the two kinds is missing.
pub(crate) fn order(run: &Run) -> Option<Order<'_>> {
    let own = |series: &Series| series.parts().variant.is_none();
    compared(
        run,
        |series| own(series) && is(&LATTICES, series),
        |series| own(series) && is(&CURVES, series),
    )
}

/// Compares connections per second of sntrup761 with its reference implementation.
pub(crate) fn reference(run: &Run) -> Option<Order<'_>> {
    compared(
        run,
        |series| series.parts().variant.is_none() && is(&LATTICES[..1], series),
        |series| series.parts().variant == Some(REFERENCE) && is(&LATTICES[..1], series),
    )
}

fn is(names: &[&str], series: &Series) -> bool {
    names.contains(&&*canonical(&series.group))
}

fn compared(
    run: &Run,
    first: impl Fn(&Series) -> bool,
    second: impl Fn(&Series) -> bool,
) -> Option<Order<'_>> {
    if run.what != What::Tls {
        return None;
    }
    let measured = || run.series.iter().filter(|series| rate(series).is_some());
    let mut pairs = Vec::new();
    let mut quartiles_separate = true;
    for one in measured().filter(|series| first(series)) {
        for other in measured().filter(|series| second(series)) {
            let ratio = one.ratio_to(other)? - 1.0;
            let (slow, fast) = if ratio > 0.0 { (other, one) } else { (one, other) };
            quartiles_separate &= quantile(&slow.rates(), 0.75)? < quantile(&fast.rates(), 0.25)?;
            pairs.push((one, other, ratio));
        }
    }
    let holds = pairs.iter().all(|(.., ratio)| *ratio > 0.0);
    (!pairs.is_empty()).then_some(Order { holds, pairs, quartiles_separate })
}

impl Order<'_> {
    /// Formats each pair: `sntrup761 +5.3 % against X25519`.
    pub(crate) fn pair_texts(&self) -> Vec<String> {
        let pair = |(one, other, ratio): &(&Series, &Series, f64)| {
            format!("{} {} against {}", one.label, signed(*ratio), other.label)
        };
        self.pairs.iter().map(pair).collect()
    }
}

/// Formats a ratio as a signed percentage: `+5.3 %`.
pub(crate) fn signed(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * ratio).replace('-', "−")
}
