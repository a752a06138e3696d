//! Reads and checks the module's section of the configuration.

use core::fmt;
use core::ops::RangeInclusive;
use core::time::Duration;
use std::ffi::CString;

use curve25519::Choice;
use kex::{Backend, BackendError, TLS_GROUPS, TlsGroup};
use keypool::{Batch, MAX_AGES, MAX_BATCH, Refill, Settings};
use openssl_abi::Core;
use settings::{
    BACKEND, BATCH, CODE_POINTS, ED25519, GROUPS, KEY_FILES, KEY_FORMS, Key, MAX_AGE, POOL, REFILL,
    STATISTICS, WARM_UP, WARM_UP_LOAD, X25519, code_point_key, default_groups,
};
use warmup::{Load, Mode};

use crate::seed_key;

/// Code points of groups that libssl may have itself, and reserved ones (RFC 8446).
const TAKEN: &[RangeInclusive<u16>] =
    &[0x0000..=0x0029, 0x0100..=0x0104, 0x0200..=0x0202, 0x11EB..=0x11EE, 0xFF01..=0xFF02];

/// The settings of the module.
#[derive(Debug)]
pub(crate) struct Config {
    pub(crate) backend: Backend,
    /// In the order of [`TLS_GROUPS`].
    pub(crate) code_points: Vec<u16>,
    /// The groups that are offered.
    pub(crate) groups: Vec<&'static TlsGroup>,
    pub(crate) key_files: bool,
    pub(crate) key_forms: Box<[seed_key::Form]>,
    pub(crate) pools: Settings,
    pub(crate) warm_up: warmup::Settings,
    pub(crate) x25519: Choice,
    pub(crate) ed25519: Choice,
}

/// Reasons to reject the configuration.
#[derive(Debug)]
pub(crate) enum ConfigError {
    Backend(BackendError),
    Value { key: &'static str, value: String, expected: String },
    CodePoint { key: String, value: String },
    DuplicateCodePoint { first: &'static str, second: &'static str, value: u16 },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConfigError::Backend(error) => write!(f, "fastkex: {}: {error}", BACKEND.name),
            ConfigError::Value { key, value, expected } => {
                write!(f, "fastkex: {key} = {value}: expected {expected}")
            }
            ConfigError::CodePoint { key, value } => write!(
                f,
                "fastkex: {key} = {value}: expected a number such as 0xFE00 that is no other group's",
            ),
            ConfigError::DuplicateCodePoint { first, second, value } => write!(
                f,
                "fastkex: {CODE_POINTS}{first} and {CODE_POINTS}{second} are both {value:#06x}: \
                 expected different numbers",
            ),
        }
    }
}

impl Config {
    /// Reads the module's section from the core. Unknown keys are never asked for: `fastkex doctor`
    /// reports them. No environment variable counts: a caller could change what a program does that
    /// runs with more rights.
    pub(crate) fn read(core: &Core) -> Result<Config, ConfigError> {
        let value = |key: &str| core.parameter(&CString::new(key).unwrap_or_default());

        let backend = match value(BACKEND.name) {
            Some(name) => Backend::named(&name).map_err(ConfigError::Backend)?,
            None => Backend::best(),
        };

        let mut code_points = Vec::<u16>::with_capacity(TLS_GROUPS.len());
        for group in TLS_GROUPS {
            let key = code_point_key(group.name);
            let configured = if group.is_private() { value(&key) } else { None };
            let code_point = match configured {
                Some(value) => code_point(&value).ok_or(ConfigError::CodePoint { key, value })?,
                None => group.code_point,
            };
            if let Some(first) = code_points.iter().position(|&other| other == code_point) {
                return Err(ConfigError::DuplicateCodePoint {
                    first: TLS_GROUPS[first].name,
                    second: group.name,
                    value: code_point,
                });
            }
            code_points.push(code_point);
        }
        Ok(Config {
            backend,
            code_points,
            groups: setting(&value, GROUPS, default_groups(), &groups_expected(), |text| {
                settings::groups(text).ok()
            })?,
            key_files: setting(&value, KEY_FILES, false, "on or off", on_or_off)?,
            key_forms: setting(
                &value,
                KEY_FORMS,
                seed_key::Form::DEFAULT.into(),
                "some of seed-priv, priv-only and seed-only, separated by commas",
                seed_key::Form::list,
            )?,
            pools: pools(&value)?,
            warm_up: warm_up(&value)?,
            x25519: choice(&value, X25519)?,
            ed25519: choice(&value, ED25519)?,
        })
    }
}

