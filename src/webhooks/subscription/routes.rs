//! The routes of webhooks: the five, and those beside them (decisions, section 7).

use axum::Router;
use axum::extract::{FromRef, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use chrono::TimeDelta;
use serde::Deserialize;

use crate::companies::{CallingCompany, Companies, Scope};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::resources::{self, PathId};
use crate::webhooks::Webhooks;
use crate::webhooks::subscription::{DisabledReason, Subscription};

pub(in crate::webhooks) fn routes<S>() -> Router<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    resources::routes::<Subscription, S>()
        .route("/webhooks/{uuid}/enable", post(enable))
        .route("/webhooks/{uuid}/disable", post(disable))
        .route("/webhooks/{uuid}/rotate-secret", post(rotate_secret))
        .route("/webhooks/{uuid}/test", post(test))
}

async fn enable(State(webhooks): State<Webhooks>, caller: CallingCompany, PathId(id): PathId<SubscriptionId>) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let webhook = webhooks.enable(caller.company, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn disable(
    State(webhooks): State<Webhooks>,
    caller: CallingCompany,
    PathId(id): PathId<SubscriptionId>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let webhook = webhooks.disable(caller.company, id, DisabledReason::Requested).await?;
    Ok(webhook.answer(StatusCode::OK))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// Seconds for which the old secret goes on signing.
    #[serde(default)]
    overlap: Overlap,
}

async fn rotate_secret(
    State(webhooks): State<Webhooks>,
    caller: CallingCompany,
    PathId(id): PathId<SubscriptionId>,
    body: Result<Json<Rotation>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let Json(rotation) = body?;
    let (mut webhook, secret) = webhooks.rotate_secret(caller.company, id, rotation.overlap.0).await?;
    webhook.members.insert("secret".to_owned(), secret.reveal().into());
    Ok(webhook.answer(StatusCode::OK))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    /// Whose sample is sent.
    event: Option<String>,
}

async fn test(
    State(webhooks): State<Webhooks>,
    caller: CallingCompany,
    PathId(id): PathId<SubscriptionId>,
    body: Result<Json<Test>, Problem>,
) -> Result<Response, Problem> {
    caller.may(Scope::Write)?;
    let Json(test) = body?;
    let delivery = webhooks.send_test(caller.company, id, test.event.as_deref()).await?;
    Ok(delivery.answer(StatusCode::CREATED))
}

/// How long an old secret goes on signing beside the new one: a day, unless somebody says otherwise.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "u32")]
struct Overlap(TimeDelta);

/// Longer than this nobody needs two secrets.
const LONGEST_OVERLAP: u32 = 30 * 86_400;

/// The number is no overlap.
#[derive(Debug, thiserror::Error)]
#[error("The overlap is at most {LONGEST_OVERLAP} seconds.")]
struct NotAnOverlap;

impl Default for Overlap {
    fn default() -> Self {
        Self(TimeDelta::days(1))
    }
}

impl TryFrom<u32> for Overlap {
    type Error = NotAnOverlap;

    fn try_from(seconds: u32) -> Result<Self, NotAnOverlap> {
        if seconds <= LONGEST_OVERLAP { Ok(Self(TimeDelta::seconds(seconds.into()))) } else { Err(NotAnOverlap) }
    }
}
