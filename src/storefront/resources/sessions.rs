//! Customer sessions in the API for operators (`tokens`). Operators can revoke them.

use axum::Json as Answer;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::ids::{CustomerId, SessionId, StoreId};
use crate::kernel::json::Json;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::members;
use crate::resources::{Described, Filter, Instant, NoMembers, Reference, Resource, Writing};
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::{Storefront, tokens};

crate::columns! {
    /// A session in the API for operators.
    pub struct SessionRecord {
        pub store_id: StoreId,
        pub customer_id: CustomerId,
        pub last_used_at: DateTime<Utc>,
        pub expires_at: DateTime<Utc>,
        pub revoked_at: Option<DateTime<Utc>>,
        pub method: Option<String>,
        pub address: Option<String>,
        pub user_agent: Option<String>,
    }
}

impl Resource for SessionRecord {
    type Id = SessionId;
    type Room = Storefront;

    const SINGULAR: &'static str = "token";
    const PLURAL: &'static str = "tokens";
    const TABLE: &'static str = "session_records";
    const FILTERS: &'static [Filter] =
        &[Filter::id::<StoreId>("store").on("store_id"), Filter::id::<CustomerId>("customer").on("customer_id")];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "store": self.store_id,
            "customer": self.customer_id,
            "last_used_at": timestamp(self.last_used_at),
            "expires_at": timestamp(self.expires_at),
            "revoked_at": self.revoked_at.map(timestamp),
            "method": self.method,
            "address": self.address,
            "user_agent": self.user_agent,
        }
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<StoreId>>("store", "Where."),
            Described::shown::<Reference<CustomerId>>("customer", "Who."),
            Described::shown::<Instant>("last_used_at", "When it was used last."),
            Described::shown::<Instant>("expires_at", "When it ends by itself."),
            Described::shown::<Option<Instant>>("revoked_at", "When it was ended."),
            Described::formed("method", "How it was made, as long as the audit tells.", json!({ "type": ["string", "null"] })),
            Described::formed("address", "The client's address.", json!({ "type": ["string", "null"] })),
            Described::formed("user_agent", "The client, as it calls itself.", json!({ "type": ["string", "null"] })),
        ]
    }
}

/// `DELETE tokens/{uuid}`: revokes one session.
pub(super) async fn revoke(Writing { room: storefront, caller, id }: Writing<SessionRecord>) -> Result<Answer<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    let revoked = tokens::revoke_session(&mut conn, Some(caller.company), id, storefront.clock.now()).await?;
    storefront.recent.sessions.forget(&revoked.ok_or(ProblemCode::RecordNotFound)?);
    Ok(Answer(json!({ "status": "ok" })))
}

/// `POST customers/{uuid}/revoke-tokens`: revokes all sessions of the customer.
pub(super) async fn revoke_all(
    Writing { room: storefront, caller, id }: Writing<CustomerRecord>,
    Json(NoMembers {}): Json<NoMembers>,
) -> Result<Answer<Value>, Problem> {
    let mut conn = storefront.pool.acquire().await?;
    let revoked = tokens::revoke_customer(&mut conn, Some(caller.company), id, storefront.clock.now()).await?;
    storefront.recent.forget_customer(id);
    let revoked = revoked.ok_or(ProblemCode::RecordNotFound)?;
    Ok(Answer(json!({ "status": "ok", "revoked": revoked })))
}
