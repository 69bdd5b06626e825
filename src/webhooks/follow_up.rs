//! What follows from a change of a webhook: the row of its endpoint, and the end of its deliveries and replays.
//!
//! Whoever changes a webhook, in whatever way, causes this in the same transaction.

use crate::audit_trail::ChangedRecord;
use crate::companies;
use crate::events::Publisher;
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::Problem;
use crate::resources::{Change, EventDoc, PublishesEvents, RecordTransaction};
use crate::webhooks::engine::endpoints;
use crate::webhooks::subscription::{EVENTS, Status, Subscription};
use crate::webhooks::{Webhooks, cancellation, replays};

/// Changes to webhooks publish no events; the service publishes those of the list. Disabling or deleting a webhook cancels its open deliveries and ends its replays.
impl PublishesEvents for Subscription {
    const AUDITED_AS: Option<fn(SubscriptionId) -> ChangedRecord> = Some(ChangedRecord::Webhook);
    const EVENTS: &'static [EventDoc] = EVENTS;
    const PUBLISHER: Publisher = Publisher::Service;

    async fn follow_up(transaction: &mut RecordTransaction<Webhooks>, change: &Change<'_, Self>) -> Result<(), Problem> {
        let (id, now) = (change.record().id, transaction.now);
        match change {
            Change::Created(created) => {
                must_stay_open(transaction).await?;
                endpoints::insert(transaction.conn(), id, created.fields.status == Status::Paused).await?;
            }
            Change::Updated(before, after) if after.fields.status != Status::Disabled => {
                if before.fields.url != after.fields.url {
                    endpoints::forget_what_it_told(transaction.conn(), id).await?;
                }
                if before.fields.status != after.fields.status {
                    follow_status(transaction, id, after.fields.status).await?;
                }
            }
            // A change to a webhook that is already disabled does not cancel its replays.
            Change::Updated(before, _) if before.fields.status == Status::Disabled => {}
            Change::Updated(..) | Change::Deleted(_) => {
                endpoints::set_paused(transaction.conn(), id, false).await?;
                replays::stop_replays(transaction.conn(), id, now).await?;
                cancellation::cancel_all(transaction.conn(), id, now).await?;
            }
        }
        Ok(())
    }
}

/// An endpoint begins anew when its webhook is enabled or resumed: time in which nothing was sent does not count as failing.
async fn follow_status(transaction: &mut RecordTransaction<Webhooks>, id: SubscriptionId, status: Status) -> Result<(), Problem> {
    if status == Status::Enabled {
        must_stay_open(transaction).await?;
    }
    endpoints::set_paused(transaction.conn(), id, status == Status::Paused).await?;
    if status == Status::Enabled {
        endpoints::reset_health(transaction.conn(), id).await?;
        endpoints::notify_resumed(transaction.conn()).await?;
    }
    Ok(())
}

/// Nothing may begin to be delivered for a company that was suspended or moved since the request was admitted.
async fn must_stay_open(transaction: &mut RecordTransaction<Webhooks>) -> Result<(), Problem> {
    let company = transaction.caller.company;
    companies::must_stay_open(transaction.conn(), company).await
}
