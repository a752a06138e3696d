//! Parameters of a link, and their text format.

use std::error::Error;
use std::fmt::{self, Display};
use std::io;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Limits, beyond which a value is taken for a typing error.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(10);
const LEAST_BANDWIDTH: u64 = 1_000;
const MOST_BANDWIDTH: u64 = 100_000_000_000;

/// A link with the same parameters in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// The round trip as `ping` would show it, half of it in each direction. At most 10 s. In JSON,
    /// milliseconds.
    #[serde(
        rename = "round_trip_ms",
        serialize_with = "to_milliseconds",
        deserialize_with = "from_milliseconds"
    )]
    pub round_trip: Duration,
    /// Bandwidth of each direction, headers included, shared by all connections: 1 kbit/s to 100
    /// Gbit/s, or `None` for no limit.
    pub bits_per_second: Option<u64>,
}

/// The reason why a link's text or parameters are invalid, in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidLink(String);

impl Link {
    /// Reads a round-trip time: a number and `us`, `ms` or `s`, as in `20ms` or `1.5s`.
    ///
    /// # Errors
    /// The text is no such time, or the time is longer than 10 s.
    pub fn parse_round_trip(text: &str) -> Result<Duration, InvalidLink> {
        const UNITS: [(&str, u64); 3] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];
        let nanoseconds = scaled(text, &UNITS).ok_or_else(|| {
            InvalidLink(format!(
                "'{text}' is no round-trip time: give a number and us, ms or s, as in 20ms or 1.5s"
            ))
        })?;
        let round_trip = Duration::from_nanos(nanoseconds);
        Link { round_trip, bits_per_second: None }.check()?;
        Ok(round_trip)
    }

    /// Reads bits per second: a number and `kbit`, `mbit` or `gbit` (powers of ten), as in `10mbit`
    /// or `1.5gbit`.
    ///
    /// # Errors
    /// The text is no bandwidth, or the bandwidth is below 1 kbit/s or above 100 Gbit/s.
    pub fn parse_bandwidth(text: &str) -> Result<u64, InvalidLink> {
        const UNITS: [(&str, u64); 3] =
            [("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000)];
        let bits = scaled(text, &UNITS).ok_or_else(|| {
            InvalidLink(format!(
                "'{text}' is no bandwidth: give a number and kbit, mbit or gbit, as in 500kbit or 10mbit"
            ))
        })?;
        Link { round_trip: Duration::ZERO, bits_per_second: Some(bits) }.check()?;
        Ok(bits)
    }

    /// Checks that the link can be modelled.
    pub(crate) fn check(&self) -> Result<(), InvalidLink> {
        if self.round_trip > LONGEST_ROUND_TRIP {
            return Err(InvalidLink(format!(
                "a round trip of {} is too long: give at most {}",
                Time(self.round_trip),
                Time(LONGEST_ROUND_TRIP)
            )));
        }
        match self.bits_per_second {
            Some(bits) if !(LEAST_BANDWIDTH..=MOST_BANDWIDTH).contains(&bits) => {
                Err(InvalidLink(format!(
                    "a bandwidth of {bits} bit/s is out of range: give {} to {}",
                    Rate(LEAST_BANDWIDTH),
                    Rate(MOST_BANDWIDTH)
                )))
            }
            _ => Ok(()),
        }
    }
}

/// Reads a decimal number followed by one of `units`, multiplies the number by the unit's factor,
/// and truncates the product to a whole number.
fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let (_, scale) = units.iter().find(|(name, _)| unit.eq_ignore_ascii_case(name))?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    if fraction.is_empty() {
        return None;
    }
    let mut sum = whole.parse::<u64>().ok()?.checked_mul(*scale)?;
    let mut place = *scale;
    for digit in fraction.chars() {
        place /= 10;
        sum = sum.checked_add(u64::from(digit.to_digit(10)?) * place)?;
    }
    Some(sum)
}

/// Writes a number in the largest of three units that is at most the number, else in the smallest.
fn in_units(f: &mut fmt::Formatter<'_>, number: u64, units: [(&str, u64); 3]) -> fmt::Result {
    let (name, scale) = units.into_iter().find(|(_, scale)| number >= *scale).unwrap_or(units[2]);
    // Prints the shortest exact decimal number.
    write!(f, "{} {name}", number as f64 / scale as f64)
}

