//! The SMS API of Vonage and of compatible services: a form request, and a response that reports errors in its body with status
//! 200.

use std::time::Duration;

use reqwest::Client;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::kernel::settings;
use crate::providers::sms::exchange::{self, Answer, Receipt};
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};
use crate::providers::sms::segment::Alphabet;
use crate::providers::sms::settings::{address_of, required};
use crate::providers::sms::{Delivery, DeliveryReceipt, ReceivedReceipt, SettingsError, Text};

/// The status of a text that was accepted.
const TAKEN: u64 = 0;

/// In receipts (`err-code`): absent for good, and no number.
const UNREACHABLE_FOR_GOOD: [&str; 2] = ["3", "9"];

/// `[sms.vonage]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub base_url: Url,
    #[serde(deserialize_with = "settings::optional")]
    pub api_key: Option<String>,
    pub api_secret: SecretString,
    /// The sender: a phone number, or a name of up to eleven letters and digits.
    #[serde(deserialize_with = "settings::optional")]
    pub from: Option<String>,
    /// The timeout of a request. A text without a response counts as sent.
    #[serde(deserialize_with = "settings::time")]
    pub timeout: Duration,
}

/// The client of one account.
#[derive(Debug)]
pub struct Vonage {
    client: Client,
    messages: Url,
    api_key: String,
    api_secret: SecretString,
    from: String,
}

#[derive(Default, Deserialize)]
struct Report {
    #[serde(default)]
    messages: Vec<Part>,
}

/// The report on one segment. The status is a number as a string. Some compatible services send a plain number.
#[derive(Deserialize)]
struct Part {
    status: Value,
    #[serde(rename = "message-id")]
    message: Option<String>,
}

impl Part {
    fn status(&self) -> Option<u64> {
        self.status.as_u64().or_else(|| self.status.as_str()?.parse().ok())
    }
}

impl Vonage {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let api_key = required(settings.api_key.as_ref(), "sms.vonage.api_key")?;
        let from = required(settings.from.as_ref(), "sms.vonage.from")?;
        let messages = address_of("/sms/json", &settings.base_url, "sms.vonage.base_url")?;
        let client = exchange::client(settings.timeout, "sms.vonage.timeout")?;
        Ok(Self { client, messages, api_key, api_secret: settings.api_secret.clone(), from: without_plus(&from).to_owned() })
    }

    pub(super) fn address(&self) -> Url {
        self.messages.clone()
    }

    pub(super) async fn send(&self, text: &Text<'_>, callback: Option<&str>) -> Result<Receipt, SendTextError> {
        // With the type `text`, characters outside the GSM alphabet would arrive as question marks.
        let kind = match Alphabet::of(text.body) {
            Alphabet::Gsm => "text",
            Alphabet::Ucs2 => "unicode",
        };
        let mut form = vec![
            ("api_key", self.api_key.as_str()),
            ("api_secret", self.api_secret.expose_secret()),
            ("to", without_plus(text.to.as_str())),
            ("from", &self.from),
            ("text", text.body),
            ("type", kind),
        ];
        form.extend(callback.map(|callback| ("callback", callback)));
        exchange::hand_over(self.client.post(self.messages.clone()).form(&form), judge).await
    }
}

/// Reads a delivery receipt. It is signed only for accounts that ask for it, so what makes it genuine is the token of its address. Of a text of
/// several segments, the first one counts.
pub(super) fn read_receipt(received: &ReceivedReceipt<'_>) -> Option<DeliveryReceipt> {
    let delivery = match received.field("status")? {
        "delivered" => Delivery::Delivered,
        "failed" | "expired" => Delivery::Undelivered,
        "rejected" => Delivery::Failed,
        _ => return None,
    };
    let code = received.field("err-code").filter(|code| *code != "0");
    let is_for_good = delivery != Delivery::Delivered && code.is_some_and(|code| UNREACHABLE_FOR_GOOD.contains(&code));
    Some(DeliveryReceipt { message: received.field("messageId")?.to_owned(), delivery, code: code.map(str::to_owned), is_for_good })
}

