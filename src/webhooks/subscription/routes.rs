//! The routes of webhooks: the five conventional ones and the additional ones (decisions, section 7).

use axum::extract::{FromRef, State};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use serde::Deserialize;

use crate::companies::{Authenticated, Companies};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, closed_object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{EmptyBody, Extension, GracePeriod, PathId, Resource, Shown, WriteRequest};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::endpoint::SigningSecret;
use crate::webhooks::subscription::Subscription;
use crate::webhooks::subscription::test_event::Test;

pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let doc = |sentence| OperationDoc::new(sentence).showing(StatusCode::OK, Subscription::SINGULAR);
    let rotation = closed_object(&[], [("overlap", GracePeriod::schema())]);
    let testing = OperationDoc::new("Send a test event to a webhook.").showing(StatusCode::CREATED, Delivery::SINGULAR);
    let testing = testing.taking_options(Test::schema()).refusing(&[ProblemCode::WebhookDisabled, ProblemCode::WebhookPaused]);
    let resuming = doc("Resume a webhook: what was held while it was paused is sent.").refusing(&[ProblemCode::WebhookDisabled]);
    Extension::new("developers")
        .editable::<Subscription>()
        .route(Method::POST, "/webhooks/{uuid}/enable", doc("Enable a webhook.").taking_options(EmptyBody::schema()), enable)
        .route(
            Method::POST,
            "/webhooks/{uuid}/pause",
            doc("Pause a webhook: its deliveries are held.").taking_options(EmptyBody::schema()),
            pause,
        )
        .route(Method::POST, "/webhooks/{uuid}/resume", resuming.taking_options(EmptyBody::schema()), resume)
        .route(Method::POST, "/webhooks/{uuid}/disable", doc("Disable a webhook.").taking_options(EmptyBody::schema()), disable)
        .route(Method::GET, "/webhooks/{uuid}/secret", doc("Show the signing secret of a webhook."), secret)
        .route(
            Method::POST,
            "/webhooks/{uuid}/rotate-secret",
            doc("Rotate the signing secret of a webhook.").taking_options(rotation),
            rotate_secret,
        )
        .route(Method::POST, "/webhooks/{uuid}/test", testing, test)
}

async fn enable(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    let webhook = webhooks.enable(&caller, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn pause(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    let webhook = webhooks.pause(&caller, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn resume(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    let webhook = webhooks.resume(&caller, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn disable(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Response, Problem> {
    let webhook = webhooks.disable(&caller, id).await?;
    Ok(webhook.answer(StatusCode::OK))
}

async fn secret(
    State(webhooks): State<Webhooks>,
    authenticated: Authenticated,
    PathId(id): PathId<SubscriptionId>,
) -> Result<Response, Problem> {
    Subscription::require(&authenticated.caller, Subscription::administering())?;
    let caller = authenticated.admitted().await?;
    let (webhook, secret) = webhooks.reveal_secret(&caller, id).await?;
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
    overlap: GracePeriod,
}

async fn rotate_secret(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(rotation): JsonOptions<Rotation>,
) -> Result<Response, Problem> {
    let (webhook, secret) = webhooks.rotate_secret(&caller, id, rotation.overlap.into()).await?;
    Ok(with_secret(webhook, &secret))
}

async fn test(
    WriteRequest { state: webhooks, caller, id }: WriteRequest<Subscription>,
    JsonOptions(test): JsonOptions<Test>,
) -> Result<Response, Problem> {
    let delivery = webhooks.send_test(&caller, id, test).await?;
    Ok(delivery.answer(StatusCode::CREATED))
}
