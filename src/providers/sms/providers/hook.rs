//! The send-message hook of a company as a provider of texts.

use secrecy::ExposeSecret;
use serde_json::json;

use crate::providers::hook::{Hook, HookFailure};
use crate::providers::sms::Text;
use crate::providers::sms::exchange::Receipt;
use crate::providers::sms::failure::{SendTextError, SendTextErrorKind};

pub(super) async fn send(hook: &Hook, text: &Text<'_>) -> Result<Receipt, SendTextError> {
    let Text { to, body, code, about, at } = text;
    let data = json!({
        "channel": "sms", "to": to.as_str(), "text": body, "code": code.map(ExposeSecret::expose_secret),
        "purpose": about.purpose, "store": about.store, "language": about.language,
    });
    hook.hand_over(data, *at).await.map(|()| Receipt::Taken(None)).map_err(refused)
}

fn refused(failure: HookFailure) -> SendTextError {
    let kind = match failure {
        HookFailure::Status(status) => SendTextErrorKind::of_status(status),
        HookFailure::NoAnswer => SendTextErrorKind::Outage,
    };
    SendTextError::new(kind, failure.to_string())
}
