//! Verification of access tokens of provider C: the person and the app that a token was issued to.
//!
//! The provider is asked about a customer's token with the app's own token, and refuses both in the same words. So after a refusal it is asked about
//! the app's own token too: a fault of the app is no wrong proof.

use chrono::{DateTime, Utc};
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::clock::Clock;
use crate::kernel::error_chain::chain;
use crate::providers::identity::graph_error::{About, GraphError, Refusal};
use crate::providers::identity::outgoing::{NoAnswer, RETRY_AFTER_MENDING, ask, read};
use crate::providers::identity::{Flaw, Subject, VerifyError};

/// Seconds after which a retry is recommended if the provider did not respond.
const RETRY_AFTER_SECONDS: u64 = 5;

/// The client of the provider's API, with the app's credentials.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    client: Client,
    debug_token: Url,
    app_id: String,
    app_secret: SecretString,
    clock: Clock,
}

#[derive(Deserialize)]
struct Inspection {
    data: Inspected,
}

/// The provider's description of an access token.
#[derive(Debug, Deserialize)]
struct Inspected {
    #[serde(default)]
    is_valid: bool,
    app_id: Option<String>,
    user_id: Option<String>,
    /// `USER` for a person. Pages and apps also have tokens.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// Seconds since 1970. 0 for a token that does not expire.
    #[serde(default)]
    expires_at: i64,
    /// Why the provider refuses it, or cannot judge it.
    error: Option<GraphError>,
}

impl Graph {
    pub(super) fn new(url: &Url, app_id: String, app_secret: SecretString, client: Client, clock: Clock) -> Self {
        let mut debug_token = url.clone();
        if let Ok(mut path) = debug_token.path_segments_mut() {
            path.pop_if_empty().push("debug_token");
        }
        Self { client, debug_token, app_id, app_secret, clock }
    }

    /// Checks that the token was issued to this app for this person and is still valid.
    pub(super) async fn confirm(&self, access_token: &SecretString, subject: &Subject) -> Result<(), VerifyError> {
        match self.inspect(access_token).await {
            Ok(Some(inspected)) if inspected.is_of(&self.app_id, subject.as_str(), self.clock.now()) => Ok(()),
            Ok(_) => Err(Flaw::NotConfirmed.into()),
            Err(NoAnswer::Credentials) => {
                tracing::error!("provider C refuses the app: its id or its secret is wrong");
                Err(VerifyError::CredentialsRefused { seconds: RETRY_AFTER_MENDING })
            }
            Err(error) => {
                tracing::warn!(error = chain(&error), "an access token could not be verified by its provider");
                Err(VerifyError::Unavailable { seconds: RETRY_AFTER_SECONDS })
            }
        }
    }

    /// Checks that the provider accepts the app's credentials. The app's own token is both the token to inspect and the
    /// authorization.
    pub(super) async fn introduce(&self) -> Result<(), NoAnswer> {
        self.ask_about(&self.app_token()).await?.map(drop).ok_or(NoAnswer::Credentials)
    }

    /// Returns the provider's description of a token, or `None` if it does not accept the token.
    async fn inspect(&self, access_token: &SecretString) -> Result<Option<Inspected>, NoAnswer> {
        let inspected = self.ask_about(access_token).await?;
        if inspected.is_none() {
            self.introduce().await?;
        }
        Ok(inspected)
    }

    fn app_token(&self) -> SecretString {
        format!("{}|{}", self.app_id, self.app_secret.expose_secret()).into()
    }

    fn question(&self, access_token: &SecretString) -> RequestBuilder {
        let mut url = self.debug_token.clone();
        url.query_pairs_mut()
            .append_pair("input_token", access_token.expose_secret())
            .append_pair("access_token", self.app_token().expose_secret());
        self.client.get(url)
    }

    /// Returns what the provider says of a token, or `None` if it does not accept a token: this one, or the app's own.
    async fn ask_about(&self, token: &SecretString) -> Result<Option<Inspected>, NoAnswer> {
        let answer = ask(self.question(token)).await?;
        if let (400 | 401 | 403, Ok(Refusal { error })) = (answer.status.as_u16(), read(&answer.body)) {
            return match error.about() {
                About::Token => Ok(None),
                About::App => Err(NoAnswer::Credentials),
                About::Provider => Err(error.code.map_or(NoAnswer::Status(answer.status), NoAnswer::Error)),
            };
        }
        let Inspection { data } = read(&answer.success()?)?;
        match data.error {
            Some(error) if error.kept_it_from_looking() => Err(error.code.map_or(NoAnswer::NotUnderstood, NoAnswer::Error)),
            _ => Ok(Some(data)),
        }
    }
}

impl Inspected {
    fn is_of(&self, app_id: &str, user_id: &str, now: DateTime<Utc>) -> bool {
        self.is_valid
            && self.app_id.as_deref() == Some(app_id)
            && self.user_id.as_deref() == Some(user_id)
            && self.kind.as_deref().is_none_or(|kind| kind == "USER")
            && (self.expires_at == 0 || self.expires_at > now.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_token_is_valid_for_its_app_and_person_until_it_expires() {
        let good = json!({ "is_valid": true, "app_id": "app", "user_id": "7", "type": "USER", "expires_at": 1001 });
        let now = DateTime::from_timestamp(1000, 0).unwrap();
        let counts = |member: &str, value: Value| {
            let mut inspected = good.clone();
            inspected[member] = value;
            serde_json::from_value::<Inspected>(inspected).unwrap().is_of("app", "7", now)
        };
        for (member, value, expected) in [
            ("is_valid", json!(true), true),
            ("expires_at", json!(0), true),
            ("type", json!(null), true),
            ("is_valid", json!(false), false),
            ("app_id", json!("other"), false),
            ("app_id", json!(null), false),
            ("user_id", json!("8"), false),
            ("user_id", json!(null), false),
            ("type", json!("PAGE"), false),
            ("expires_at", json!(1000), false),
        ] {
            assert_eq!(counts(member, value.clone()), expected, "{member} {value}");
        }
        assert!(!serde_json::from_value::<Inspected>(json!({})).unwrap().is_of("app", "7", now));
    }
}
