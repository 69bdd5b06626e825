//! The mail to operators about a notice.

use crate::kernel::clock::timestamp;
use crate::resources::Record;
use crate::webhooks::failing::episode::{DISABLE_AFTER, Notice};
use crate::webhooks::sending::fault::Fault;
use crate::webhooks::sending::tls_reason::TlsReason;
use crate::webhooks::subscription::Subscription;

#[derive(Debug)]
pub(super) struct Words {
    pub(super) subject: String,
    pub(super) text: String,
}

/// Writes it. `last_failure` is how the latest failed attempt ended.
pub(super) fn write(notice: &Notice, webhook: &Record<Subscription>, last_failure: Option<&str>) -> Words {
    let (id, url) = (webhook.id, &webhook.fields.url);
    let ended = last_failure.map(|failure| format!(" {}", sentence_about(failure))).unwrap_or_default();
    let (subject, what) = match *notice {
        Notice::Failing { since, percent } => (
            "A webhook is failing",
            format!(
                "All deliveries to it have failed since {}.{ended} After five days it is disabled; {percent} percent of this time has \
                 passed. It will be disabled at {}, unless a delivery succeeds before.",
                timestamp(since),
                timestamp(since + DISABLE_AFTER)
            ),
        ),
        Notice::Disabled { since } => (
            "A webhook was disabled",
            format!(
                "All deliveries to it have failed for five days, since {}, so nothing is sent to it any more.{ended} When its endpoint \
                 works again, enable the webhook and replay the deliveries that it has missed.",
                timestamp(since)
            ),
        ),
        Notice::Gone { .. } => (
            "A webhook was disabled",
            "Its endpoint responded with status 410 (gone), so nothing is sent to it any more. When the endpoint exists again, enable \
             the webhook and replay the deliveries that it has missed."
                .to_owned(),
        ),
        Notice::Recovered { since } => {
            ("A webhook works again", format!("All deliveries to it had failed since {}. Now one has succeeded.", timestamp(since)))
        }
        Notice::Over => ("A webhook was enabled", "Deliveries are made again.".to_owned()),
    };
    Words { subject: format!("{subject}: {url}"), text: format!("The webhook {id}\n{url}\n\n{what}\n") }
}

/// A sentence about the end of an attempt: a status, or a word of the attempt log and its reason.
fn sentence_about(failure: &str) -> String {
    if failure.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("The latest attempt was answered with status {failure}.");
    }
    let (error, reason) = failure.split_once(' ').unwrap_or((failure, ""));
    match reason.parse::<TlsReason>().map(TlsReason::sentence).ok().or_else(|| Fault::sentence(error)) {
        Some(sentence) => format!("The latest attempt failed. {sentence}"),
        None => format!("The latest attempt ended with the error {failure}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_an_attempt_is_a_sentence() {
        for (failure, sentence) in [
            ("503", "The latest attempt was answered with status 503."),
            ("timeout", "The latest attempt failed. There was no answer in time."),
            ("connect", "The latest attempt failed. No connection could be made."),
            ("tls certificate_expired", "The latest attempt failed. The certificate has expired."),
            ("tls something_newer", "The latest attempt failed. The certificate is not trusted, or the TLS handshake failed."),
            ("something_newer", "The latest attempt ended with the error something_newer."),
        ] {
            assert_eq!(sentence_about(failure), sentence);
        }
        assert!(Fault::WORDS.iter().all(|word| Fault::sentence(word).is_some()));
    }
}