/// The description of the values of `groups`.
fn groups_expected() -> String {
    let names: Vec<&str> = TLS_GROUPS.iter().map(|group| group.name).collect();
    format!("all, or some of these, separated by colons: {}", names.join(":"))
}

/// The settings of the pools.
fn pools(value: &dyn Fn(&str) -> Option<String>) -> Result<Settings, ConfigError> {
    let default = Settings::default();
    Ok(Settings {
        enabled: setting(value, POOL, default.enabled, "on or off", on_or_off)?,
        batch: setting(value, BATCH, default.batch, &format!("auto or 1 to {MAX_BATCH}"), batch)?,
        refill: setting(value, REFILL, default.refill, "inline or background", refill)?,
        max_age: setting(
            value,
            MAX_AGE,
            default.max_age,
            &format!("{} to {} seconds", MAX_AGES.start().as_secs(), MAX_AGES.end().as_secs()),
            |text| {
                let age = Duration::from_secs(text.parse().ok()?);
                MAX_AGES.contains(&age).then_some(age)
            },
        )?,
        statistics: setting(value, STATISTICS, default.statistics, "on or off", on_or_off)?,
    })
}

/// The settings of the warm-up thread.
fn warm_up(value: &dyn Fn(&str) -> Option<String>) -> Result<warmup::Settings, ConfigError> {
    let default = warmup::Settings::default();
    let load_expected = "handshakes a second, from and below, as in 1000-2000";
    Ok(warmup::Settings {
        mode: setting(value, WARM_UP, default.mode, "off, on or auto", mode)?,
        load: setting(value, WARM_UP_LOAD, default.load, load_expected, load)?,
    })
}

/// Whether to offer one of the algorithms that the default provider has as well.
fn choice(value: &dyn Fn(&str) -> Option<String>, key: Key) -> Result<Choice, ConfigError> {
    setting(value, key, Choice::default(), "auto, on or off", |text| match text {
        "auto" => Some(Choice::Auto),
        text => on_or_off(text).map(|on| if on { Choice::On } else { Choice::Off }),
    })
}

