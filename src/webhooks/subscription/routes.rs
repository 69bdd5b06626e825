//! The routes of webhooks: the five, and those beside them (decisions, section 7).

use axum::extract::{FromRef, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::companies::{CallingCompany, Companies, Scope};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::resources::{Extension, Overlap, PathId};
use crate::webhooks::Webhooks;
use crate::webhooks::subscription::{DisabledReason, Subscription};

pub(in crate::webhooks) fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers")
        .editable::<Subscription>()
        .beside(Method::POST, "/webhooks/{uuid}/enable", "Send to a webhook again.", enable)
        .beside(Method::POST, "/webhooks/{uuid}/disable", "Send nothing more to a webhook.", disable)
        .beside(Method::POST, "/webhooks/{uuid}/rotate-secret", "Give a webhook another secret.", rotate_secret)
        .beside(Method::POST, "/webhooks/{uuid}/test", "Send a test event to a webhook.", test)
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
    let (mut webhook, secret) = webhooks.rotate_secret(caller.company, id, rotation.overlap.into()).await?;
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
