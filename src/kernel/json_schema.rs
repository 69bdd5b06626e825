//! JSON Schemas of draft 2020-12 that deployments write: nothing in them leads outside, and none takes for ever.

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// A value is not what a schema describes: where, and why, without the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", if path.is_empty() { reason.clone() } else { format!("{path}: {reason}") })]
pub struct Unfit {
    /// The member, as `payload.pickup`; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Formats are checked, references lead nowhere outside, and a pattern takes no longer than its text is long.
pub fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::draft202012::options().should_validate_formats(true).with_pattern_options(PatternOptions::regex()).offline().build(schema)
}

/// The first thing that is wrong with `value`.
pub fn check(validator: &Validator, value: &Value) -> Result<(), Unfit> {
    validator.validate(value).map_err(|error| unfit(&error))
}

/// Everything that is wrong with `value`.
pub fn check_all(validator: &Validator, value: &Value) -> Vec<Unfit> {
    validator.iter_errors(value).map(|error| unfit(&error)).collect()
}

fn unfit(error: &ValidationError<'_>) -> Unfit {
    Unfit { path: error.instance_path().to_string().trim_start_matches('/').replace('/', "."), reason: error.masked().to_string() }
}
