//! Test events: a real delivery to one subscription, so that its owner can see what will be sent.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::callers::{Caller, Owner};
use crate::events::{self, Catalogue, EventName, EventType, NewEvent};
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::kernel::openapi::closed_object;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::members;
use crate::resources::{Record, RecordTransaction, Resource, Shown};
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::engine::enqueue::enqueue;
use crate::webhooks::subscription::{self, Status, Subscription};
use crate::webhooks::{Webhooks, by_hand};

/// The member of the data that marks a test.
const MARKED: &str = "additionalData";

/// What is sent.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// The name of an event type; `webhook.test` by default.
    event: Option<String>,
    /// The `data` of the event, which must match the schema of its type; by default, the sample of the type. Its `additionalData.test` is
    /// set in either case.
    data: Option<Map<String, Value>>,
}

/// An event of another kind than the one about the webhook itself.
struct Sample {
    name: EventName,
    data: Map<String, Value>,
}

impl Test {
    /// The body of a request, as the API describes it.
    pub fn schema() -> Value {
        closed_object(
            &[],
            [
                ("event", json!({ "type": ["string", "null"], "default": subscription::TEST.as_str() })),
                (
                    "data",
                    json!({
                        "type": ["object", "null"],
                        "description": "Is sent in place of the sample of the event. It must match the schema of its data.",
                    }),
                ),
            ],
        )
    }

    /// What is sent, complete; `None` for a test that is about the webhook itself.
    fn resolve(self, catalogue: &Catalogue) -> Result<Option<Sample>, Problem> {
        let name = self.event.unwrap_or_else(|| subscription::TEST.as_str().to_owned());
        if name == subscription::TEST.as_str() && self.data.is_none() {
            return Ok(None);
        }
        let event_type = catalogue.named(&name).map_err(|unknown| FieldErrors::one("event", unknown.to_string()))?;
        let mut data = match self.data {
            None => event_type.sample.clone(),
            Some(data) => fitting(event_type, data)?,
        };
        match data.entry(MARKED).or_insert_with(|| json!({})) {
            Value::Object(additional) => additional.insert("test".to_owned(), json!(true)),
            _ => {
                return Err(FieldErrors::one(
                    &format!("data.{MARKED}"),
                    format!("{MARKED} must be an object: it marks the event as a test."),
                ));
            }
        };
        Ok(Some(Sample { name: event_type.name.clone(), data }))
    }
}

/// The data, if it matches the schema of the event type.
fn fitting(event_type: &EventType, data: Map<String, Value>) -> Result<Map<String, Value>, Problem> {
    let data = Value::Object(data);
    match (event_type.check(&data), data) {
        (Ok(()), Value::Object(data)) => Ok(data),
        (Err(unfit), _) if !unfit.path.is_empty() => Err(FieldErrors::one(&format!("data.{}", unfit.path), format!("{unfit}."))),
        (Err(unfit), _) => Err(FieldErrors::one("data", format!("{unfit}."))),
        (Ok(()), _) => unreachable!("it was created as an object above"),
    }
}

impl Webhooks {
    /// Publishes an event to this subscription alone, whether it subscribes to such events or not: `webhook.test`, which is about
    /// the webhook itself, or another event with the sample of its type or the data that was given. The event's `additionalData` marks it as a
    /// test.
    pub(super) async fn send_test(&self, caller: &Caller, id: SubscriptionId, test: Test) -> Result<Shown<Delivery>, Problem> {
        Subscription::require(caller, Subscription::writing())?;
        let test = test.resolve(&self.catalogue)?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let subscription = transaction.lock::<Subscription>(id).await?;
        match subscription.fields.status {
            Status::Enabled => {}
            // A test is made to see the answer now. Held, it would arrive amid real events, when nobody waits for it.
            Status::Paused => return Err(ProblemCode::WebhookPaused.into()),
            Status::Disabled => return Err(ProblemCode::WebhookDisabled.into()),
        }
        let now = transaction.now;
        by_hand::count(transaction.conn(), caller, &[id.uuid()], now).await?;
        let event = match test {
            Some(sample) => publish(&mut transaction, sample, subscription.fields.owner).await?,
            None => announce_itself(&mut transaction, subscription).await?,
        };
        let event = events::address(transaction.conn(), event, id).await?;
        let delivery = enqueue(transaction.conn(), &event, id, now).await?;
        let shown = transaction.show::<Delivery>(delivery).await?;
        transaction.commit().await?;
        Ok(shown)
    }
}

async fn publish(
    transaction: &mut RecordTransaction<Webhooks>,
    Sample { name, data }: Sample,
    owner: Option<Owner>,
) -> Result<EventId, Problem> {
    // A test event is about no record, so it does not take part in the ordering of real events.
    let (company, request, now) = (transaction.caller.company, transaction.caller.request, transaction.now);
    let event = NewEvent { company, name, subject: None, owner, request, trace: transaction.trace(), data: data.into() };
    Ok(events::publish(transaction.conn(), event, now).await?)
}

async fn announce_itself(transaction: &mut RecordTransaction<Webhooks>, subscription: Record<Subscription>) -> Result<EventId, Problem> {
    let event = transaction.event_about(subscription, subscription::TEST, members! { "test": true }).await?;
    let now = transaction.now;
    Ok(events::publish(transaction.conn(), event, now).await?)
}
