//! Test events: a real delivery to one subscription, so that its owner can see what will be sent.

use serde_json::json;

use crate::events::{self, NewEvent, names};
use crate::kernel::ids::{CompanyId, EventId, SubscriptionId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Edit, Record, Shown};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::subscription::{Status, Subscription, queries};

impl Webhooks {
    /// Publishes an event to this subscription alone, whether it subscribes to such events or not: `webhook.test`, which is about
    /// the webhook itself, or the sample of the event type given by `event`. The event's `additionalData` marks it as a test.
    pub(super) async fn send_test(&self, company: CompanyId, id: SubscriptionId, event: Option<&str>) -> Result<Shown<Delivery>, Problem> {
        let mut edit = Edit::begin(self, company).await?;
        let subscription = edit.lock::<Subscription>(id).await?;
        if subscription.fields.status == Status::Disabled {
            return Err(ProblemCode::WebhookDisabled.into());
        }
        let event = match event {
            Some(name) if name != names::WEBHOOK_TEST.as_str() => self.publish_sample(&mut edit, name).await?,
            _ => announce_itself(&mut edit, subscription).await?,
        };
        let now = edit.now;
        let delivery = queries::address_event(edit.conn(), event, id, now).await?;
        let shown = edit.show::<Delivery>(delivery).await?;
        edit.commit().await?;
        Ok(shown)
    }

    async fn publish_sample(&self, edit: &mut Edit<Self>, name: &str) -> Result<EventId, Problem> {
        let event_type = self.catalogue.named(name).map_err(|unknown| FieldErrors::one("event", unknown.to_string()))?;
        let mut data = event_type.sample.clone();
        data.entry("additionalData").or_insert_with(|| json!({}))["test"] = json!(true);
        // A test event is about no record, so it does not take part in the ordering of real events.
        let event = NewEvent { company: edit.company, name: event_type.name.clone(), subject: None, data };
        let now = edit.now;
        Ok(events::publish(edit.conn(), event, now).await?)
    }
}

async fn announce_itself(edit: &mut Edit<Webhooks>, subscription: Record<Subscription>) -> Result<EventId, Problem> {
    Ok(edit.announce(subscription, names::WEBHOOK_TEST, members! { "test": true }).await?)
}
