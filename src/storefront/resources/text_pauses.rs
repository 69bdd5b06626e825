//! The SMS guard's own pauses: what is paused, until when and why; and resuming before that.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::companies::Authenticated;
use crate::kernel::ids::{StoreId, TextPauseId, TypedId};
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::Unread;
use crate::resources::{EmptyBody, FieldType, Instant};
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;

fn schema() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    let count = |description: &str| json!({ "type": "integer", "description": description });
    object([
        ("id", TextPauseId::json_schema()),
        ("uuid", json!({ "type": "string", "format": "uuid" })),
        ("store", StoreId::json_schema()),
        ("scope", json!({ "enum": ["range", "country", "store"], "description": "What is paused." })),
        ("name", text("The number range, or the country (ISO 3166); empty for all countries where the store has no customers.")),
        ("reason", text("Why, for operators.")),
        ("texted", count("The codes that were judged.")),
        ("used", count("How many of them were used.")),
        ("paused_at", Instant::schema()),
        ("paused_until", Instant::schema()),
        ("resumed_at", json!({ "type": ["string", "null"], "format": "date-time", "description": "When it was ended." })),
    ])
}

/// The description of `GET texts/pauses`.
pub(super) fn list_doc() -> OperationDoc {
    OperationDoc::new("List what the SMS guard has paused by itself, the latest pause first: at most a thousand.")
        .answering(StatusCode::OK, object([("pauses", json!({ "type": "array", "items": schema() }))]))
}

/// `GET texts/pauses`
pub(super) async fn list(State(storefront): State<Storefront>, authenticated: Authenticated) -> Result<Json<Value>, Problem> {
    authenticated.caller.require(Area::Integration, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let pauses = sms_guard::list_lasting(&mut storefront.pool.acquire().await?, caller.company, storefront.clock.now()).await?;
    let pauses: Vec<_> = pauses.iter().map(sms_guard::TextPause::present).collect();
    Ok(Json(json!({ "pauses": pauses })))
}

/// The description of `POST texts/pauses/{uuid}/resume`.
pub(super) fn resume_doc() -> OperationDoc {
    OperationDoc::new("Resume what the SMS guard has paused. What it has learnt stays: the next pause is longer.")
        .taking_options(EmptyBody::schema())
        .answering(StatusCode::OK, object([("pause", schema())]))
        .refusing(&[ProblemCode::RecordNotFound])
}

/// `POST texts/pauses/{uuid}/resume`
pub(super) async fn resume(
    State(storefront): State<Storefront>,
    caller: Caller,
    Path(id): Path<String>,
    body: Unread<JsonOptions<EmptyBody>>,
) -> Result<Json<Value>, Problem> {
    caller.require(Area::Integration, Scope::Write)?;
    let JsonOptions(EmptyBody {}) = body.read().await?;
    let id: TextPauseId = id.parse().map_err(|_| ProblemCode::RecordNotFound)?;
    let ended = sms_guard::resume(&mut storefront.pool.acquire().await?, &caller, id, storefront.clock.now()).await?;
    let ended = ended.ok_or(ProblemCode::RecordNotFound)?;
    Ok(Json(json!({ "pause": ended.present() })))
}
