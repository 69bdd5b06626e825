//! Why a text was not sent: what each provider that was asked answered.

use reqwest::StatusCode;
use serde::Serialize;

use crate::providers::sms::ProviderName;

/// What a provider's answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendTextErrorKind {
    /// No text arrives at the number: it is unknown, not in service or of a kind that takes none.
    Unreachable,
    /// The number's owner or network refuses texts.
    Blocked,
    /// The number is a fixed line.
    Landline,
    /// The provider was asked to send too many texts.
    RateLimited,
    /// The provider does not accept our credentials.
    BadCredentials,
    /// The provider is out of service or cannot be connected to.
    Outage,
    /// The provider refused the text for another reason, which its error code tells.
    Rejected,
}

impl SendTextErrorKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Unreachable, Self::Blocked, Self::Landline, Self::RateLimited, Self::BadCredentials, Self::Outage, Self::Rejected];

    /// What a failing status means where no error code says more.
    pub(super) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Self::BadCredentials,
            StatusCode::TOO_MANY_REQUESTS => Self::RateLimited,
            status if status.is_server_error() => Self::Outage,
            _ => Self::Rejected,
        }
    }

    /// Whether the number is to blame: another provider could not reach it either.
    pub(super) fn is_about_the_number(self) -> bool {
        matches!(self, Self::Unreachable | Self::Blocked | Self::Landline)
    }

    /// The word, as the log of texts writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Blocked => "blocked",
            Self::Landline => "landline",
            Self::RateLimited => "rate_limited",
            Self::BadCredentials => "bad_credentials",
            Self::Outage => "outage",
            Self::Rejected => "rejected",
        }
    }
}

/// A provider did not take a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} ({detail})", kind.as_str())]
pub(super) struct SendTextError {
    pub(super) kind: SendTextErrorKind,
    /// The status and the error code of the answer; never what else a provider writes.
    pub(super) detail: String,
}

impl SendTextError {
    pub(super) fn new(kind: SendTextErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// A provider that was asked to send a text, and what it answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderAnswer {
    /// The provider, as `sms.providers` names it.
    pub provider: &'static str,
    /// What it answered.
    pub answer: SendTextErrorKind,
    /// The status and the error code of the answer.
    pub detail: String,
}

impl ProviderAnswer {
    pub(super) fn new(provider: ProviderName, error: SendTextError) -> Self {
        Self { provider: provider.as_str(), answer: error.kind, detail: error.detail }
    }
}

/// No provider took a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no provider took the text")]
pub struct TextNotSent {
    /// The providers that were asked, in that order.
    pub answers: Vec<ProviderAnswer>,
}

impl TextNotSent {
    /// Whether a provider knows that no text arrives at the number.
    pub fn is_about_the_number(&self) -> bool {
        self.answers.iter().any(|answer| answer.answer.is_about_the_number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_tells_what_went_wrong() {
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
