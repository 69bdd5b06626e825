//! The message API of Twilio and of the services that copy it: a form is posted, a JSON document comes back.

use std::time::Duration;

use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::settings;
use crate::providers::sms::{BadSettings, SendTextError, Text};

/// Error codes that are about the number and not about us: invalid, not in service, not a mobile, opted out, unreachable, landline.
const ABOUT_THE_NUMBER: [u64; 8] = [21211, 21214, 21217, 21610, 21614, 30003, 30005, 30006];

/// `[sms.twilio]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the API is.
    pub base_url: Url,
    /// The account, `AC…`.
    #[serde(deserialize_with = "settings::optional")]
    pub account_sid: Option<String>,
    /// The account's secret.
    pub auth_token: SecretString,
    /// The sender: a number, or the SID of a messaging service.
    #[serde(deserialize_with = "settings::optional")]
    pub from: Option<String>,
    /// How long its answer is waited for; a text without an answer counts as sent.
    #[serde(with = "humantime_serde")]
    pub timeout: Duration,
}

/// A client of one account.
#[derive(Clone, Debug)]
pub(super) struct Twilio {
    client: Client,
    messages: Url,
    account_sid: String,
    auth_token: SecretString,
    from: String,
}

#[derive(Deserialize)]
struct Refusal {
    code: Option<u64>,
}

impl Twilio {
    pub(super) fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let missing = |setting| BadSettings { setting, reason: "is not set".to_owned() };
        let account_sid = settings.account_sid.clone().ok_or_else(|| missing("sms.twilio.account_sid"))?;
        let from = settings.from.clone().ok_or_else(|| missing("sms.twilio.from"))?;
        let messages = settings
            .base_url
            .join(&format!("/2010-04-01/Accounts/{account_sid}/Messages.json"))
            .map_err(|error| BadSettings { setting: "sms.twilio.base_url", reason: error.to_string() })?;
        let client = Client::builder().timeout(settings.timeout).redirect(reqwest::redirect::Policy::none()).build();
        let client = client.map_err(|error| BadSettings { setting: "sms.twilio", reason: error.to_string() })?;
        Ok(Self { client, messages, account_sid, auth_token: settings.auth_token.clone(), from })
    }

    pub(super) async fn send(&self, text: &Text<'_>) -> Result<(), SendTextError> {
        let sender = if self.from.starts_with("MG") { "MessagingServiceSid" } else { "From" };
        let answer = self
            .client
            .post(self.messages.clone())
            .basic_auth(&self.account_sid, Some(self.auth_token.expose_secret()))
            .form(&[("To", text.to.as_str()), (sender, &self.from), ("Body", text.body)])
            .send()
            .await;
        let answer = match answer {
            Ok(answer) => answer,
            // The provider may have taken it before it fell silent: a second text would be worse than none.
            Err(error) if error.is_timeout() && !error.is_connect() => return Ok(()),
            Err(error) => {
                return Err(SendTextError::NotTaken(if error.is_connect() { "no connection" } else { "broken answer" }.to_owned()));
            }
        };
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        let refusal = answer.json::<Refusal>().await.ok().and_then(|refusal| refusal.code);
        Err(judge(status, refusal))
    }
}

fn judge(status: StatusCode, code: Option<u64>) -> SendTextError {
    match code {
        Some(code) if ABOUT_THE_NUMBER.contains(&code) => SendTextError::Unreachable,
        Some(code) => SendTextError::NotTaken(format!("status {status}, error {code}")),
        None => SendTextError::NotTaken(format!("status {status}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_errors_about_the_number_blame_the_number() {
        assert!(matches!(judge(StatusCode::BAD_REQUEST, Some(21614)), SendTextError::Unreachable));
        for (status, code) in [(400, Some(21606)), (401, Some(20003)), (429, Some(20429)), (500, None)] {
            let status = StatusCode::from_u16(status).unwrap();
            assert!(matches!(judge(status, code), SendTextError::NotTaken(_)), "{status} {code:?}");
        }
    }
}
