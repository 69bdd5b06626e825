//! A customer's sessions. Each token is one session.

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{SessionId, TypedId};
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::ending;
use crate::storefront::audit::DeviceName;
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::state::Storefront;
use crate::storefront::tokens::{self, ListedSession};

const PARAMETERS: QueryParameters = &[
    ("limit", "Sessions per page: 25 by default, at most 100."),
    ("after", "The session that the page goes on after: meta.next of the page before."),
];

pub fn routes() -> Routes<Storefront> {
    let meta = object([("per_page", json!({ "type": "integer" })), ("next", json!({ "type": ["string", "null"] }))]);
    let listed = object([("sessions", json!({ "type": "array", "items": schema() })), ("meta", meta)]);
    let listing = describe("List the customer's sessions, the last used first.", listed).taking_query(PARAMETERS);
    let listing = listing.refusing(&[ProblemCode::ParameterInvalid]);
    let naming =
        describe("Name the device of a session, or with null take the name back.", routes::done()).at("id", "The id of the session.");
    let naming = naming.refusing(&[ProblemCode::RecordNotFound]);
    let ending = describe("End a session.", routes::done()).at("id", "The id of the session.").refusing(&[ProblemCode::RecordNotFound]);
    Routes::none()
        .get("/customers/sessions", listing, list)
        .put("/customers/sessions/{id}", naming, name)
        .delete("/customers/sessions/{id}", ending, end)
        .post("/customers/logout", describe("End the session of this request.", routes::done()), logout)
        .post("/customers/logout-all", describe("End all sessions of the customer.", routes::done()), logout_all)
}

fn schema() -> Value {
    let instant = json!({ "type": "string", "format": "date-time" });
    let line = json!({ "type": ["string", "null"] });
    object([
        ("id", SessionId::json_schema()),
        ("current", json!({ "type": "boolean", "description": "Whether it is the session of this request." })),
        ("device_name", line.clone()),
        ("created_at", instant.clone()),
        ("last_used_at", instant.clone()),
        ("expires_at", instant),
        ("method", line.clone()),
        ("address", line.clone()),
        ("user_agent", line),
    ])
}

#[derive(Deserialize)]
struct Page {
    limit: Option<u8>,
    after: Option<String>,
}

impl Page {
    /// The session that the page goes on after, and how many there are at most.
    fn read(asked: Result<Query<Self>, QueryRejection>) -> Result<(Option<SessionId>, u8), Problem> {
        let invalid = |detail: String| Problem::new(ProblemCode::ParameterInvalid).detail(detail);
        let Query(Self { limit, after }) = asked.map_err(|error| invalid(error.body_text()))?;
        let limit = limit.unwrap_or(25);
        if !(1..=100).contains(&limit) {
            return Err(invalid("limit must be a number from 1 to 100.".to_owned()));
        }
        let after = after.map(|after| after.parse().map_err(|_| invalid("after must be the id of a session.".to_owned()))).transpose()?;
        Ok((after, limit))
    }
}

/// `GET customers/sessions`: lists the customer's sessions, most recently used first, with the method and the origin of each
/// sign-in.
async fn list(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    asked: Result<Query<Page>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let (after, limit) = Page::read(asked)?;
    let mut conn = storefront.pool.acquire().await?;
    let page = (after, i64::from(limit) + 1);
    let mut sessions = tokens::list_tokens(&mut conn, caller.customer.id, page, storefront.clock.now()).await?;
    let has_more = sessions.len() > usize::from(limit);
    sessions.truncate(limit.into());
    let next = sessions.last().filter(|_| has_more).map(|last| last.id);
    let shown: Vec<_> = sessions.into_iter().map(|session| present(session, caller.session)).collect();
    Ok(Json(json!({ "sessions": shown, "meta": { "per_page": limit, "next": next } })))
}

fn present(session: ListedSession, current: SessionId) -> Value {
    json!({
        "id": session.id,
        "current": session.id == current,
        "device_name": session.device_name,
        "created_at": timestamp(session.created_at),
        "last_used_at": timestamp(session.last_used_at),
        "expires_at": timestamp(session.expires_at),
        "method": session.method,
        "address": session.address,
        "user_agent": session.user_agent,
    })
}

body! {
    /// `PUT customers/sessions/{id}`
    #[derive(Debug)]
    struct NameRequest {
        /// What the customer calls the device: up to 64 characters. `null` takes the name back.
        device_name: Option<DeviceName>,
    }
}

/// `PUT customers/sessions/{id}`: names the device of one of the customer's own sessions.
async fn name(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    Path(id): Path<String>,
    JsonBody(request): JsonBody<NameRequest>,
) -> Result<Json<Value>, Problem> {
    let id = read_id(&id)?;
    let name = request.device_name.as_ref().map(DeviceName::as_str);
    let mut conn = storefront.pool.acquire().await?;
    match tokens::name_device(&mut conn, caller.customer.id, id, name, storefront.clock.now()).await? {
        true => Ok(Json(json!({ "status": "ok" }))),
        false => Err(ProblemCode::RecordNotFound.into()),
    }
}

fn read_id(text: &str) -> Result<SessionId, Problem> {
    text.parse().map_err(|_| ProblemCode::RecordNotFound.into())
}

/// `DELETE customers/sessions/{id}`: ends one of the customer's own sessions.
async fn end(State(storefront): State<Storefront>, caller: SignedInCustomer, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let id = read_id(&id)?;
    let mut conn = storefront.pool.acquire().await?;
    let ended = ending::end_session(&mut conn, caller.customer.id, id, storefront.clock.now()).await?;
    storefront.caches.sessions.invalidate(&ended.ok_or(ProblemCode::RecordNotFound)?);
    Ok(Json(json!({ "status": "ok" })))
}

/// `POST customers/logout`: ends the session of the request.
async fn logout(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    ending::end_session(&mut conn, caller.customer.id, caller.session, storefront.clock.now()).await?;
    storefront.caches.sessions.invalidate(&caller.token);
    Ok(Json(json!({ "status": "ok" })))
}

/// `POST customers/logout-all`: ends every session of the customer, including that of the request.
async fn logout_all(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    ending::end_all(&mut conn, caller.customer.id, storefront.clock.now()).await?;
    storefront.caches.invalidate_customer(caller.customer.id);
    Ok(Json(json!({ "status": "ok" })))
}
