//! What others can do about an operator's access: send a link, remove a lost second factor, list and end sessions.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::companies::Authenticated;
use crate::developers::operators::OperatorRecord;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::OperatorSessionId;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::operators::{OperatorSession, Operators};
use crate::resources::{EmptyBody, PathId, Resource, WriteRequest};

fn done() -> Value {
    object([("status", json!({ "const": "ok" }))])
}

pub(super) fn send_link_doc() -> OperationDoc {
    OperationDoc::new("Mail an operator a link to choose a password.")
        .explained(
            "Requires the scope `admin`. It is the invitation again, or a reset for an operator who has accepted theirs. The mail \
                    before works no more once this one is sent. An address is mailed three invitations and links an hour."
                .to_owned(),
        )
        .taking_options(EmptyBody::schema())
        .answering(StatusCode::OK, done())
        .refusing(&[ProblemCode::ApiKeyTooStrong, ProblemCode::MessageNotSent])
}

/// `POST operators/{uuid}/send-link`
pub(super) async fn send_link(
    WriteRequest { state: operators, caller, id }: WriteRequest<OperatorRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Json<Value>, Problem> {
    operators.send_password_link(&caller, id).await?;
    Ok(Json(json!({ "status": "ok" })))
}

pub(super) fn reset_totp_doc() -> OperationDoc {
    OperationDoc::new("Remove an operator's second factor.")
        .explained("Requires the scope `admin`. For an operator who has lost it. Ends their sessions.".to_owned())
        .taking_options(EmptyBody::schema())
        .answering(StatusCode::OK, object([("status", json!({ "const": "ok" })), ("removed", json!({ "type": "boolean" }))]))
        .refusing(&[ProblemCode::ApiKeyTooStrong])
}

/// `POST operators/{uuid}/reset-totp`
pub(super) async fn reset_totp(
    WriteRequest { state: operators, caller, id }: WriteRequest<OperatorRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Json<Value>, Problem> {
    let removed = operators.reset_totp(&caller, id).await?;
    Ok(Json(json!({ "status": "ok", "removed": removed })))
}

pub(super) fn sessions_doc() -> OperationDoc {
    let (text, instant) = (json!({ "type": "string" }), json!({ "type": "string", "format": "date-time" }));
    let session = object([
        ("id", text.clone()),
        ("address", text.clone()),
        ("user_agent", text),
        ("method", json!({ "enum": ["password", "link", "oidc"] })),
        ("created_at", instant.clone()),
        ("last_used_at", instant),
    ]);
    OperationDoc::new("List the browsers in which an operator is signed in.")
        .explained("Requires the scope `admin`.".to_owned())
        .answering(StatusCode::OK, object([("sessions", json!({ "type": "array", "items": session }))]))
}

/// `GET operators/{uuid}/sessions`
pub(super) async fn sessions(
    State(operators): State<Operators>,
    authenticated: Authenticated,
    path: Result<PathId<<OperatorRecord as Resource>::Id>, Problem>,
) -> Result<Json<Value>, Problem> {
    OperatorRecord::require_reading(&authenticated.caller)?;
    let caller = authenticated.admitted().await?;
    let PathId(id) = path?;
    let show = |session: OperatorSession| {
        json!({
            "id": session.id,
            "address": session.address,
            "user_agent": session.user_agent,
            "method": session.method.as_str(),
            "created_at": timestamp(session.created_at),
            "last_used_at": timestamp(session.last_used_at),
        })
    };
    let sessions: Vec<_> = operators.list_sessions_of(&caller, id).await?.into_iter().map(show).collect();
    Ok(Json(json!({ "sessions": sessions })))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ending {
    /// The one to end; all without it.
    session: Option<OperatorSessionId>,
}

pub(super) fn end_sessions_doc() -> OperationDoc {
    let body = closed_object(&[], [("session", json!({ "type": ["string", "null"], "description": "The one to end. All without it." }))]);
    OperationDoc::new("End an operator's sessions.")
        .explained("Requires the scope `admin`.".to_owned())
        .taking_options(body)
        .answering(StatusCode::OK, object([("status", json!({ "const": "ok" })), ("ended", json!({ "type": "integer" }))]))
}

/// `POST operators/{uuid}/end-sessions`
pub(super) async fn end_sessions(
    WriteRequest { state: operators, caller, id }: WriteRequest<OperatorRecord>,
    JsonOptions(Ending { session }): JsonOptions<Ending>,
) -> Result<Json<Value>, Problem> {
    let ended = operators.end_sessions_of(&caller, id, session).await?;
    Ok(Json(json!({ "status": "ok", "ended": ended })))
}