struct Time(Duration);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanoseconds = u64::try_from(self.0.as_nanos()).unwrap_or(u64::MAX);
        in_units(f, nanoseconds, [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)])
    }
}

struct Rate(u64);

impl Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        in_units(f, self.0, [("Gbit/s", 1_000_000_000), ("Mbit/s", 1_000_000), ("kbit/s", 1_000)])
    }
}

impl Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round trip {}", Time(self.round_trip))?;
        match self.bits_per_second {
            Some(bits) => write!(f, ", {} each way", Rate(bits)),
            None => f.write_str(", any bandwidth"),
        }
    }
}

impl Display for InvalidLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for InvalidLink {}

impl From<InvalidLink> for io::Error {
    fn from(error: InvalidLink) -> Self {
        io::Error::new(io::ErrorKind::InvalidInput, error)
    }
}

fn to_milliseconds<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_nanos() as f64 / 1e6)
}

fn from_milliseconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let milliseconds = f64::deserialize(deserializer)?;
    Duration::try_from_secs_f64(milliseconds / 1e3).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let good = [
            ("20ms", 20_000_000),
            ("1.5s", 1_500_000_000),
            ("0ms", 0),
            ("250us", 250_000),
            ("0.2MS", 200_000),
            ("10s", 10_000_000_000),
        ];
        for (text, nanoseconds) in good {
            assert_eq!(
                Link::parse_round_trip(text),
                Ok(Duration::from_nanos(nanoseconds)),
                "{text}"
            );
        }
        for text in [
            "",
            "20",
            "ms",
            "-1ms",
            "1.ms",
            ".5s",
            "1.2.3s",
            "20 ms",
            "20m",
            "99999999999999999999s",
        ] {
            let error = Link::parse_round_trip(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no round-trip time: ")), "{error}");
            assert!(error.ends_with("as in 20ms or 1.5s") && !error.contains('\n'), "{error}");
        }
        let error = Link::parse_round_trip("10.5s").unwrap_err().to_string();
        assert_eq!(error, "a round trip of 10.5 s is too long: give at most 10 s");
    }

    #[test]
    fn bandwidths_are_read() {
        let good = [
            ("10mbit", 10_000_000),
            ("500kbit", 500_000),
            ("1gbit", 1_000_000_000),
            ("1.544Mbit", 1_544_000),
        ];
        for (text, bits) in good {
            assert_eq!(Link::parse_bandwidth(text), Ok(bits), "{text}");
        }
        for text in ["", "10", "10mb", "mbit", "10 mbit", "-3mbit", "1e6kbit", "20000000000gbit"] {
            let error = Link::parse_bandwidth(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no bandwidth: ")), "{error}");
            assert!(error.ends_with("as in 500kbit or 10mbit"), "{error}");
        }
        for text in ["0mbit", "0.5kbit", "101gbit"] {
            let error = Link::parse_bandwidth(text).unwrap_err().to_string();
            assert!(error.ends_with("is out of range: give 1 kbit/s to 100 Gbit/s"), "{error}");
        }
    }

    #[test]
    fn links_are_written() {
        let link = |nanoseconds, bits_per_second| Link {
            round_trip: Duration::from_nanos(nanoseconds),
            bits_per_second,
        };
        let slow = link(20_000_000, Some(10_000_000));
        assert_eq!(slow.to_string(), "round trip 20 ms, 10 Mbit/s each way");
        assert_eq!(link(1_500_000_000, None).to_string(), "round trip 1.5 s, any bandwidth");
        assert_eq!(
            link(0, Some(1_500_000_000)).to_string(),
            "round trip 0 us, 1.5 Gbit/s each way"
        );
        let json = serde_json::to_string(&slow).unwrap();
        assert_eq!(json, r#"{"round_trip_ms":20.0,"bits_per_second":10000000}"#);
        for link in [slow, link(123_456_789, None), link(1, Some(1_000))] {
            let json = serde_json::to_string(&link).unwrap();
            assert_eq!(serde_json::from_str::<Link>(&json).unwrap(), link);
        }
        assert!(
            serde_json::from_str::<Link>(r#"{"round_trip_ms":-1,"bits_per_second":null}"#).is_err()
        );
    }
}
