//! Test events: a real delivery to one subscription, so that its owner can see what will be sent.

use serde_json::json;

use crate::callers::{Caller, Owner};
use crate::events::{self, NewEvent};
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Record, RecordTransaction, Resource, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::engine::enqueue::enqueue;
use crate::webhooks::subscription::{self, Status, Subscription};

impl Webhooks {
    /// Publishes an event to this subscription alone, whether it subscribes to such events or not: `webhook.test`, which is about
    /// the webhook itself, or the sample of the event type given by `event`. The event's `additionalData` marks it as a test.
    pub(super) async fn send_test(&self, caller: &Caller, id: SubscriptionId, event: Option<&str>) -> Result<Shown<Delivery>, Problem> {
        Subscription::require(caller, Subscription::WRITING)?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let subscription = transaction.lock::<Subscription>(id).await?;
        match subscription.fields.status {
            Status::Enabled => {}
            // A test is made to see the answer now. Held, it would arrive amid real events, when nobody waits for it.
            Status::Paused => return Err(ProblemCode::WebhookPaused.into()),
            Status::Disabled => return Err(ProblemCode::WebhookDisabled.into()),
        }
        let event = match event {
            Some(name) if name != subscription::TEST.as_str() => {
                self.publish_sample(&mut transaction, name, subscription.fields.owner).await?
            }
            _ => announce_itself(&mut transaction, subscription).await?,
        };
        let now = transaction.now;
        let event = events::address(transaction.conn(), event, id).await?;
        let delivery = enqueue(transaction.conn(), &event, id, now).await?;
        let shown = transaction.show::<Delivery>(delivery).await?;
        transaction.commit().await?;
        Ok(shown)
    }

    async fn publish_sample(
        &self,
        transaction: &mut RecordTransaction<Self>,
        name: &str,
        owner: Option<Owner>,
    ) -> Result<EventId, Problem> {
        let event_type = self.catalogue.named(name).map_err(|unknown| FieldErrors::one("event", unknown.to_string()))?;
        let mut data = event_type.sample.clone();
        data.entry("additionalData").or_insert_with(|| json!({}))["test"] = json!(true);
        // A test event is about no record, so it does not take part in the ordering of real events.
        let (company, request) = (transaction.caller.company, transaction.caller.request);
        let event = NewEvent { company, name: event_type.name.clone(), subject: None, owner, request, data };
        let now = transaction.now;
        Ok(events::publish(transaction.conn(), event, now).await?)
    }
}

async fn announce_itself(transaction: &mut RecordTransaction<Webhooks>, subscription: Record<Subscription>) -> Result<EventId, Problem> {
    Ok(transaction.announce(subscription, subscription::TEST, members! { "test": true }).await?)
}
