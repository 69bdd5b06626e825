//! The mail to operators about a notice.

use crate::kernel::clock::timestamp;
use crate::resources::Record;
use crate::webhooks::failing::episode::{Notice, PATIENCE};
use crate::webhooks::subscription::Subscription;

/// Subject and text.
pub(super) fn write(notice: &Notice, webhook: &Record<Subscription>) -> (String, String) {
    let (id, url) = (webhook.id, &webhook.fields.url);
    let (subject, what) = match *notice {
        Notice::Failing { since, percent } => (
            "A webhook is failing",
            format!(
                "Every delivery to it has failed since {}. {percent} percent of the five days have passed after which it is disabled: that \
                 is at {}, unless a delivery succeeds before.",
                timestamp(since),
                timestamp(since + PATIENCE)
            ),
        ),
        Notice::Disabled { since } => (
            "A webhook was disabled",
            format!(
                "Every delivery to it has failed since {}, for five days, so nothing is sent to it any more. When its endpoint works again, \
                 enable it and replay what it has missed.",
                timestamp(since)
            ),
        ),
        Notice::Gone { .. } => (
            "A webhook was disabled",
            "Its endpoint answered 410, which says that it is gone, so nothing is sent to it any more. When there is one again, enable the \
             webhook and replay what it has missed."
                .to_owned(),
        ),
        Notice::Recovered { since } => {
            ("A webhook works again", format!("Every delivery to it had failed since {}; now one has succeeded.", timestamp(since)))
        }
        Notice::Over => ("A webhook was enabled", "It begins anew.".to_owned()),
    };
    (format!("{subject}: {url}"), format!("The webhook {id}\n{url}\n\n{what}\n"))
}
