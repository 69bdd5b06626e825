//! The errors of SMS providers, and the outcome of a text that no provider accepted.

use reqwest::StatusCode;
use serde::Serialize;

/// The meaning of a provider's error response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendTextErrorKind {
    /// The number cannot receive texts: it is unknown, out of service or of an unsuitable kind.
    Unreachable,
    /// The number's owner or network refuses texts.
    Blocked,
    /// The number is a fixed line.
    Landline,
    /// The provider does not text numbers of this region or carrier. Another provider may.
    NotServed,
    /// The provider's rate limit is exceeded.
    RateLimited,
    /// The provider does not accept the configured credentials.
    BadCredentials,
    /// The provider is unavailable or cannot be connected to.
    Outage,
    /// The provider refused the text for another reason. Its error code is in the details.
    Rejected,
}

impl SendTextErrorKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Unreachable,
        Self::Blocked,
        Self::Landline,
        Self::NotServed,
        Self::RateLimited,
        Self::BadCredentials,
        Self::Outage,
        Self::Rejected,
    ];

    /// The meaning of a failing status code, for responses without an error code.
    pub(super) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::BadCredentials,
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            status if status.is_server_error() => Self::Outage,
            _ => Self::Rejected,
        }
    }

    /// Whether the number is the cause: the provider works.
    pub(super) fn is_about_the_number(self) -> bool {
        matches!(self, Self::Unreachable | Self::Blocked | Self::Landline | Self::NotServed)
    }

    /// Whether the provider has failed, whatever the text is. All companies share the providers of the settings, and a text that one of them refuses,
    /// by its number or its wording, must not have it skipped for the others.
    pub(super) fn is_a_failure_of_the_provider(self) -> bool {
        matches!(self, Self::RateLimited | Self::BadCredentials | Self::Outage)
    }

    /// Whether another provider could not reach the number either.
    pub(super) fn holds_everywhere(self) -> bool {
        self.is_about_the_number() && self != Self::NotServed
    }

    /// The name of the kind in the log of texts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Blocked => "blocked",
            Self::Landline => "landline",
            Self::NotServed => "not_served",
            Self::RateLimited => "rate_limited",
            Self::BadCredentials => "bad_credentials",
            Self::Outage => "outage",
            Self::Rejected => "rejected",
        }
    }
}

/// A provider did not accept a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} ({detail})", kind.as_str())]
pub(super) struct SendTextError {
    pub(super) kind: SendTextErrorKind,
    /// The status code and the error code of the response. Nothing else from the response is kept.
    pub(super) detail: String,
}

impl SendTextError {
    pub(super) fn new(kind: SendTextErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// A provider that was tried, and its error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderAnswer {
    /// The name of the provider in `sms.providers`, or `own` for that of a company.
    pub provider: &'static str,
    /// The meaning of the response.
    pub answer: SendTextErrorKind,
    /// The status code and the error code of the response.
    pub detail: String,
}

impl ProviderAnswer {
    pub(super) fn new(provider: &'static str, error: SendTextError) -> Self {
        Self { provider, answer: error.kind, detail: error.detail }
    }
}

/// No provider accepted a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no provider accepted the text")]
pub struct TextNotSent {
    /// The providers that were tried, in this order.
    pub answers: Vec<ProviderAnswer>,
}

impl TextNotSent {
    /// Whether a provider reported that the number cannot receive texts, or none of them serves it.
    pub fn is_about_the_number(&self) -> bool {
        let answers = || self.answers.iter().map(|answer| answer.answer);
        answers().any(SendTextErrorKind::holds_everywhere)
            || (answers().count() > 0 && answers().all(SendTextErrorKind::is_about_the_number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_code_has_an_error_kind() {
        for (status, kind) in [
            (401, SendTextErrorKind::BadCredentials),
            (403, SendTextErrorKind::BadCredentials),
            (429, SendTextErrorKind::RateLimited),
            (500, SendTextErrorKind::Outage),
            (503, SendTextErrorKind::Outage),
            (400, SendTextErrorKind::Rejected),
            (302, SendTextErrorKind::Rejected),
        ] {
            assert_eq!(SendTextErrorKind::of_status(StatusCode::from_u16(status).unwrap()), kind, "{status}");
        }
    }
}
