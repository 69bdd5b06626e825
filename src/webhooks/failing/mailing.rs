//! Sends mails to operators about failing webhooks.
//!
//! A mail is stored in the transaction that publishes the event about the same notice. It is deleted when the mail server has
//! accepted it, so neither an outage of the mail server nor a restart loses it. Failed mails are retried like deliveries, after
//! 5 minutes, 30 minutes, 2 hours and 8 hours, and then dropped. An operator receives only the latest mail about each webhook: a
//! newer mail replaces one that has not been sent yet.
//!
//! An instance takes a lease on a mail before it sends it, so no other instance sends the same mail. If an instance dies after
//! sending a mail and before deleting it, the mail is sent again.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;

use crate::contact::EmailAddress;
use crate::kernel::database::Connection;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::mail::Letter;
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::{self, Next, Verdict};
use crate::webhooks::failing::letter::Words;
use crate::webhooks::failing::queries::{self, Kept};

/// Maximum number of mails sent concurrently; few enough for the connection limit of any mail server.
const BATCH: i64 = 5;
/// The duration of a lease on a mail. It is longer than the timeout of sending one.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// The interval at which an instance checks for due mails.
const EVERY: Duration = Duration::from_secs(10);

/// Stores a mail to each address. It replaces an unsent mail to the same address about the same webhook.
pub(super) async fn store_letters(
    conn: &mut Connection,
    subscription: SubscriptionId,
    addresses: &[EmailAddress],
    words: &Words,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    for address in addresses {
        queries::store_letter(conn, subscription, address, words, now).await?;
    }
    Ok(())
}

impl Webhooks {
    /// Sends the next batch of due mails. Returns whether there were any.
    pub async fn send_letters(&self) -> Result<bool, sqlx::Error> {
        let now = self.clock.now();
        let letters = queries::claim_letters(&mut self.worker_pool.acquire().await?, BATCH, now, now + LEASE).await?;
        // All mails are sent before the first database error is returned, so that an error does not cancel the others.
        let sent = join_all(letters.into_iter().map(|letter| self.send_letter(letter))).await;
        let sent: Vec<()> = sent.into_iter().collect::<Result<_, _>>()?;
        Ok(!sent.is_empty())
    }

    async fn send_letter(&self, Kept { id, address, words, failures }: Kept) -> Result<(), sqlx::Error> {
        let letter = Letter { to: &address, subject: &words.subject, text: &words.text, html: None, code: None, at: self.clock.now() };
        // The sender has already logged an error.
        let is_sent = self.mail.send(letter).await.is_ok();
        let mut conn = self.worker_pool.acquire().await?;
        if is_sent {
            return queries::delete_letter(&mut conn, id).await;
        }
        match delivery_state::next(failures, Verdict::Failed { retry_after: None }, self.clock.now()) {
            Next::Retry(at) => {
                tracing::warn!(letter = %id, "a mail to an operator about a webhook could not be sent; it will be retried");
                queries::postpone_letter(&mut conn, id, at).await
            }
            Next::Failed | Next::Delivered => {
                tracing::error!(letter = %id, "a mail to an operator about a webhook could not be sent; no retries are left");
                queries::delete_letter(&mut conn, id).await
            }
        }
    }
}

/// Sends due mails as long as the program runs.
pub async fn send_letters(webhooks: Webhooks, lifecycle: Lifecycle) {
    let batches = || async {
        while !lifecycle.stopping().is_cancelled() && webhooks.send_letters().await? {}
        Ok::<_, sqlx::Error>(())
    };
    lifecycle.every(EVERY, "mails to operators could not be read", batches).await;
}
