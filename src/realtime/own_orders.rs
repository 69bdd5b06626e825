//! `GET customers/orders`: what the customer has ordered, also without an account.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::fleet::orders::{FollowedOrder, Follower};
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{OrderId, TypedId};
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::realtime::state::Realtime;
use crate::resources::{Cursor, Direction};
use crate::storefront::{self, ProvenContacts, SignedInCustomer};

const PER_PAGE: u8 = 25;
const MAX_PER_PAGE: u8 = 100;
const PARAMETERS: QueryParameters =
    &[("limit", "Orders per page: 25 by default, at most 100."), ("after", "Where the page goes on: meta.next of the page before.")];

pub(super) fn doc() -> OperationDoc {
    let meta = object([("per_page", json!({ "type": "integer" })), ("next", json!({ "type": ["string", "null"] }))]);
    let answer = object([("orders", json!({ "type": "array", "items": schema() })), ("meta", meta)]);
    let doc = storefront::describe("List the customer's orders, the newest first.", answer);
    doc.taking_query(PARAMETERS).refusing(&[ProblemCode::ParameterInvalid])
}

fn schema() -> Value {
    let line = json!({ "type": ["string", "null"] });
    let instant = json!({ "type": ["string", "null"], "format": "date-time" });
    object([
        ("id", OrderId::json_schema()),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("internal_id", line.clone()),
        ("type", line.clone()),
        ("status", json!({ "type": "string" })),
        ("tracking_number", json!({ "type": "string" })),
        ("payload", object([("pickup", line.clone()), ("dropoff", line.clone())])),
        (
            "driver",
            json!({ "type": ["string", "null"], "description": "Who carries it, while it is open: for the channel `driver.<id>`." }),
        ),
        (
            "vehicle",
            json!({ "type": ["string", "null"], "description": "What carries it, while it is open: for the channel `vehicle.<id>`." }),
        ),
        ("guest", json!({ "type": "boolean", "description": "Whether it was placed without an account." })),
        ("scheduled_at", instant.clone()),
        ("dispatched_at", instant.clone()),
        ("started_at", instant.clone()),
        ("completed_at", instant.clone()),
        ("cancelled_at", instant.clone()),
        ("failed_at", instant.clone()),
        ("created_at", instant.clone()),
        ("updated_at", instant),
    ])
}

/// The part of the list that is asked for.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    limit: Option<u8>,
    after: Option<String>,
}

impl Page {
    /// Where the page begins, and how many orders it has at most.
    fn read(asked: Result<Query<Self>, QueryRejection>) -> Result<(Option<Cursor>, u8), Problem> {
        let invalid = |detail: String| Problem::new(ProblemCode::ParameterInvalid).detail(detail);
        let Query(Self { limit, after }) = asked.map_err(|error| invalid(error.body_text()))?;
        let limit = limit.unwrap_or(PER_PAGE);
        if !(1..=MAX_PER_PAGE).contains(&limit) {
            return Err(invalid(format!("limit must be a number from 1 to {MAX_PER_PAGE}.")));
        }
        let read = |text: String| Cursor::decode(&text).filter(|cursor| cursor.direction == Direction::NewestFirst);
        let after = after.map(|text| read(text).ok_or_else(|| invalid("after must be meta.next of another page.".to_owned())));
        Ok((after.transpose()?, limit))
    }
}

/// `GET customers/orders`
pub(super) async fn list(
    State(realtime): State<Realtime>,
    caller: SignedInCustomer,
    asked: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let (after, limit) = Page::read(asked)?;
    let mut conn = realtime.pool.acquire().await?;
    let ProvenContacts { email, phone } = storefront::find_proven_contacts(&mut conn, caller.customer_id()).await?;
    let follower = Follower { company: caller.company_id(), customer: caller.customer_id(), email, phone };
    let mut orders = follower.list_orders(&mut conn, after, i64::from(limit) + 1).await?;
    let has_more = orders.len() > usize::from(limit);
    orders.truncate(limit.into());
    let next = orders.last().filter(|_| has_more).map(|last| Cursor::new(Direction::NewestFirst, last.created_at, last.id.uuid()).encode());
    let shown: Vec<_> = orders.into_iter().map(present).collect();
    Ok(Json(json!({ "orders": shown, "meta": { "per_page": limit, "next": next } })))
}

fn present(order: FollowedOrder) -> Value {
    let instant = |at: Option<DateTime<Utc>>| at.map(timestamp);
    let is_open = order.status.is_open();
    json!({
        "id": order.id,
        "uuid": order.id.uuid(),
        "internal_id": order.internal_id,
        "type": order.kind,
        "status": order.status,
        "tracking_number": order.tracking_number,
        "payload": { "pickup": order.pickup, "dropoff": order.dropoff },
        "driver": order.driver_id.filter(|_| is_open),
        "vehicle": order.vehicle_id.filter(|_| is_open),
        "guest": !order.is_of_account,
        "scheduled_at": instant(order.scheduled_at),
        "dispatched_at": instant(order.dispatched_at),
        "started_at": instant(order.started_at),
        "completed_at": instant(order.completed_at),
        "cancelled_at": instant(order.cancelled_at),
        "failed_at": instant(order.failed_at),
        "created_at": timestamp(order.created_at),
        "updated_at": timestamp(order.updated_at),
    })
}
