//! A condition on a response: its status code, a value in its JSON body, or both.

use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::kernel::settings;
use crate::providers::sms::exchange::Answer;

/// `[sms.http.taken]` and `[sms.http.unreachable]`. An empty condition matches no response.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sign {
    /// The accepted status codes. Empty: any.
    #[serde(deserialize_with = "settings::list")]
    pub statuses: Vec<StatusCode>,
    /// A JSON pointer (RFC 6901) to a value in the body.
    #[serde(deserialize_with = "settings::optional")]
    pub pointer: Option<String>,
    /// The accepted values at the pointer. Numbers are compared by their text.
    #[serde(deserialize_with = "settings::list")]
    pub values: Vec<String>,
}

impl Sign {
    /// Returns the fault of the condition, if there is one.
    pub(super) fn fault(&self) -> Option<&'static str> {
        match &self.pointer {
            Some(pointer) if !pointer.starts_with('/') => Some("has a pointer that does not begin with /"),
            Some(_) if self.values.is_empty() => Some("has a pointer and no values"),
            None if !self.values.is_empty() => Some("has values and no pointer"),
            _ => None,
        }
    }

    pub(super) fn is_on(&self, answer: &Answer) -> bool {
        let status = self.statuses.is_empty() || self.statuses.contains(&answer.status);
        let value = self.pointer.is_none() || self.value_in(answer).is_some();
        let says_nothing = self.statuses.is_empty() && self.pointer.is_none();
        status && value && !says_nothing
    }

    /// The configured value that the response contains, if any.
    pub(super) fn value_in(&self, answer: &Answer) -> Option<&str> {
        let found = at(self.pointer.as_ref()?, answer)?;
        self.values.iter().map(String::as_str).find(|value| *value == found)
    }
}

/// The value at the pointer, in the notation of the settings.
fn at(pointer: &str, answer: &Answer) -> Option<String> {
    let document: Value = serde_json::from_slice(&answer.body).ok()?;
    match document.pointer(pointer)? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sign(statuses: &[u16], pointer: &str, values: &[&str]) -> Sign {
        Sign {
            statuses: statuses.iter().map(|status| StatusCode::from_u16(*status).unwrap()).collect(),
            pointer: Some(pointer.to_owned()).filter(|pointer| !pointer.is_empty()),
            values: values.iter().map(|value| (*value).to_owned()).collect(),
        }
    }

    #[test]
    fn statuses_and_values_must_both_agree() {
        let answer = |status, body: &str| Answer { status: StatusCode::from_u16(status).unwrap(), body: body.into() };
        let refused = r#"{"error":{"code":113,"kind":"landline"}}"#;
        for (sign, status, body, expected) in [
            (sign(&[], "", &[]), 200, "{}", false),
            (sign(&[404], "", &[]), 404, "", true),
            (sign(&[404], "", &[]), 400, "", false),
            (sign(&[], "/error/code", &["112", "113"]), 400, refused, true),
            (sign(&[], "/error/kind", &["landline"]), 400, refused, true),
            (sign(&[422], "/error/code", &["113"]), 400, refused, false),
            (sign(&[400], "/error/code", &["7"]), 400, refused, false),
            (sign(&[400], "/error/code", &["113"]), 400, "no JSON", false),
        ] {
            assert_eq!(sign.is_on(&answer(status, body)), expected, "{sign:?} {status} {body}");
        }
    }

    #[test]
    fn half_a_sign_is_a_fault() {
        assert!(sign(&[], "code", &["1"]).fault().is_some());
        assert!(sign(&[], "/code", &[]).fault().is_some());
        assert!(sign(&[], "", &["1"]).fault().is_some());
        assert!(sign(&[400], "/code", &["1"]).fault().is_none());
    }
}
