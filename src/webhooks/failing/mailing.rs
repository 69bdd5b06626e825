//! Sending letters to operators.
//!
//! A letter is kept in the transaction that announces what it says, and stays until the mail server has taken it, so neither a server that
//! is away nor a restart loses it. It is tried as a delivery is: again after 5 minutes, 30 minutes, 2 hours and 8 hours, and then given up.
//! Of each webhook an operator is sent the latest news alone: what is still unsent when there is more to tell is not worth a mail.
//!
//! Whoever sends a letter has claimed it for a while, so no other instance sends it too; only one that dies between sending it and
//! deleting it has it sent again.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::mail::Letter;
use crate::webhooks::Webhooks;
use crate::webhooks::deliveries::state::{self, Next, Verdict};
use crate::webhooks::failing::letter::Words;
use crate::webhooks::failing::queries::{self, Kept};

/// Letters sent at once: no more connections than any mail server grants.
const BATCH: i64 = 5;
/// How long a letter is claimed for, which is longer than a mail server is waited for.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// How often an instance looks.
const EVERY: Duration = Duration::from_secs(10);

/// Keeps a letter to each address, in place of what it has not been sent yet about the same webhook.
pub(super) async fn keep_letters(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    addresses: &[EmailAddress],
    words: &Words,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    for address in addresses {
        queries::keep_letter(conn, subscription, address, words, now).await?;
    }
    Ok(())
}

impl Webhooks {
    /// Sends the next letters that are due; answers whether there were any.
    pub async fn send_letters(&self) -> Result<bool, sqlx::Error> {
        let now = self.clock.now();
        let letters = queries::claim_letters(&mut *self.worker_pool.acquire().await?, BATCH, now, now + LEASE).await?;
        // One that cannot be noted down stops none of the others half-way.
        let sent = join_all(letters.into_iter().map(|letter| self.send_letter(letter))).await;
        let sent: Vec<()> = sent.into_iter().collect::<Result<_, _>>()?;
        Ok(!sent.is_empty())
    }

    async fn send_letter(&self, Kept { id, address, words, failures }: Kept) -> Result<(), sqlx::Error> {
        let letter = Letter { to: &address, subject: &words.subject, text: &words.text, html: None, code: None, at: self.clock.now() };
        // Whoever sends mail has logged what became of it.
        let is_sent = self.mail.send(letter).await.is_ok();
        let mut conn = self.worker_pool.acquire().await?;
        if is_sent {
            return queries::delete_letter(&mut conn, id).await;
        }
        match state::next(failures, Verdict::Failed { retry_after: None }, self.clock.now()) {
            Next::Retry(at) => {
                tracing::warn!(letter = %id, "an operator was not written to yet about a webhook");
                queries::postpone_letter(&mut conn, id, at).await
            }
            Next::Failed | Next::Delivered => {
                tracing::error!(letter = %id, "an operator was not written to about a webhook, and will not be");
                queries::delete_letter(&mut conn, id).await
            }
        }
    }
}

/// Sends letters as long as the program runs.
pub(in crate::webhooks) async fn send_letters(webhooks: Webhooks, lifecycle: Lifecycle) {
    let batches = async || {
        while !lifecycle.stopping().is_cancelled() && webhooks.send_letters().await? {}
        Ok::<_, sqlx::Error>(())
    };
    let moment = || async {
        if let Err(error) = batches().await {
            tracing::warn!(error = chain(&error), "letters to operators cannot be looked up; they are looked for again soon");
        }
    };
    lifecycle.every(EVERY, moment).await;
}
