//! The errors of provider C's API, and whom they are about. Their messages are not read, because they may quote a token.

use serde::Deserialize;

/// The codes of errors about something that was sent along: a parameter (100), a session (102), a token (190).
const ABOUT_TOKENS: [i64; 3] = [100, 102, 190];
/// The code of errors about the app: its id is unknown.
const ABOUT_THE_APP: i64 = 101;

/// The body of a refusal.
#[derive(Debug, Deserialize)]
pub(super) struct Refusal {
    pub(super) error: GraphError,
}

/// An error.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GraphError {
    pub(super) code: Option<i64>,
    /// Whether the same request may succeed later.
    is_transient: bool,
}

/// Whom an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    /// A token that was sent: that of the customer, or the app's own.
    Token,
    /// The app.
    App,
    /// The provider: it is out of order, asked too often, or has blocked the app. So is every code that nobody knows.
    Provider,
}

impl GraphError {
    pub(super) fn about(self) -> About {
        match self.code {
            _ if self.is_transient => About::Provider,
            Some(ABOUT_THE_APP) => About::App,
            Some(code) if ABOUT_TOKENS.contains(&code) => About::Token,
            _ => About::Provider,
        }
    }

    /// Whether the provider says with this error that it could not look at a token. Without a code, it has looked.
    pub(super) fn kept_it_from_looking(self) -> bool {
        self.is_transient || self.code.is_some() && self.about() != About::Token
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn error(error: Value) -> GraphError {
        serde_json::from_value(error).unwrap()
    }

    #[test]
    fn only_what_is_said_of_a_token_is_about_a_token() {
        for (body, about) in [
            (json!({ "type": "OAuthException", "code": 190, "error_subcode": 463 }), About::Token),
            (json!({ "type": "OAuthException", "code": 100 }), About::Token),
            (json!({ "type": "OAuthException", "code": 101 }), About::App),
            (json!({ "type": "OAuthException", "code": 2, "is_transient": true }), About::Provider),
            (json!({ "type": "OAuthException", "code": 190, "is_transient": true }), About::Provider),
            (json!({ "type": "OAuthException", "code": 1 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 4 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 17 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 341 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 368 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 613 }), About::Provider),
            (json!({ "type": "OAuthException", "code": 12_345 }), About::Provider),
            (json!({}), About::Provider),
        ] {
            assert_eq!(error(body.clone()).about(), about, "{body}");
        }
    }

    #[test]
    fn an_expired_token_was_looked_at() {
        assert!(!error(json!({ "code": 190, "subcode": 463 })).kept_it_from_looking());
        assert!(!error(json!({ "message": "expired" })).kept_it_from_looking());
        assert!(error(json!({ "code": 2 })).kept_it_from_looking() && error(json!({ "is_transient": true })).kept_it_from_looking());
    }
}
