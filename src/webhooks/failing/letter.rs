//! The mail to operators about a notice.

use crate::kernel::clock::timestamp;
use crate::resources::Record;
use crate::webhooks::failing::episode::{DISABLE_AFTER, Notice};
use crate::webhooks::subscription::Subscription;

#[derive(Debug)]
pub(super) struct Words {
    pub(super) subject: String,
    pub(super) text: String,
}

pub(super) fn write(notice: &Notice, webhook: &Record<Subscription>) -> Words {
    let (id, url) = (webhook.id, &webhook.fields.url);
    let (subject, what) = match *notice {
        Notice::Failing { since, percent } => (
            "A webhook is failing",
            format!(
                "All deliveries to it have failed since {}. After five days it is disabled; {percent} percent of this time has passed. It \
                 will be disabled at {}, unless a delivery succeeds before.",
                timestamp(since),
                timestamp(since + DISABLE_AFTER)
            ),
        ),
        Notice::Disabled { since } => (
            "A webhook was disabled",
            format!(
                "All deliveries to it have failed for five days, since {}, so nothing is sent to it any more. When its endpoint works \
                 again, enable the webhook and replay the deliveries that it has missed.",
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
