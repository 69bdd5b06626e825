//! The message API of Twilio and of compatible services: a form request and a JSON response.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::{Client, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::Url;

use crate::kernel::crypto::hmac_sha1;
use crate::kernel::settings;
use crate::providers::sms::exchange::{self, Answer, Receipt};
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};
use crate::providers::sms::settings::{address_of, required};
use crate::providers::sms::{Delivery, DeliveryReceipt, NotGenuine, ReceivedReceipt, SettingsError, Text};

/// The number is invalid, a short code or unreachable. From carriers: out of service, unknown.
const UNREACHABLE: &[u64] = &[21211, 21214, 21217, 21265, 30003, 30005];
/// This account may not text the region or carrier of the number: the permission is not enabled (21408), there is no route from the sender
/// (21612), or the number is not verified by a trial account (21608). Another provider may.
const NOT_SERVED: &[u64] = &[21408, 21608, 21612];
/// The owner of the number has opted out, or the carrier blocks the text.
const BLOCKED: &[u64] = &[21610, 30004];
/// The number is not a mobile number.
const LANDLINE: &[u64] = &[21614, 21635, 30006];
/// The account exceeds its rate limit or quota.
const RATE_LIMITED: &[u64] = &[14107, 20429, 30001, 30022, 63038];
/// The account or its secret is rejected.
const BAD_CREDENTIALS: &[u64] = &[20003, 20005];

/// In receipts: the number is unknown or no longer in use, or no mobile number. A phone that is switched off (30003) may come back.
const UNREACHABLE_FOR_GOOD: &[u64] = &[30005, 30006];

/// `[sms.twilio]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    pub base_url: Url,
    /// The SID of the account, `AC…`.
    #[serde(deserialize_with = "settings::optional")]
    pub account_sid: Option<String>,
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
pub struct Twilio {
    client: Client,
    messages: Url,
    account_sid: String,
    auth_token: SecretString,
    from: String,
}

/// The fields with an error code: `code` in a refusal, `error_code` in a message that was accepted and failed at once.
#[derive(Default, Deserialize)]
struct Report {
    sid: Option<String>,
    code: Option<u64>,
    error_code: Option<u64>,
}

impl Twilio {
    pub(super) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let account_sid = required(settings.account_sid.as_ref(), "sms.twilio.account_sid")?;
        let from = required(settings.from.as_ref(), "sms.twilio.from")?;
        let path = format!("/2010-04-01/Accounts/{account_sid}/Messages.json");
        let messages = address_of(&path, &settings.base_url, "sms.twilio.base_url")?;
        let client = exchange::client(settings.timeout, "sms.twilio.timeout")?;
        Ok(Self { client, messages, account_sid, auth_token: settings.auth_token.clone(), from })
    }

    pub(super) fn address(&self) -> Url {
        self.messages.clone()
    }

    pub(super) async fn send(&self, text: &Text<'_>, callback: Option<&str>) -> Result<Receipt, SendTextError> {
        let sender = if self.from.starts_with("MG") { "MessagingServiceSid" } else { "From" };
        let mut form = vec![("To", text.to.as_str()), (sender, &self.from), ("Body", text.body)];
        form.extend(callback.map(|callback| ("StatusCallback", callback)));
        let request = self.client.post(self.messages.clone()).basic_auth(&self.account_sid, Some(self.auth_token.expose_secret()));
        exchange::hand_over(request.form(&form), judge).await
    }

    /// Verifies and reads a status callback. Its signature is over the URL and the fields, sorted by their names.
    pub(super) fn read_receipt(&self, url: &str, received: &ReceivedReceipt<'_>) -> Result<Option<DeliveryReceipt>, NotGenuine> {
        let mut fields: Vec<_> = received.fields.iter().collect();
        fields.sort();
        let parts = fields.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]);
        let parts: Vec<_> = std::iter::once(url.as_bytes()).chain(parts).collect();
        let signature = received.signature.and_then(|signature| STANDARD.decode(signature).ok()).ok_or(NotGenuine)?;
        if !hmac_sha1(self.auth_token.expose_secret().as_bytes(), &parts).is(&signature) {
            return Err(NotGenuine);
        }
        let delivery = match received.field("MessageStatus") {
            Some("delivered" | "read") => Delivery::Delivered,
            Some("undelivered") => Delivery::Undelivered,
            Some("failed") => Delivery::Failed,
            _ => return Ok(None),
        };
        let code = received.field("ErrorCode");
        let is_for_good = code.and_then(|code| code.parse().ok()).is_some_and(|code| UNREACHABLE_FOR_GOOD.contains(&code));
        let receipt = |message: &str| DeliveryReceipt { message: message.to_owned(), delivery, code: code.map(str::to_owned), is_for_good };
        Ok(received.field("MessageSid").map(receipt))
    }
}

