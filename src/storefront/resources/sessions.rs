//! Customer sessions in the API for operators (`tokens`). Operators can revoke them.

use axum::Json;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::callers::{Area, Caller};
use crate::kernel::ids::{CustomerId, SessionId, StoreId};
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{EmptyBody, Instant, Reference, Resource, WriteRequest};
use crate::storefront::accounts::ending;
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::state::Storefront;

crate::read_only! {
    /// A session in the API for operators.
    pub struct SessionRecord {
        /// The store of the customer.
        #[filtered]
        store_id as "store": Reference<StoreId>,
        /// The customer.
        #[filtered]
        customer_id as "customer": Reference<CustomerId>,
        /// When the token was last used; updated every few minutes.
        last_used_at: Instant,
        /// When the token expires.
        expires_at: Instant,
        /// When the token was revoked.
        revoked_at: Option<Instant>,
        /// The method of the sign-in, as long as the audit keeps it.
        method: Option<String>,
        /// The client's address.
        address: Option<String>,
        /// The client's `User-Agent`.
        user_agent: Option<String>,
        /// What the customer or the app calls the device.
        device_name: Option<String>,
    }
}

impl Resource for SessionRecord {
    type Id = SessionId;
    type State = Storefront;

    const SINGULAR: &'static str = "token";
    const PLURAL: &'static str = "tokens";
    const AREA: Area = Area::Customers;
    const TABLE: &'static str = "session_records";
}

/// The description of `DELETE tokens/{uuid}`.
pub(super) fn revoke_doc() -> OperationDoc {
    OperationDoc::new("End a session of a customer.").answering(StatusCode::OK, object([("status", json!({ "const": "ok" }))]))
}

/// `DELETE tokens/{uuid}`: revokes one session.
pub(super) async fn revoke(WriteRequest { state: storefront, caller, id }: WriteRequest<SessionRecord>) -> Result<Json<Value>, Problem> {
    storefront.end_session(&caller, id).await?;
    Ok(Json(json!({ "status": "ok" })))
}

/// The description of `POST customers/{uuid}/revoke-tokens`.
pub(super) fn revoke_all_doc() -> OperationDoc {
    let answer = object([("status", json!({ "const": "ok" })), ("revoked", json!({ "type": "integer" }))]);
    OperationDoc::new("End all sessions of a customer.").taking_options(EmptyBody::schema()).answering(StatusCode::OK, answer)
}

/// `POST customers/{uuid}/revoke-tokens`: revokes all sessions of the customer.
pub(super) async fn revoke_all(
    WriteRequest { state: storefront, caller, id }: WriteRequest<CustomerRecord>,
    JsonOptions(EmptyBody {}): JsonOptions<EmptyBody>,
) -> Result<Json<Value>, Problem> {
    let revoked = storefront.end_sessions(&caller, id).await?;
    Ok(Json(json!({ "status": "ok", "revoked": revoked })))
}

impl Storefront {
    /// Ends one session of a customer of the caller's company, at once on this instance.
    async fn end_session(&self, caller: &Caller, id: SessionId) -> Result<(), Problem> {
        SessionRecord::require(caller, SessionRecord::writing())?;
        let revoked = ending::end_session_of_company(&mut self.pool.acquire().await?, caller.company, id, self.clock.now()).await?;
        self.caches.sessions.invalidate(&revoked.ok_or(ProblemCode::RecordNotFound)?);
        Ok(())
    }

    /// Ends all sessions of a customer of the caller's company, and returns how many there were.
    async fn end_sessions(&self, caller: &Caller, id: CustomerId) -> Result<i64, Problem> {
        CustomerRecord::require(caller, CustomerRecord::writing())?;
        let revoked = ending::end_all_of_company(&mut self.pool.acquire().await?, caller.company, id, self.clock.now()).await?;
        self.caches.invalidate_customer(id);
        Ok(revoked.ok_or(ProblemCode::RecordNotFound)?)
    }
}
