//! The routes of replays, and the route that cancels a delivery.

use axum::Json;
use axum::extract::{FromRef, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::callers::Caller;
use crate::companies::Companies;
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::kernel::json::{JsonBody, JsonOptions};
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::resources::{EmptyBody, Extension, FieldType, Instant, Line, PathId, Reference, Resource, WriteRequest};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::delivery_state::Repeatable;
use crate::webhooks::replays::keys::Key;
use crate::webhooks::replays::replay::{Replay, ReplayRequest};
use crate::webhooks::subscription::EventFilter;

pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let cancelling =
        OperationDoc::new("Cancel a delivery.").taking_options(EmptyBody::schema()).showing(StatusCode::OK, Delivery::SINGULAR);
    Extension::new("developers")
        .read_only::<Replay>()
        .route(Method::POST, "/webhooks/{uuid}/replay", replay_doc(), replay)
        .route(Method::POST, "/deliveries/{uuid}/replay", replay_delivery_doc(), replay_delivery)
        .route(Method::POST, "/deliveries/{uuid}/cancel", cancelling.refusing(&[ProblemCode::DeliveryClosed]), cancel)
        .route(Method::POST, "/events/{uuid}/replay", replay_event_doc(), replay_event)
}

fn replay_doc() -> OperationDoc {
    let body = [
        ("since", Instant::schema()),
        ("until", Option::<Instant>::schema()),
        ("status", Repeatable::schema()),
        ("events", EventFilter::schema()),
        ("dry_run", json!({ "type": "boolean" })),
        ("idempotency_key", Option::<Line<255>>::schema()),
    ];
    OperationDoc::new("Replay deliveries of a webhook, once per `idempotency_key`.")
        .taking_body(closed_object(&["since"], body))
        .showing(StatusCode::OK, Replay::SINGULAR)
        .showing(StatusCode::ACCEPTED, Replay::SINGULAR)
        .refusing(&[ProblemCode::ReplayUnderWay, ProblemCode::IdempotencyKeyUsed])
}

fn replay_delivery_doc() -> OperationDoc {
    OperationDoc::new("Replay a delivery, once per `idempotency_key`.")
        .taking_options(closed_object(&[], [("idempotency_key", Option::<Line<255>>::schema())]))
        .showing(StatusCode::OK, Delivery::SINGULAR)
        .showing(StatusCode::CREATED, Delivery::SINGULAR)
        .refusing(&[ProblemCode::DeliveryOpen, ProblemCode::IdempotencyKeyUsed])
}

fn replay_event_doc() -> OperationDoc {
    let body = [("dry_run", json!({ "type": "boolean" })), ("idempotency_key", Option::<Line<255>>::schema())];
    let replay =
        [("event_id", Reference::<EventId>::schema()), ("count", json!({ "type": "integer" })), ("dry_run", json!({ "type": "boolean" }))];
    let answer = object([("replay", object(replay))]);
    OperationDoc::new("Replay an event to every webhook that subscribes to it, once per `idempotency_key`.")
        .taking_options(closed_object(&[], body))
        .answering(StatusCode::OK, answer.clone())
        .answering(StatusCode::CREATED, answer)
        .refusing(&[ProblemCode::IdempotencyKeyUsed])
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    since: Instant,
    until: Option<Instant>,
    #[serde(default)]
    status: Repeatable,
    #[serde(default)]
    events: EventFilter,
    /// Return the number of matching deliveries without replaying them.
    #[serde(default)]
    dry_run: bool,
    idempotency_key: Option<Line<255>>,
}

async fn replay(
    State(webhooks): State<Webhooks>,
    caller: Caller,
    PathId(id): PathId<SubscriptionId>,
    body: Unread<JsonBody<Body>>,
) -> Result<Response, Problem> {
    // It repeats deliveries and changes nothing of the webhook.
    Delivery::require(&caller, Delivery::writing())?;
    let JsonBody(body) = body.read().await?;
    let request = ReplayRequest { state: body.status, since: body.since.into(), until: body.until.map(Into::into), events: body.events };
    if request.until.is_some_and(|until| until < request.since) {
        return Err(FieldErrors::one("until", "The end must not be before the beginning."));
    }
    request.events.check(&webhooks.catalogue).map_err(|unknown| FieldErrors::one("events", unknown.to_string()))?;
    if body.dry_run {
        let count = webhooks.count_repeated(&caller, id, &request).await?;
        return Ok(Json(json!({ "replay": { "count": count, "dry_run": true } })).into_response());
    }
    let key = body.idempotency_key.map(|key| Key::new(&caller, key, &request.identity(id)));
    let replay = webhooks.replay(&caller, id, request, key).await?;
    let status = replay.status(StatusCode::ACCEPTED);
    Ok(replay.made.answer(status))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfDelivery {
    idempotency_key: Option<Line<255>>,
}

async fn replay_delivery(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Delivery>,
    JsonOptions(body): JsonOptions<OfDelivery>,
) -> Result<Response, Problem> {
    let key = body.idempotency_key.map(|key| Key::new(&caller, key, &json!([id])));
    let delivery = webhooks.replay_delivery(&caller, id, key).await?;
    let status = delivery.status(StatusCode::CREATED);
    Ok(delivery.made.answer(status))
}

async fn cancel(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Delivery>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    let delivery = webhooks.cancel(&caller, id).await?;
    Ok(delivery.answer(StatusCode::OK))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventReplayBody {
    /// Return the number of deliveries without creating them.
    #[serde(default)]
    dry_run: bool,
    idempotency_key: Option<Line<255>>,
}

async fn replay_event(
    State(webhooks): State<Webhooks>,
    caller: Caller,
    PathId(id): PathId<EventId>,
    body: Unread<JsonOptions<EventReplayBody>>,
) -> Result<Response, Problem> {
    Delivery::require(&caller, Delivery::writing())?;
    let JsonOptions(EventReplayBody { dry_run, idempotency_key }) = body.read().await?;
    let key = idempotency_key.map(|key| Key::new(&caller, key, &json!([id])));
    let made = webhooks.replay_event(&caller, id, dry_run, key).await?;
    let status = if dry_run { StatusCode::OK } else { made.status(StatusCode::CREATED) };
    Ok((status, Json(json!({ "replay": { "event_id": id, "count": made.made, "dry_run": dry_run } }))).into_response())
}
