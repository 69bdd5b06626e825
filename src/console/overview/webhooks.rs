//! The webhooks that need a person: those that fail, and those whose certificate ends soon.

use serde::Deserialize;
use serde_json::Value;

use crate::callers::Caller;
use crate::console::Console;
use crate::console::addresses::{list_address, record_address, with_query};
use crate::console::cell::Cell;
use crate::console::overview::{Card, Entry, TROUBLES};
use crate::console::shell::{PageError, Ui};
use crate::console::webhooks::expiring_soon;

#[derive(Deserialize)]
struct Answer {
    figures: Vec<Webhook>,
}

#[derive(Deserialize)]
struct Webhook {
    webhook_id: String,
    url: String,
    failing_since: Value,
    certificate_expires_at: Value,
}

/// A card for each kind of trouble, with the most urgent first; none if the caller may not see webhooks.
pub(super) async fn in_trouble(console: &Console, ui: &Ui, caller: &Caller) -> Result<Vec<Card>, PageError> {
    let Some(kind) = console.kinds.find(caller, "developers", "webhooks") else { return Ok(Vec::new()) };
    let mut cards = Vec::new();
    for (condition, heading) in [("failing", "Failing webhooks"), ("certificate_expiring", "Certificates about to expire")] {
        let path = with_query(&format!("{}/figures", kind.list_path()), [("condition", condition)]);
        let Answer { figures } = console.api.read(caller, &path).await?;
        let entry = |webhook: Webhook| {
            let expires_at = webhook.certificate_expires_at.as_str().filter(|_| condition == "certificate_expiring");
            let certificate = expires_at.and_then(|at| expiring_soon(ui, &webhook.url, at.parse().ok()?));
            let since = if certificate.is_some() { &webhook.certificate_expires_at } else { &webhook.failing_since };
            Entry {
                address: record_address(kind, &webhook.webhook_id),
                created: Cell::plain(ui, &console.kinds, since),
                title: certificate.unwrap_or(webhook.url),
            }
        };
        let entries = figures.into_iter().take(TROUBLES).map(entry).collect();
        cards.push(Card { heading: heading.to_owned(), address: list_address(kind), entries });
    }
    Ok(cards)
}
