//! The routes of replays, and the route that cancels a delivery.

use axum::Json as Answer;
use axum::extract::{FromRef, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use crate::companies::{CallingCompany, Companies, Scope};
use crate::kernel::ids::EventId;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::resources::{Extension, Instant, NoMembers, PathId, Writing};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::replays::Asked;
use crate::webhooks::replays::replay::{Repeatable, Replay, Wanted};
use crate::webhooks::subscription::Subscription;

pub(in crate::webhooks) fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers")
        .read_only::<Replay>()
        .beside(Method::POST, "/webhooks/{uuid}/replay", "Repeat what a webhook was sent.", replay)
        .beside(Method::POST, "/deliveries/{uuid}/replay", "Repeat a delivery.", replay_delivery)
        .beside(Method::POST, "/deliveries/{uuid}/cancel", "Call a waiting delivery off.", cancel)
        .beside(Method::POST, "/events/{uuid}/replay", "Send an event again to every webhook that wants it.", replay_event)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    since: Instant,
    #[serde(default)]
    status: Repeatable,
    /// Return the number of matching deliveries without replaying them.
    #[serde(default)]
    dry_run: bool,
}

async fn replay(Writing { room: webhooks, caller, id }: Writing<Subscription>, Json(body): Json<Body>) -> Result<Response, Problem> {
    let wanted = Wanted { state: body.status, since: body.since.into() };
    Ok(match webhooks.replay(caller.company, id, wanted, body.dry_run).await? {
        Asked::Counted(count) => Answer(json!({ "replay": { "count": count, "dry_run": true } })).into_response(),
        Asked::Begun(replay) => replay.answer(StatusCode::ACCEPTED),
    })
}

async fn replay_delivery(
    Writing { room: webhooks, caller, id }: Writing<Delivery>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Response, Problem> {
    let delivery = webhooks.replay_delivery(caller.company, id).await?;
    Ok(delivery.answer(StatusCode::CREATED))
}

async fn cancel(
    Writing { room: webhooks, caller, id }: Writing<Delivery>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Response, Problem> {
    let delivery = webhooks.cancel(caller.company, id).await?;
    Ok(delivery.answer(StatusCode::OK))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfEvent {
    /// Return the number of deliveries without creating them.
    #[serde(default)]
    dry_run: bool,
}

async fn replay_event(
    State(webhooks): State<Webhooks>,
    caller: CallingCompany,
    PathId(id): PathId<EventId>,
    body: Result<Json<OfEvent>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let Json(OfEvent { dry_run }) = body?;
    let count = webhooks.replay_event(caller.company, id, dry_run).await?;
    let status = if dry_run { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Answer(json!({ "replay": { "event_id": id, "count": count, "dry_run": dry_run } }))).into_response())
}
