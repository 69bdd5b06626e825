//! Failing endpoints: operators are notified before a webhook is disabled, and when it is (`docs/specification/decisions.md`,
//! section 7).
//!
//! Recording attempts stores since when an endpoint has been failing without a single success. The time from then to its last
//! failure counts, so an endpoint without deliveries is not disabled because of one old failure. Operators are notified at 50, 70
//! and 90 percent of five days; at 100 percent the webhook is disabled. When a delivery succeeds after a notice, operators are
//! notified of that too. Replays are not counted. When an endpoint responds that it is gone, its webhook is disabled at once, and
//! operators are notified.
//!
//! Each of these is told once an episode, however many instances look: what was told is written to the endpoint's row under its lock, in
//! the transaction that publishes the event. Mail goes out after the commit; an instance that dies in between leaves the event as the
//! only notice. The events go to whoever subscribes to them, the failing endpoint included; that their deliveries fail begins no new
//! episode, so nothing goes round in circles.

mod episode;
mod letter;
mod queries;

use std::time::Duration;

use serde_json::{Map, Value};

use crate::events::{EventName, names};
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::problem::Problem;
use crate::kernel::telemetry::chain;
use crate::members;
use crate::operators;
use crate::providers::mail::Letter;
use crate::resources::{Edit, Record};
use crate::webhooks::Webhooks;
use crate::webhooks::failing::episode::Notice;
use crate::webhooks::record::Gone;
use crate::webhooks::subscription::{DisabledReason, Status, Subscription};

/// How often an instance looks.
const EVERY: Duration = Duration::from_secs(60);

/// Checks for due notices every minute.
pub(super) async fn watch(webhooks: Webhooks, lifecycle: Lifecycle) {
    let minute = || async {
        if let Err(error) = webhooks.tell_of_failing().await {
            tracing::warn!(error = chain(&error), "failing webhooks were not looked at; the next minute will do it");
        }
    };
    lifecycle.every(EVERY, minute).await;
}

impl Webhooks {
    /// Notifies operators where a notice is due, and disables webhooks that have been failing for too long.
    pub async fn tell_of_failing(&self) -> Result<(), sqlx::Error> {
        let mut conn = self.engine.acquire().await?;
        let suspects = queries::list_suspects(&mut conn).await?;
        drop(conn);
        for suspect in suspects {
            if suspect.episode.due().is_none() {
                continue;
            }
            // A refusal was logged, or the webhook has been deleted meanwhile; neither keeps the others waiting.
            if let Ok(Some((notice, webhook))) = self.tell(suspect.company, suspect.subscription).await {
                self.write_to_operators(&notice, &webhook).await?;
            }
        }
        Ok(())
    }

    /// Publishes what is due of one webhook; `None` when somebody else did, or nobody has to know.
    async fn tell(&self, company: CompanyId, id: SubscriptionId) -> Result<Option<(Notice, Record<Subscription>)>, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let webhook = edit.lock::<Subscription>(id).await?;
        let episode = queries::lock_episode(edit.conn(), id).await?;
        let Some(notice) = episode.due().filter(|notice| notice.concerns(webhook.fields.status)) else { return Ok(None) };
        let webhook = notice.announce(&mut edit, webhook).await?;
        queries::note_told(edit.conn(), id, notice.percent(), notice.failing_since()).await?;
        edit.commit().await?;
        tracing::info!(subscription = %id, percent = notice.percent(), "operators were told how a webhook is doing");
        Ok(notice.event().map(|_| (notice, webhook)))
    }

    /// Disables the webhooks whose endpoints responded with 410, and notifies operators.
    pub(super) async fn disable_gone(&self, gone: Vec<Gone>) {
        for gone in gone {
            // A refusal was logged, or the webhook has been deleted meanwhile; the next delivery, if there is any, is answered 410 again.
            if let Ok(Some((notice, webhook))) = self.disable_one_gone(gone).await
                && let Err(error) = self.write_to_operators(&notice, &webhook).await
            {
                tracing::warn!(error = chain(&error), "operators were not written to about a webhook that was disabled");
            }
        }
    }

    /// `None` when it is disabled already, or has moved meanwhile.
    async fn disable_one_gone(&self, gone: Gone) -> Result<Option<(Notice, Record<Subscription>)>, Problem> {
        let mut edit = Edit::begin(self, gone.company).await?;
        let webhook = edit.lock::<Subscription>(gone.subscription).await?;
        if webhook.fields.status == Status::Disabled || webhook.fields.url != gone.url {
            return Ok(None);
        }
        let episode = queries::lock_episode(edit.conn(), webhook.id).await?;
        let notice = Notice::Gone { since: episode.failing_since.unwrap_or(edit.now) };
        let webhook = notice.announce(&mut edit, webhook).await?;
        edit.commit().await?;
        tracing::info!(subscription = %webhook.id, "a webhook was disabled: its endpoint answered 410");
        Ok(Some((notice, webhook)))
    }

    async fn write_to_operators(&self, notice: &Notice, webhook: &Record<Subscription>) -> Result<(), sqlx::Error> {
        if !self.mail.is_available() {
            return Ok(());
        }
        let mut conn = self.engine.acquire().await?;
        let addresses = operators::list_addresses(&mut conn, webhook.company).await?;
        drop(conn);
        let (subject, text) = letter::write(notice, webhook);
        for to in addresses {
            let letter = Letter { to: &to, subject: &subject, text: &text, html: None, code: None, at: self.clock.now() };
            if let Err(error) = self.mail.send(letter).await {
                tracing::warn!(error = chain(&error), "an operator was not written to about a failing webhook");
            }
        }
        Ok(())
    }
}

impl Notice {
    /// Disables the webhook, which is locked, where that is what it tells, and publishes its event.
    async fn announce(&self, edit: &mut Edit<Webhooks>, mut webhook: Record<Subscription>) -> Result<Record<Subscription>, Problem> {
        if let Some(reason) = self.disables() {
            let mut after = webhook.fields.clone();
            after.disable(reason, edit.now);
            webhook = edit.update(webhook, after).await?.record;
        }
        if let Some(name) = self.event() {
            edit.announce(webhook.clone(), name, self.additional_data()).await?;
        }
        Ok(webhook)
    }

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
                "disabled_from": timestamp(since + episode::PATIENCE),
            },
            Self::Disabled { since } | Self::Gone { since } | Self::Recovered { since } => members! { "failing_since": timestamp(since) },
            Self::Over => Map::new(),
        }
    }

    fn event(&self) -> Option<EventName> {
        match self {
            Self::Failing { .. } => Some(names::WEBHOOK_FAILING),
            Self::Disabled { .. } | Self::Gone { .. } => Some(names::WEBHOOK_DISABLED),
            Self::Recovered { .. } => Some(names::WEBHOOK_RECOVERED),
            Self::Over => None,
        }
    }

    /// A disabled webhook needs no further notices, but the end of its episode is still recorded.
    fn concerns(&self, status: Status) -> bool {
        status == Status::Enabled || matches!(self, Self::Over)
    }
}
