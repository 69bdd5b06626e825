//! Where the delivery of an event to an endpoint is, and what it waits for.

use chrono::{DateTime, Utc};

use crate::callers::{Caller, Owner};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, DeliveryId, EventId, SubscriptionId};

/// The delivery of an event to an endpoint: the first one, or the latest replay if there are any.
#[derive(Clone, Debug)]
pub struct Whereabouts {
    pub delivery: DeliveryId,
    /// The state, by its name in the log.
    pub state: String,
    /// Attempts begun.
    pub attempts: i16,
    /// When the next attempt may begin; `None` unless the delivery waits.
    pub due_at: Option<DateTime<Utc>>,
    pub is_replay: bool,
    /// The delivery that must end first, if this one waits in a chain.
    pub behind: Option<DeliveryId>,
    /// When the circuit of the endpoint lets attempts through again, if it is not closed.
    pub open_until: Option<DateTime<Utc>>,
    /// Until when the endpoint has asked to be left alone.
    pub silent_until: Option<DateTime<Utc>>,
    /// How the latest attempt ended.
    pub status: Option<i16>,
    pub error: Option<String>,
    pub reason: Option<String>,
}

/// Finds the delivery; `None` if there is none, or none any more.
pub async fn find(
    conn: &mut Connection,
    company: CompanyId,
    event: EventId,
    subscription: SubscriptionId,
) -> Result<Option<Whereabouts>, sqlx::Error> {
    sqlx::query_as!(
        Whereabouts,
        r#"with delivery as (
             select id, state, attempts, due_at, replay_of, created_at from delivery_log
             where company_id = $1 and event_id = $2 and subscription_id = $3
             order by created_at desc, id desc limit 1
         )
         select delivery.id as "delivery!: DeliveryId", delivery.state as "state!", delivery.attempts as "attempts!", delivery.due_at,
                delivery.replay_of is not null as "is_replay!",
                coalesce(
                    (select ahead.id from in_flight as ahead
                     where ahead.subscription_id = own.subscription_id and ahead.chain = own.chain limit 1),
                    (select ahead.id from waiting as ahead
                     where ahead.subscription_id = own.subscription_id and ahead.chain = own.chain and ahead.lane <> 2 limit 1)
                ) as "behind: DeliveryId",
                endpoints.open_until, endpoints.silent_until, last.status as "status?", last.error as "error?", last.reason as "reason?"
         from delivery
         join endpoints on endpoints.subscription_id = $3
         left join waiting as own on own.id = delivery.id and own.lane = 2
         left join lateral (
             select status, error, reason from attempts where attempts.delivery_id = delivery.id order by number desc limit 1
         ) as last on true"#,
        company.uuid(),
        event.uuid(),
        subscription.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// What explains why there is or is no delivery.
#[derive(Clone, Debug)]
pub struct Published {
    /// The name of the event.
    pub name: String,
    pub published_at: DateTime<Utc>,
    /// The only subscription that the event is for, such as that of a test.
    pub addressed_to: Option<SubscriptionId>,
    /// Who of the company's own customers the event is for.
    pub owner: Option<Owner>,
}

/// Finds an event that the caller may know of.
pub async fn find_event(conn: &mut Connection, caller: &Caller, event: EventId) -> Result<Option<Published>, sqlx::Error> {
    sqlx::query_as!(
        Published,
        r#"select event as "name!", created_at as "published_at!", addressed_to as "addressed_to: SubscriptionId",
                  event_log.owner as "owner: Owner"
           from event_log join event_stream using (id, company_id)
           where id = $1 and company_id = $2 and ($3::text is null or event_log.owner = $3)"#,
        event.uuid(),
        caller.company.uuid(),
        caller.grant.owner.as_ref().map(Owner::as_str),
    )
    .fetch_optional(conn)
    .await
}

/// Whether an event of one of these names was sent to the endpoint, or is on its way, and can still be sent to it. A test says nothing of anybody.
pub async fn has_any_of(conn: &mut Connection, subscription: SubscriptionId, events: &[String]) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (
             select from delivery_log join event_stream on event_stream.id = event_id
             where subscription_id = $1 and event = any($2) and addressed_to is null
         ) as "has_any!""#,
        subscription.uuid(),
        events,
    )
    .fetch_one(conn)
    .await
}