fn judge(answer: &Answer) -> Result<Option<String>, SendTextError> {
    let report = serde_json::from_slice::<Report>(&answer.body).unwrap_or_default();
    let status = answer.status;
    match report.code.or(report.error_code) {
        Some(code) => Err(SendTextError::new(kind(code, status), format!("status {}, error {code}", status.as_u16()))),
        None if status.is_success() => Ok(report.sid),
        None => Err(SendTextError::new(SendTextErrorKind::of_status(status), format!("status {}", status.as_u16()))),
    }
}

fn kind(code: u64, status: StatusCode) -> SendTextErrorKind {
    let kinds = [
        (UNREACHABLE, SendTextErrorKind::Unreachable),
        (BLOCKED, SendTextErrorKind::Blocked),
        (LANDLINE, SendTextErrorKind::Landline),
        (NOT_SERVED, SendTextErrorKind::NotServed),
        (RATE_LIMITED, SendTextErrorKind::RateLimited),
        (BAD_CREDENTIALS, SendTextErrorKind::BadCredentials),
    ];
    let known = kinds.into_iter().find(|(codes, _)| codes.contains(&code));
    known.map_or_else(|| SendTextErrorKind::of_status(status), |(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, body: &str) -> Result<Option<String>, SendTextError> {
        judge(&Answer { status: StatusCode::from_u16(status).unwrap(), body: body.into() })
    }

    #[test]
    fn the_documented_errors() {
        for (status, code, kind) in [
            (400, 21211, SendTextErrorKind::Unreachable),
            (400, 21610, SendTextErrorKind::Blocked),
            (400, 21614, SendTextErrorKind::Landline),
            (400, 21635, SendTextErrorKind::Landline),
            (400, 21606, SendTextErrorKind::Rejected),
            (400, 21408, SendTextErrorKind::NotServed),
            (400, 21612, SendTextErrorKind::NotServed),
            (201, 30003, SendTextErrorKind::Unreachable),
            (201, 30004, SendTextErrorKind::Blocked),
            (201, 30005, SendTextErrorKind::Unreachable),
            (201, 30006, SendTextErrorKind::Landline),
            (400, 30007, SendTextErrorKind::Rejected),
            (400, 30008, SendTextErrorKind::Rejected),
            (401, 20003, SendTextErrorKind::BadCredentials),
            (429, 20429, SendTextErrorKind::RateLimited),
            (201, 30001, SendTextErrorKind::RateLimited),
            (503, 20503, SendTextErrorKind::Outage),
        ] {
            let refused = judged(status, &format!(r#"{{"code":{code},"message":"refused","status":{status}}}"#));
            assert_eq!(refused, Err(SendTextError::new(kind, format!("status {status}, error {code}"))));
        }
        assert_eq!(judged(500, "<html>oops</html>"), Err(SendTextError::new(SendTextErrorKind::Outage, "status 500")));
        assert_eq!(judged(302, ""), Err(SendTextError::new(SendTextErrorKind::Rejected, "status 302")));
    }

    #[test]
    fn a_message_that_failed_at_once_was_not_sent() {
        assert_eq!(judged(201, r#"{"sid":"SM0","status":"queued","error_code":null}"#), Ok(Some("SM0".to_owned())));
        assert!(judged(201, "").is_ok(), "the status says enough");
        let failed = judged(201, r#"{"sid":"SM0","status":"failed","error_code":30006}"#);
        assert_eq!(failed, Err(SendTextError::new(SendTextErrorKind::Landline, "status 201, error 30006")));
    }

    fn received<'a>(fields: &'a [(String, String)], signature: &'a str) -> ReceivedReceipt<'a> {
        ReceivedReceipt { fields, signature: Some(signature) }
    }

    #[test]
    fn a_receipt_is_signed_like_the_documented_example() {
        let settings = serde_json::json!({
            "base_url": "https://api.example", "account_sid": "AC0", "auth_token": "12345", "from": "+15005550006", "timeout": "1s",
        });
        let twilio = Twilio::new(&serde_json::from_value(settings).unwrap()).unwrap();
        let fields = [
            ("To", "+18005551212"),
            ("Digits", "1234"),
            ("CallSid", "CA1234567890ABCDE"),
            ("From", "+12349013030"),
            ("Caller", "+12349013030"),
        ];
        let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (url, signature) = ("https://mycompany.com/myapp.php?foo=1&bar=2", "0/KCTR6DLpKmkAf8muzZqo1nDgQ=");
        assert_eq!(twilio.read_receipt(url, &received(&fields, signature)), Ok(None), "genuine, and about no text");
        assert_eq!(twilio.read_receipt(url, &received(&fields[1..], signature)), Err(NotGenuine));
        assert_eq!(twilio.read_receipt("https://mycompany.com/", &received(&fields, signature)), Err(NotGenuine));
        assert_eq!(twilio.read_receipt(url, &ReceivedReceipt { fields: &fields, signature: None }), Err(NotGenuine));
    }
}
