//! The customer's own passkeys: listed, named, resumed and removed.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{CustomerId, PasskeyId, TypedId};
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::{FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::passkeys::tell;
use crate::storefront::accounts::{social, ways_in};
use crate::storefront::audit::DeviceName;
use crate::storefront::customers::Customer;
use crate::storefront::messages::Notice;
use crate::storefront::passkeys::{self, OwnPasskey};
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::state::Storefront;

pub(super) fn routes() -> Routes<Storefront> {
    let listing = describe("List the customer's passkeys, the oldest first.", object([("passkeys", passkeys_schema())]));
    let of_one = |summary| describe(summary, routes::done()).at("id", "The id of the passkey.").refusing(&[ProblemCode::RecordNotFound]);
    let removing = of_one("Remove a passkey, which then no longer opens the account.").refusing(&[ProblemCode::LastWayIn]);
    Routes::none()
        .get("/customers/passkeys", listing, list)
        .put("/customers/passkeys/{id}", of_one("Name a passkey."), name)
        .delete("/customers/passkeys/{id}", removing, remove)
        .post("/customers/passkeys/{id}/resume", of_one("Confirm that a suspended passkey is the customer's, and use it again."), resume)
}

pub fn passkeys_schema() -> Value {
    let instant = |or_none: bool| {
        let kinds = if or_none { json!(["string", "null"]) } else { json!("string") };
        json!({ "type": kinds, "format": "date-time" })
    };
    let passkey = object([
        ("id", PasskeyId::json_schema()),
        ("name", json!({ "type": "string" })),
        ("state", json!({ "enum": ["active", "suspended"], "description": "A suspended passkey signs nobody in until it is resumed." })),
        ("backed_up", json!({ "type": "boolean", "description": "Whether it is on several devices." })),
        ("created_at", instant(false)),
        ("last_used_at", instant(true)),
    ]);
    json!({ "type": "array", "items": passkey })
}

/// The passkeys of a customer as responses show them, oldest first.
pub async fn show_passkeys(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    let present = |passkey: OwnPasskey| {
        json!({
            "id": passkey.id,
            "name": passkey.name,
            "state": if passkey.is_suspended { "suspended" } else { "active" },
            "backed_up": passkey.backed_up,
            "created_at": timestamp(passkey.created_at),
            "last_used_at": passkey.last_used_at.map(timestamp),
        })
    };
    Ok(passkeys::list_passkeys(conn, customer).await?.into_iter().map(present).collect())
}

/// `GET customers/passkeys`
async fn list(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({ "passkeys": show_passkeys(&mut storefront.pool.acquire().await?, caller.customer.id).await? })))
}

fn id_of(path: &str) -> Result<PasskeyId, Problem> {
    path.parse().map_err(|_| ProblemCode::RecordNotFound.into())
}

body! {
    /// `PUT customers/passkeys/{id}`
    #[derive(Debug)]
    struct NamedPasskey {
        /// What the customer calls it.
        name: DeviceName,
    }
}

/// `PUT customers/passkeys/{id}`
async fn name(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    Path(id): Path<String>,
    JsonBody(named): JsonBody<NamedPasskey>,
) -> Result<Json<Value>, Problem> {
    let (id, mut conn) = (id_of(&id)?, storefront.pool.acquire().await?);
    match passkeys::rename_passkey(&mut conn, caller.customer.id, id, named.name.as_str()).await? {
        true => Ok(Json(json!({ "status": "ok" }))),
        false => Err(ProblemCode::RecordNotFound.into()),
    }
}

/// `POST customers/passkeys/{id}/resume`
async fn resume(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    languages: AcceptedLanguages,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let (id, this) = (id_of(&id)?, storefront.clone());
    let resuming = async move {
        let (customer, name) = repeated(async || {
            let mut tx = this.pool.begin().await?;
            let customer = caller.lock(&mut tx).await?;
            let name = passkeys::resume_passkey(&mut tx, customer.id, id).await?.ok_or(ProblemCode::RecordNotFound)?;
            tx.commit().await?;
            Ok::<_, Problem>((customer, name))
        })
        .await?;
        tell(&this, (&customer, &caller.store), &languages, (Notice::PasskeyAdded, &name)).await;
        Ok(Json(json!({ "status": "ok" })))
    };
    storefront.lifecycle.finish(resuming).await
}

/// `DELETE customers/passkeys/{id}`
async fn remove(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    languages: AcceptedLanguages,
    Path(id): Path<String>,
) -> Result<Json<Value>, Problem> {
    let (id, this) = (id_of(&id)?, storefront.clone());
    let removing = async move {
        let (customer, name) = repeated(|| remove_unless_last(&this, &caller, id)).await?;
        tell(&this, (&customer, &caller.store), &languages, (Notice::PasskeyRemoved, &name)).await;
        Ok(Json(json!({ "status": "ok" })))
    };
    storefront.lifecycle.finish(removing).await
}

/// Removes a passkey, unless nothing else opens the account. Returns whose it was, and its name.
async fn remove_unless_last(storefront: &Storefront, caller: &SignedInCustomer, id: PasskeyId) -> Result<(Customer, String), Problem> {
    // Before there is a transaction: it may take a connection of its own.
    let providers = storefront.company_providers.of(caller.company_id()).await?;
    let mut tx = storefront.pool.begin().await?;
    let customer = caller.lock(&mut tx).await?;
    let name = passkeys::remove_passkey(&mut tx, customer.id, id).await?.ok_or(ProblemCode::RecordNotFound)?;
    let has_passkey = passkeys::is_way_in(&mut tx, &caller.store, customer.id).await?;
    let links = social::list_links(&mut tx, customer.id).await?;
    if !ways_in::remain(&customer, has_passkey, &providers, links.iter()) {
        return Err(ProblemCode::LastWayIn.into());
    }
    tx.commit().await?;
    Ok((customer, name))
}
