//! The routes of webhooks: the five conventional ones and the additional ones (decisions, section 7).

use axum::extract::{FromRef, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::companies::{CallingCompany, Companies, Scope};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::json::Json;
use crate::kernel::problem::Problem;
use crate::resources::{Extension, NoMembers, Overlap, PathId, Shown, Writing};
use crate::webhooks::Webhooks;
use crate::webhooks::subscription::{DisabledReason, SigningSecret, Subscription};

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
        .beside(Method::GET, "/webhooks/{uuid}/secret", "The secret of a webhook.", secret)
        .beside(Method::POST, "/webhooks/{uuid}/rotate-secret", "Give a webhook another secret.", rotate_secret)
        .beside(Method::POST, "/webhooks/{uuid}/test", "Send a test event to a webhook.", test)
}

async fn enable(
    Writing { room: webhooks, caller, id }: Writing<Subscription>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Response, Problem> {
    let webhook = webhooks.enable(caller.company, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn disable(
    Writing { room: webhooks, caller, id }: Writing<Subscription>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Response, Problem> {
    let webhook = webhooks.disable(caller.company, id, DisabledReason::Requested).await?;
    Ok(webhook.answer(StatusCode::OK))
}

/// Shows the secret again; requires [`Scope::Admin`].
async fn secret(State(webhooks): State<Webhooks>, caller: CallingCompany, PathId(id): PathId<SubscriptionId>) -> Result<Response, Problem> {
    caller.may(Scope::Admin)?;
    let (webhook, secret) = webhooks.reveal_secret(caller.company, id).await?;
    Ok(with_secret(webhook, &secret))
}

fn with_secret(mut webhook: Shown<Subscription>, secret: &SigningSecret) -> Response {
    webhook.members.insert("secret".to_owned(), secret.reveal().into());
    webhook.answer(StatusCode::OK)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rotation {
    /// Seconds for which the old secret continues to sign.
    #[serde(default)]
    overlap: Overlap,
}

async fn rotate_secret(
    Writing { room: webhooks, caller, id }: Writing<Subscription>,
    Json(rotation): Json<Rotation>,
) -> Result<Response, Problem> {
    let (webhook, secret) = webhooks.rotate_secret(caller.company, id, rotation.overlap.into()).await?;
    Ok(with_secret(webhook, &secret))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Test {
    /// The event whose sample is sent; `webhook.test` by default.
    event: Option<String>,
}

async fn test(Writing { room: webhooks, caller, id }: Writing<Subscription>, Json(test): Json<Test>) -> Result<Response, Problem> {
    let delivery = webhooks.send_test(caller.company, id, test.event.as_deref()).await?;
    Ok(delivery.answer(StatusCode::CREATED))
}
