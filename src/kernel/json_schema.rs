//! JSON Schemas of draft 2020-12 that deployments supply. They cannot fetch external references, and validation time is bounded.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// A value violates a schema: the path and the reason, without the value itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", if path.is_empty() { reason.clone() } else { format!("{path}: {reason}") })]
pub struct SchemaViolation {
    /// The path of the field, such as `payload.pickup`; empty for the whole value.
    pub path: String,
    /// What is wrong with the field: `is required`.
    pub reason: String,
}

impl SchemaViolation {
    /// The error as a sentence for a client.
    pub fn sentence(&self) -> String {
        let reason = self.reason.strip_prefix("value ").unwrap_or(&self.reason);
        match self.path.as_str() {
            "" => format!("The record {reason}."),
            path if reason.starts_with('"') => format!("{path}: {reason}."),
            path => format!("{path} {reason}."),
        }
    }
}

/// Builds a validator that checks formats, resolves no external references, and matches patterns in time linear in the text.
pub fn validator(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    jsonschema::draft202012::options().should_validate_formats(true).with_pattern_options(PatternOptions::regex()).offline().build(schema)
}

/// Returns the first violation.
pub fn check(validator: &Validator, value: &Value) -> Result<(), SchemaViolation> {
    validator.validate(value).map_err(|error| unfit(&error))
}

/// Returns all violations.
pub fn check_all(validator: &Validator, value: &Value) -> Vec<SchemaViolation> {
    validator.iter_errors(value).flat_map(|error| each(&error)).collect()
}

/// For missing and unknown fields, the path names the field itself and not its parent object.
fn each(error: &ValidationError<'_>) -> Vec<SchemaViolation> {
    let whole = unfit(error);
    let of = |member: &str| if whole.path.is_empty() { member.to_owned() } else { format!("{}.{member}", whole.path) };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![SchemaViolation { path: of(property.as_str().unwrap_or_default()), reason: "is required".to_owned() }]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| SchemaViolation { path: of(name), reason: "is not a known field".to_owned() }).collect()
        }
        _ => vec![whole],
    }
}

fn unfit(error: &ValidationError<'_>) -> SchemaViolation {
    SchemaViolation {
        path: error.instance_path().to_string().trim_start_matches('/').replace('/', "."),
        reason: error.masked().to_string(),
    }
}
