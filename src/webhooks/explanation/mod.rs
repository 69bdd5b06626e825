//! Why an event arrived at a webhook, or why not: the gates between the two, in order, and the one that stopped it.

mod gates;
mod routes;

use crate::callers::Caller;
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Resource, ResourceState, operations};
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::engine::whereabouts;
use crate::webhooks::explanation::gates::{Explanation, Facts};
use crate::webhooks::subscription::Subscription;
use crate::webhooks::{Webhooks, by_hand};

pub(super) use routes::extension;

impl Webhooks {
    /// Explains what became of an event on its way to a webhook.
    async fn explain(&self, caller: &Caller, event: EventId, webhook: SubscriptionId) -> Result<Explanation, Problem> {
        Delivery::require(caller, Delivery::reading())?;
        let subscription = operations::find::<Subscription>(self, caller, webhook).await?.record;
        let (mut conn, now) = (self.pool().acquire().await?, self.clock.now());
        by_hand::count(&mut conn, caller, &[webhook.uuid()], now).await?;
        let published = whereabouts::find_event(&mut conn, caller, event).await?.ok_or(ProblemCode::RecordNotFound)?;
        let whereabouts = whereabouts::find(&mut conn, caller.company, event, webhook).await?;
        let facts = Facts { webhook, registered_at: subscription.created_at, subscription: subscription.fields, published, whereabouts };
        Ok(facts.explain(now))
    }
}
