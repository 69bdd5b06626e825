//! Authentication of the customer: a valid token of this store, as a parameter of a handler.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;

use crate::events::Origin;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;
use crate::storefront::access::CallingStore;
use crate::storefront::customers::{self, Customer};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;
use crate::storefront::tokens::{self, Presented, Session, TokenId};

/// The interval at which the use of a token is recorded.
const USE_NOTED_EVERY: TimeDelta = TimeDelta::minutes(5);
/// The same for a customer with many sessions: the one ends that was not used for the longest time, which five minutes would not tell.
const USE_NOTED_CLOSELY: TimeDelta = TimeDelta::seconds(1);

/// A request with a valid token of an open account of the calling store.
#[derive(Clone, Debug)]
pub struct SignedInCustomer {
    pub(in crate::storefront) store: Arc<Store>,
    pub(in crate::storefront) customer: Arc<Customer>,
    pub(in crate::storefront) token: TokenId,
    pub(in crate::storefront) session: SessionId,
    /// When the customer last proved, in this session, who they are.
    pub(in crate::storefront) proven_at: DateTime<Utc>,
    /// When the session ends unless it is used before.
    ends_at: DateTime<Utc>,
    request: RequestId,
    /// The customer as JSON.
    pub(in crate::storefront) shown: Bytes,
}

impl SignedInCustomer {
    /// The id of the customer.
    pub fn customer_id(&self) -> CustomerId {
        self.customer.id
    }

    /// The company of the store.
    pub fn company_id(&self) -> CompanyId {
        self.store.company_id
    }

    /// Where the customer's acts come from.
    pub(in crate::storefront) fn origin(&self) -> Origin {
        Origin { company: self.store.company_id, request: Some(self.request) }
    }

    /// Locks the account and the session until the transaction ends, and returns the customer as they are now. The session may have come from
    /// the cache: what ended it has committed before, or waits for this transaction.
    pub(in crate::storefront) async fn lock(&self, conn: &mut Connection) -> Result<Customer, Problem> {
        let customer = customers::lock_customer(conn, self.customer.id).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
        if tokens::lock_session_shared(conn, self.session).await? { Ok(customer) } else { Err(ProblemCode::CustomerTokenInvalid.into()) }
    }

    /// When a token ends that is issued now for `lifetime`: what a session gives does not outlive it.
    pub fn end_of_token(&self, lifetime: Duration, now: DateTime<Utc>) -> DateTime<Utc> {
        TimeDelta::from_std(lifetime)
            .ok()
            .and_then(|lifetime| now.checked_add_signed(lifetime))
            .map_or(self.ends_at, |end| end.min(self.ends_at))
    }

    /// The number of the token.
    pub fn token_id(&self) -> TokenId {
        self.token
    }
}

impl<S> FromRequestParts<S> for SignedInCustomer
where
    S: Send + Sync,
    Storefront: FromRef<S>,
{
    type Rejection = Problem;

    /// Refuses a missing, malformed, expired or revoked token, and a token of a closed account or of another store, with the same
    /// response.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let CallingStore { store } = CallingStore::from_request_parts(parts, state).await?;
        let Ok(request) = RequestId::from_request_parts(parts, state).await;
        let mut values = parts.headers.get_all("customer-token").iter();
        let (Some(value), None) = (values.next(), values.next()) else { return Err(ProblemCode::CustomerTokenInvalid.into()) };
        let presented = value.to_str().ok().and_then(Presented::parse).ok_or(ProblemCode::CustomerTokenInvalid)?;

        let storefront = Storefront::from_ref(state);
        let is_of_store = |session: &Session| session.store == store.id;
        let session = storefront.use_session(&presented, is_of_store).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
        Ok(Self {
            store,
            customer: Arc::clone(&session.customer),
            token: presented.id,
            session: session.id,
            proven_at: session.proven_at,
            ends_at: session.expires_at,
            request,
            shown: session.shown.clone(),
        })
    }
}

impl Storefront {
    /// Returns the live session of a token, from the cache or from the database, if it is one that the caller accepts. Asking for it is using it.
    pub(in crate::storefront) async fn use_session(
        &self,
        presented: &Presented,
        accepts: impl FnOnce(&Session) -> bool,
    ) -> Result<Option<Arc<Session>>, Problem> {
        let found = match self.caches.sessions.get(&presented.id, self.clock.now()) {
            Some(session) => Some(session),
            // Boxed, because the query's future is large and every request would otherwise copy it.
            None => self.look_up_session(presented.id).boxed().await?,
        };
        let session = found.filter(|session| accepts(session) && session.digest.is(presented.digest()));
        if let Some(session) = &session {
            let every = if session.is_noted_closely { USE_NOTED_CLOSELY } else { USE_NOTED_EVERY };
            if session.last_used_at + every <= self.clock.now() {
                self.note_use(presented.id, session.began_at);
            }
        }
        Ok(session)
    }

    async fn look_up_session(&self, token: TokenId) -> Result<Option<Arc<Session>>, Problem> {
        let (now, generation) = (self.clock.now(), self.caches.sessions.generation());
        let found = self.look_ups.find(token, now).await?;
        if let Some(session) = &found {
            self.caches.insert_session(generation, token, session, now);
        }
        Ok(found)
    }

    /// Records the use of a token outside of the request and restarts its lifetime.
    fn note_use(&self, token: TokenId, began_at: DateTime<Utc>) {
        let this = self.clone();
        self.lifecycle.spawn(async move {
            let now = this.clock.now();
            let expires_at = this.settings.session_expires_at(began_at, now);
            let noted = async { tokens::note_use(&mut this.pool.acquire().await?, token, now, expires_at).await };
            match noted.await {
                Ok(()) => this.caches.sessions.invalidate(&token),
                Err(error) => tracing::warn!(error = chain(&error), "the last use of a token could not be recorded"),
            }
        });
    }
}
