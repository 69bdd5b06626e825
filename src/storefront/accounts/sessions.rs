//! A customer's sessions. Each token is one session.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::routes::{self, Routes, describe};
use crate::storefront::state::Storefront;
use crate::storefront::{access::SignedInCustomer, tokens};

pub fn routes() -> Routes<Storefront> {
    let listing = describe("List the customer's sessions, the last used first.", object([("sessions", schema())]));
    let ending = describe("End a session.", routes::done()).at("id", "The id of the session.").refusing(&[ProblemCode::RecordNotFound]);
    Routes::none()
        .get("/customers/sessions", listing, list)
        .delete("/customers/sessions/{id}", ending, revoke)
        .post("/customers/logout", describe("End the session of this request.", routes::done()), logout)
        .post("/customers/logout-all", describe("End all sessions of the customer.", routes::done()), logout_all)
}

fn schema() -> Value {
    let instant = json!({ "type": "string", "format": "date-time" });
    let line = json!({ "type": ["string", "null"] });
    let session = object([
        ("id", json!({ "type": "string" })),
        ("current", json!({ "type": "boolean", "description": "Whether it is the session of this request." })),
        ("created_at", instant.clone()),
        ("last_used_at", instant.clone()),
        ("expires_at", instant),
        ("method", line.clone()),
        ("address", line.clone()),
        ("user_agent", line),
    ]);
    json!({ "type": "array", "items": session })
}

/// `GET customers/sessions`: lists the customer's sessions, most recently used first, with the method and the origin of each
/// sign-in.
async fn list(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    let sessions = tokens::list_tokens(&mut conn, caller.customer.id, storefront.clock.now()).await?;
    let shown = sessions.iter().map(|session| {
        json!({
            "id": session.id.to_string(),
            "current": session.id == caller.token,
            "created_at": timestamp(session.created_at),
            "last_used_at": timestamp(session.last_used_at),
            "expires_at": timestamp(session.expires_at),
            "method": session.method,
            "address": session.address,
            "user_agent": session.user_agent,
        })
    });
    Ok(Json(json!({ "sessions": shown.collect::<Vec<_>>() })))
}

/// `DELETE customers/sessions/{id}`: revokes one of the customer's own sessions.
async fn revoke(State(storefront): State<Storefront>, caller: SignedInCustomer, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let id = id.parse().map_err(|_| ProblemCode::RecordNotFound)?;
    let mut conn = storefront.pool.acquire().await?;
    if !tokens::revoke_token(&mut conn, caller.customer.id, id, storefront.clock.now()).await? {
        return Err(ProblemCode::RecordNotFound.into());
    }
    storefront.caches.sessions.invalidate(&id);
    Ok(Json(json!({ "status": "ok" })))
}

/// `POST customers/logout`: revokes the session of the request.
async fn logout(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    tokens::revoke_token(&mut conn, caller.customer.id, caller.token, storefront.clock.now()).await?;
    storefront.caches.sessions.invalidate(&caller.token);
    Ok(Json(json!({ "status": "ok" })))
}

/// `POST customers/logout-all`: revokes every session of the customer, including that of the request.
async fn logout_all(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    tokens::revoke_all_tokens(&mut conn, caller.customer.id, storefront.clock.now()).await?;
    storefront.caches.invalidate_customer(caller.customer.id);
    Ok(Json(json!({ "status": "ok" })))
}