/// The API takes numbers in E.164 without the plus sign.
fn without_plus(number: &str) -> &str {
    number.strip_prefix('+').unwrap_or(number)
}

fn judge(answer: &Answer) -> Result<Option<String>, SendTextError> {
    let report = serde_json::from_slice::<Report>(&answer.body).unwrap_or_default();
    let statuses: Vec<_> = report.messages.iter().map(Part::status).collect();
    match statuses.iter().find(|status| **status != Some(TAKEN)) {
        Some(Some(code)) => Err(SendTextError::new(kind(*code), format!("error {code}"))),
        None if !statuses.is_empty() && answer.status.is_success() => Ok(report.messages.into_iter().next().and_then(|part| part.message)),
        Some(None) | None => {
            // A success status with an unknown body means that the provider is out of order.
            let kind = if answer.status.is_success() { SendTextErrorKind::Outage } else { SendTextErrorKind::of_status(answer.status) };
            Err(SendTextError::new(kind, format!("status {}, invalid response", answer.status.as_u16())))
        }
    }
}

/// The meaning of an error code: throttled, wrong secrets and signatures or an account that may not send (8, 9, 11), an internal error, a barred
/// number, a number out of service.
/// "Invalid message" (6) is not about the number: the prefix may be unknown to this provider only.
fn kind(code: u64) -> SendTextErrorKind {
    match code {
        1 | 10 => SendTextErrorKind::RateLimited,
        4 | 8 | 9 | 11 | 14 | 32 => SendTextErrorKind::BadCredentials,
        5 => SendTextErrorKind::Outage,
        7 => SendTextErrorKind::Blocked,
        33 => SendTextErrorKind::Unreachable,
        _ => SendTextErrorKind::Rejected,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;

    fn judged(status: u16, body: &str) -> Result<Option<String>, SendTextError> {
        judge(&Answer { status: StatusCode::from_u16(status).unwrap(), body: body.into() })
    }

    #[test]
    fn the_documented_errors() {
        for (codes, kind) in [
            (vec![1, 10], SendTextErrorKind::RateLimited),
            (vec![4, 8, 9, 11, 14, 32], SendTextErrorKind::BadCredentials),
            (vec![5], SendTextErrorKind::Outage),
            (vec![7], SendTextErrorKind::Blocked),
            (vec![33], SendTextErrorKind::Unreachable),
            (vec![2, 3, 6, 12, 15, 22, 23, 29], SendTextErrorKind::Rejected),
        ] {
            for code in codes {
                let refused = judged(200, &format!(r#"{{"message-count":"1","messages":[{{"status":"{code}","error-text":"no"}}]}}"#));
                assert_eq!(refused, Err(SendTextError::new(kind, format!("error {code}"))));
            }
        }
    }

    #[test]
    fn only_a_zero_means_that_the_text_was_accepted() {
        assert!(judged(200, r#"{"message-count":"1","messages":[{"to":"12015550123","status":"0"}]}"#).is_ok());
        assert!(judged(200, r#"{"messages":[{"status":0}]}"#).is_ok());
        for (status, body, kind) in [
            (200, "", SendTextErrorKind::Outage),
            (200, "<html>oops</html>", SendTextErrorKind::Outage),
            (200, r#"{"messages":[]}"#, SendTextErrorKind::Outage),
            (200, r#"{"messages":[{"status":"fine"}]}"#, SendTextErrorKind::Outage),
            (401, r#"{"type":"unauthorized","title":"Unauthorized"}"#, SendTextErrorKind::BadCredentials),
            (429, "", SendTextErrorKind::RateLimited),
            (503, r#"{"messages":[{"status":"0"}]}"#, SendTextErrorKind::Outage),
        ] {
            assert_eq!(judged(status, body).unwrap_err().kind, kind, "{status} {body}");
        }
    }
}
