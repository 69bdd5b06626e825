//! Failing endpoints: operators are notified before a webhook is disabled, and when it is (`docs/specification/decisions.md`,
//! section 7).
//!
//! Recording attempts stores since when an endpoint has been failing without a single success. The time from then to its last
//! failure counts, so an endpoint without deliveries is not disabled because of one old failure. Operators are notified at 50, 70
//! and 90 percent of five days; at 100 percent the webhook is disabled. When a delivery succeeds after a notice, operators are
//! notified of that too. Replays are not counted. When an endpoint responds that it is gone, its webhook is disabled at once, and
//! operators are notified.
//!
//! Each notice is given once per episode, however many instances check: it is stored in the endpoint's row, under its lock, in the
//! transaction that publishes the event and stores the mails, which [`mailing`] sends. All subscribers of these events receive
//! them, including the failing endpoint. Failed deliveries of these events begin no new episode, so there is no loop.

mod episode;
mod letter;
mod mailing;
mod queries;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::callers::Caller;
use crate::events::EventName;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::Problem;
use crate::members;
use crate::operators;
use crate::resources::{Record, RecordTransaction};
use crate::webhooks::Webhooks;
use crate::webhooks::engine::endpoints;
use crate::webhooks::engine::record::Gone;
use crate::webhooks::failing::episode::Notice;
use crate::webhooks::subscription::{self, DisabledReason, Status, Subscription};

pub(super) use mailing::send_letters;

/// The interval at which an instance checks for due notices.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Checks for due notices every minute.
pub(super) async fn watch(webhooks: Webhooks, lifecycle: Lifecycle) {
    lifecycle.every(CHECK_INTERVAL, "failing webhooks could not be checked", || webhooks.notify_operators()).await;
}

impl Webhooks {
    /// Notifies operators where a notice is due, and disables webhooks that have been failing for too long.
    pub async fn notify_operators(&self) -> Result<(), sqlx::Error> {
        let mut conn = self.worker_pool.acquire().await?;
        let suspects = endpoints::list_suspects(&mut conn).await?;
        drop(conn);
        for suspect in suspects {
            if suspect.episode.due().is_none() {
                continue;
            }
            // Errors have been logged, or the webhook has been deleted meanwhile. Neither holds up the other webhooks.
            let _ = self.publish_notice(suspect.company, suspect.subscription).await;
        }
        Ok(())
    }

    /// Publishes the notice that is due for one webhook, unless another instance already has or none is due.
    async fn publish_notice(&self, company: CompanyId, id: SubscriptionId) -> Result<(), Problem> {
        let mut transaction = RecordTransaction::begin(self, &Caller::service(company)).await?;
        let webhook = transaction.lock::<Subscription>(id).await?;
        let episode = endpoints::lock_episode(transaction.conn(), id).await?;
        let Some(notice) = episode.due().filter(|notice| notice.concerns(webhook.fields.status)) else { return Ok(()) };
        self.announce(&mut transaction, &notice, webhook).await?;
        endpoints::record_notice(transaction.conn(), id, notice.percent(), notice.failing_since()).await?;
        transaction.commit().await?;
        tracing::info!(subscription = %id, percent = notice.percent(), "operators were notified about the state of a webhook");
        Ok(())
    }

    /// Disables the webhooks whose endpoints responded with 410, and notifies operators.
    pub(crate) async fn disable_gone(&self, gone: Vec<Gone>) {
        for gone in gone {
            // Errors have been logged, or the webhook has been deleted meanwhile. If there is another delivery, it gets another 410.
            let _ = self.disable_one_gone(gone).await;
        }
    }

    /// Does nothing if the webhook is already disabled or its URL has changed.
    async fn disable_one_gone(&self, gone: Gone) -> Result<(), Problem> {
        let mut transaction = RecordTransaction::begin(self, &Caller::service(gone.company)).await?;
        let webhook = transaction.lock::<Subscription>(gone.subscription).await?;
        if webhook.fields.status == Status::Disabled || webhook.fields.url != gone.url {
            return Ok(());
        }
        let episode = endpoints::lock_episode(transaction.conn(), webhook.id).await?;
        let notice = Notice::Gone { since: episode.failing_since.unwrap_or(transaction.now) };
        self.announce(&mut transaction, &notice, webhook).await?;
        transaction.commit().await?;
        tracing::info!(subscription = %gone.subscription, "a webhook was disabled because its endpoint responded with 410");
        Ok(())
    }

    /// Disables the locked webhook if the notice requires it, publishes the event, and stores a mail to each operator.
    async fn announce(
        &self,
        transaction: &mut RecordTransaction<Webhooks>,
        notice: &Notice,
        mut webhook: Record<Subscription>,
    ) -> Result<(), Problem> {
        if let Some(reason) = notice.disables() {
            let mut after = webhook.fields.clone();
            after.disable(reason, transaction.now);
            webhook = transaction.update(webhook, after).await?.record;
        }
        if let Some(name) = notice.event() {
            transaction.announce(webhook.clone(), name, notice.additional_data()).await?;
            self.mail_operators(transaction, notice, &webhook).await?;
        }
        Ok(())
    }

    async fn mail_operators(
        &self,
        transaction: &mut RecordTransaction<Webhooks>,
        notice: &Notice,
        webhook: &Record<Subscription>,
    ) -> Result<(), Problem> {
        if self.mail.is_available() {
            let now = transaction.now;
            let addresses = operators::list_addresses(transaction.conn(), webhook.company).await?;
            let last_failure = endpoints::find_last_failure(transaction.conn(), webhook.id).await?;
            let words = letter::write(notice, webhook, last_failure.as_deref());
            mailing::store_letters(transaction.conn(), webhook.id, &addresses, &words, now).await?;
        }
        Ok(())
    }
}

impl Notice {
    fn disables(&self) -> Option<DisabledReason> {
        match self {
            Self::Disabled { .. } => Some(DisabledReason::Failing),
            Self::Gone { .. } => Some(DisabledReason::Gone),
            Self::Failing { .. } | Self::Recovered { .. } | Self::Over => None,
        }
    }

    fn additional_data(&self) -> Map<String, Value> {
        match *self {
            Self::Failing { since, percent } => members! {
                "percent": percent,
                "failing_since": timestamp(since),
                "disabled_from": timestamp(since + episode::DISABLE_AFTER),
            },
            Self::Disabled { since } | Self::Gone { since } | Self::Recovered { since } => members! { "failing_since": timestamp(since) },
            Self::Over => Map::new(),
        }
    }

    fn event(&self) -> Option<EventName> {
        match self {
            Self::Failing { .. } => Some(subscription::FAILING),
            Self::Disabled { .. } | Self::Gone { .. } => Some(subscription::DISABLED),
            Self::Recovered { .. } => Some(subscription::RECOVERED),
            Self::Over => None,
        }
    }

    /// A disabled webhook needs no further notices, but the end of its episode is still recorded.
    fn concerns(&self, status: Status) -> bool {
        status == Status::Enabled || matches!(self, Self::Over)
    }
}
