//! The output of `--json`.

use output::Failure;
use serde::Serialize;

/// Formats `value` as JSON for programs and people, without an end of line.
///
/// # Errors
/// The value has no form in JSON.
pub fn text(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::about("cannot write JSON"))
}