fn setting<T>(
    value: &dyn Fn(&str) -> Option<String>,
    key: Key,
    default: T,
    expected: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<T, ConfigError> {
    let Some(value) = value(key.name) else { return Ok(default) };
    parse(&value).ok_or(ConfigError::Value { key: key.name, value, expected: expected.to_owned() })
}

fn on_or_off(text: &str) -> Option<bool> {
    match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn batch(text: &str) -> Option<Batch> {
    match text {
        "auto" => Some(Batch::Growing),
        text => {
            let size = text.parse().ok().filter(|size| (1..=MAX_BATCH).contains(size))?;
            Some(Batch::Fixed(size))
        }
    }
}

fn refill(text: &str) -> Option<Refill> {
    match text {
        "inline" => Some(Refill::Inline),
        "background" => Some(Refill::Background),
        _ => None,
    }
}

fn mode(text: &str) -> Option<Mode> {
    match text {
        "off" => Some(Mode::Off),
        "on" => Some(Mode::On),
        "auto" => Some(Mode::Auto),
        _ => None,
    }
}

fn load(text: &str) -> Option<Load> {
    let (from, below) = text.split_once('-')?;
    let load = Load { from: from.parse().ok()?, below: below.parse().ok()? };
    (load.from < load.below).then_some(load)
}

fn code_point(text: &str) -> Option<u16> {
    let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u16::from_str_radix(hex, 16),
        None => text.parse(),
    };
    // 0x0A0A, 0x1A1A and so on are reserved as unknown values (GREASE, RFC 8701).
    let is_grease = |value: u16| value & 0x0f0f == 0x0a0a && value >> 8 == value & 0xff;
    value
        .ok()
        .filter(|&value| !is_grease(value) && !TAKEN.iter().any(|range| range.contains(&value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_are_numbers_that_nobody_else_uses() {
        assert_eq!(code_point("0x0233"), Some(0x0233));
        assert_eq!(code_point("65090"), Some(65090));
        for bad in
            ["", "0x", "x", "-1", "65536", "0x10000", "0x001d", "4588", "0xFF02", "0x3a3a", " 7"]
        {
            assert_eq!(code_point(bad), None, "{bad}");
        }
        // A private code point cannot be moved to that of another group.
        for group in TLS_GROUPS {
            let is_free = code_point(&group.code_point.to_string()).is_some();
            assert_eq!(is_free, group.is_private(), "{}", group.name);
        }
    }

    fn pools_of(key: &'static str, text: &str) -> Result<Settings, String> {
        let value = |asked: &str| (asked == key).then(|| text.to_owned());
        pools(&value).map_err(|error| error.to_string())
    }

    #[test]
    fn pools_are_set_up_as_they_are_told() {
        let default = Settings::default();
        assert_eq!(pools_of("other", "1"), Ok(default));
        for (key, text, settings) in [
            (POOL.name, "off", Settings { enabled: false, ..default }),
            (BATCH.name, "auto", default),
            (BATCH.name, "1024", Settings { batch: Batch::Fixed(1024), ..default }),
            (REFILL.name, "background", Settings { refill: Refill::Background, ..default }),
            (MAX_AGE.name, "1", Settings { max_age: Duration::from_secs(1), ..default }),
            (STATISTICS.name, "on", Settings { statistics: true, ..default }),
        ] {
            assert_eq!(pools_of(key, text), Ok(settings), "{key} = {text}");
        }
        for (key, text, message) in [
            (POOL.name, "yes", "fastkex: pool = yes: expected on or off"),
            (BATCH.name, "0", "fastkex: batch = 0: expected auto or 1 to 1024"),
            (BATCH.name, "1025", "fastkex: batch = 1025: expected auto or 1 to 1024"),
            (REFILL.name, "", "fastkex: refill = : expected inline or background"),
            (MAX_AGE.name, "0", "fastkex: max_age = 0: expected 1 to 86400 seconds"),
            (MAX_AGE.name, "60s", "fastkex: max_age = 60s: expected 1 to 86400 seconds"),
            (STATISTICS.name, "1", "fastkex: statistics = 1: expected on or off"),
        ] {
            assert_eq!(pools_of(key, text), Err(message.to_owned()));
        }
    }

    #[test]
    fn vector_units_are_kept_awake_as_it_is_told() {
        let of = |key: &'static str, text: &str| {
            let value = |asked: &str| (asked == key).then(|| text.to_owned());
            warm_up(&value).map_err(|error| error.to_string())
        };
        let default = warmup::Settings::default();
        let load = Load { from: 0, below: 50 };
        for (key, text, settings) in [
            ("other", "on", default),
            (WARM_UP.name, "auto", warmup::Settings { mode: Mode::Auto, ..default }),
            (WARM_UP.name, "on", warmup::Settings { mode: Mode::On, ..default }),
            (WARM_UP.name, "off", default),
            (WARM_UP_LOAD.name, "0-50", warmup::Settings { load, ..default }),
        ] {
            assert_eq!(of(key, text), Ok(settings), "{key} = {text}");
        }
        let message = "fastkex: warmup = yes: expected off, on or auto";
        assert_eq!(of(WARM_UP.name, "yes"), Err(message.to_owned()));
        for text in ["", "5", "5-5", "9-5", "-5", "5-", "1-2-3", "a-b"] {
            let message = format!(
                "fastkex: warmup_load = {text}: expected handshakes a second, from and below, as in 1000-2000"
            );
            assert_eq!(of(WARM_UP_LOAD.name, text), Err(message));
        }
    }

    #[test]
    fn algorithms_are_chosen() {
        let of = |text: &'static str| {
            let value = |asked: &str| (asked == ED25519.name).then(|| text.to_owned());
            choice(&value, ED25519).map_err(|error| error.to_string())
        };
        for (text, expected) in [("auto", Choice::Auto), ("on", Choice::On), ("off", Choice::Off)] {
            assert_eq!(of(text), Ok(expected));
        }
        let message = "fastkex: ed25519 = yes: expected auto, on or off";
        assert_eq!(of("yes"), Err(message.to_owned()));
        assert!(matches!(choice(&|_| None, X25519), Ok(Choice::Auto)));
    }
}
