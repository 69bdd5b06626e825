//! The message API of Twilio and of compatible services: a form request and a JSON response.

use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::settings;
use crate::providers::sms::exchange::{self, Answer, Receipt};
use crate::providers::sms::settings::{address, required};
use crate::providers::sms::{BadSettings, SendTextError, Text};

/// The error codes that concern the number, not the account: invalid, not a mobile number, a short code, opted out, a landline.
/// From carriers: out of service, blocked, unknown, a landline.
const ABOUT_THE_NUMBER: [u64; 11] = [21211, 21214, 21217, 21265, 21610, 21614, 21635, 30003, 30004, 30005, 30006];

/// `[sms.twilio]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The base URL of the API.
    pub base_url: Url,
    /// The SID of the account, `AC…`.
    #[serde(deserialize_with = "settings::optional")]
    pub account_sid: Option<String>,
    /// The auth token of the account.
    pub auth_token: SecretString,
    /// The sender: a phone number, or the SID of a messaging service.
    #[serde(deserialize_with = "settings::optional")]
    pub from: Option<String>,
    /// The timeout of a request. A text without a response counts as sent.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The client of one account.
#[derive(Debug)]
pub(super) struct Twilio {
    client: Client,
    messages: Url,
    account_sid: String,
    auth_token: SecretString,
    from: String,
}

/// The fields with an error code: `code` in a refusal, `error_code` in a message that was accepted and failed at once.
#[derive(Default, Deserialize)]
struct Report {
    code: Option<u64>,
    error_code: Option<u64>,
}

impl Twilio {
    pub(super) fn new(settings: &Settings) -> Result<Self, BadSettings> {
        let account_sid = required(settings.account_sid.as_ref(), "sms.twilio.account_sid")?;
        let from = required(settings.from.as_ref(), "sms.twilio.from")?;
        let messages = address(&settings.base_url, "sms.twilio.base_url")?
            .join(&format!("/2010-04-01/Accounts/{account_sid}/Messages.json"))
            .map_err(|error| BadSettings { setting: "sms.twilio.base_url", reason: error.to_string() })?;
        let client = exchange::client(settings.timeout, "sms.twilio.timeout")?;
        Ok(Self { client, messages, account_sid, auth_token: settings.auth_token.clone(), from })
    }

    pub(super) fn address(&self) -> Url {
        self.messages.clone()
    }

    pub(super) async fn send(&self, text: &Text<'_>) -> Result<Receipt, SendTextError> {
        let sender = if self.from.starts_with("MG") { "MessagingServiceSid" } else { "From" };
        let request = self.client.post(self.messages.clone()).basic_auth(&self.account_sid, Some(self.auth_token.expose_secret())).form(&[
            ("To", text.to.as_str()),
            (sender, &self.from),
            ("Body", text.body),
        ]);
        exchange::hand_over(request, judge).await
    }
}

fn judge(answer: &Answer) -> Result<(), SendTextError> {
    let report = serde_json::from_slice::<Report>(&answer.body).unwrap_or_default();
    match report.code.or(report.error_code) {
        Some(code) if ABOUT_THE_NUMBER.contains(&code) => Err(SendTextError::Unreachable),
        Some(code) => Err(SendTextError::not_taken(format!("status {}, error {code}", answer.status))),
        None if answer.status.is_success() => Ok(()),
        None => Err(SendTextError::not_taken(format!("status {}", answer.status))),
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn judged(status: u16, body: &str) -> Result<(), SendTextError> {
        judge(&Answer { status: StatusCode::from_u16(status).unwrap(), body: body.into() })
    }

    #[test]
    fn only_errors_about_the_number_blame_the_number() {
        for code in ABOUT_THE_NUMBER {
            let refused = judged(400, &format!(r#"{{"code":{code},"message":"refused","status":400}}"#));
            assert!(matches!(refused, Err(SendTextError::Unreachable)), "{code}");
        }
        for (status, body) in [
            (400, r#"{"code":21606,"message":"not your number"}"#),
            (400, r#"{"code":21408,"message":"region not enabled"}"#),
            (401, r#"{"code":20003,"message":"authenticate"}"#),
            (429, r#"{"code":20429,"message":"too many requests"}"#),
            (500, "<html>oops</html>"),
            (302, ""),
        ] {
            assert!(matches!(judged(status, body), Err(SendTextError::NotTaken(_))), "{status} {body}");
        }
    }

    #[test]
    fn a_message_that_failed_at_once_was_not_sent() {
        assert!(judged(201, r#"{"sid":"SM0","status":"queued","error_code":null}"#).is_ok());
        assert!(judged(201, "").is_ok(), "the status says enough");
        let failed = judged(201, r#"{"sid":"SM0","status":"failed","error_code":30006}"#);
        assert!(matches!(failed, Err(SendTextError::Unreachable)));
    }
}
