//! What an access token says.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::Serialize;

use crate::kernel::crypto::random_hex;
use crate::kernel::ids::{CustomerId, SessionId, StoreId};
use crate::storefront::access::SignedInCustomer;

/// The claims of RFC 9068, and the session (OpenID Connect). Names and contacts are not among them: tokens end up in logs.
#[derive(Debug, Serialize)]
pub struct Claims {
    iss: String,
    sub: CustomerId,
    aud: StoreId,
    client_id: StoreId,
    sid: SessionId,
    /// When the customer last proved, in this session, who they are.
    auth_time: i64,
    iat: i64,
    exp: i64,
    jti: String,
}

impl Claims {
    pub fn of(caller: &SignedInCustomer, iss: String, lifetime: Duration, now: DateTime<Utc>) -> Self {
        let (store, iat) = (caller.store.id, now.timestamp());
        Self {
            iss,
            sub: caller.customer_id(),
            aud: store,
            client_id: store,
            sid: caller.session,
            auth_time: caller.proven_at.timestamp(),
            iat,
            exp: caller.end_of_token(lifetime, now).timestamp(),
            jti: random_hex::<16>(),
        }
    }

    /// In seconds.
    pub fn expires_in(&self) -> i64 {
        self.exp - self.iat
    }
}
