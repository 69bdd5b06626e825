//! Authentication of a company: a valid API key, as a handler parameter.

use std::sync::Arc;

use axum::extract::{FromRef, FromRequestParts};
use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use chrono::{DateTime, TimeDelta, Utc};
use futures::FutureExt;

use crate::callers::{Caller, Party, Who};
use crate::companies::known_key::KnownKey;
use crate::companies::own_writes::Asking;
use crate::companies::{Admission, ApiKey, Companies, Standing, queries};
use crate::kernel::access_log::AskingKey;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, KeyId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_id::RequestId;

/// How often the last use of a key is recorded.
const LAST_USED_INTERVAL: TimeDelta = TimeDelta::minutes(5);

/// The caller of a request that has no turn yet. The request has a valid API key and comes from an address that the key may be used from, or a
/// page makes it for somebody. What the caller may not do is refused before the request takes a turn.
#[derive(Debug)]
pub struct Authenticated {
    /// Who asks.
    pub caller: Caller,
    admission: Admission,
}

impl Authenticated {
    /// The caller, with the turn of the request, or with that at the end of its body.
    pub async fn admitted(self) -> Result<Caller, Problem> {
        self.admission.enter().await?;
        Ok(self.caller)
    }
}

impl<S> FromRequestParts<S> for Authenticated
where
    S: Send + Sync,
    Companies: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Ok(admission) = Admission::from_request_parts(parts, state).await;
        // Only code of this process can add one to a request: a page for a signed-in operator or for a visitor of the portal.
        if let Some(known) = parts.extensions.get::<Caller>() {
            Asking::note(&parts.extensions, known.who);
            let caller = known.clone();
            if let Some(party) = caller.party() {
                admission.count(caller.company, party)?;
            }
            return Ok(Self { caller, admission });
        }
        let companies = Companies::from_ref(state);
        let key = bearer(&parts.headers).and_then(ApiKey::parse).ok_or(ProblemCode::ApiKeyInvalid)?;
        let Ok(client) = ClientAddress::from_request_parts(parts, state).await;
        let key = companies.find_key(key.digest(), client).await?;
        AskingKey::note(&parts.extensions, key.id);
        Asking::note(&parts.extensions, Who::ApiKey(key.id));
        if !key.grant.networks.admit(client.ip()) {
            return Err(ProblemCode::AddressForbidden.into());
        }
        admission.count(key.company, Party::Key(key.id))?;
        key.standing.must_be_open()?;
        if key.last_used_at.is_none_or(|last| last + LAST_USED_INTERVAL <= companies.clock.now()) {
            companies.record_use(key.id, key.digest);
        }
        let (who, request) = (Who::ApiKey(key.id), RequestId::of(parts));
        Ok(Self { caller: Caller { company: key.company, grant: key.grant.clone(), who, request }, admission })
    }
}

/// A request that is [`Authenticated`] and has its turn, or gets it with the end of its body. The handler requires the scope.
impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Companies: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Authenticated::from_request_parts(parts, state).await?.admitted().await
    }
}

impl Companies {
    /// Whether the company is served whose live key has this digest. Unknown ones do not count as the client's: another cell may know them. What
    /// no cell knows is counted before the cells are asked.
    pub async fn standing_of_key(&self, digest: [u8; 32]) -> Result<Standing, Problem> {
        let now = self.clock.now();
        let key = match self.keys.get(&digest, now) {
            Some(key) => Some(key),
            None => self.read_key(digest, now).boxed().await?,
        };
        let live = key.filter(|key| key.grant.until.is_none_or(|end| end > now));
        Ok(live.map_or(Standing::Gone, |key| key.standing))
    }

    /// Whether there is a company with this id. One that has left is gone, though something of it may be here still.
    pub async fn knows(&self, company: CompanyId) -> Result<bool, sqlx::Error> {
        queries::company_exists(&mut self.pool.acquire().await?, company).await
    }

    /// Returns the live key with this digest, from the cache or the database.
    async fn find_key(&self, digest: [u8; 32], client: ClientAddress) -> Result<Arc<KnownKey>, Problem> {
        let now = self.clock.now();
        let key = match self.keys.get(&digest, now) {
            Some(key) => key,
            // Boxed, because otherwise every request would copy the large future of the query.
            None => self.look_up_key(digest, client, now).boxed().await?,
        };
        if key.grant.until.is_none_or(|end| end > now) { Ok(key) } else { Err(ProblemCode::ApiKeyInvalid.into()) }
    }

    async fn look_up_key(&self, digest: [u8; 32], client: ClientAddress, now: DateTime<Utc>) -> Result<Arc<KnownKey>, Problem> {
        let looked_up = self.unknown_keys.look_up(client.network(), &digest, self.read_key(digest, now)).await;
        let (found, _) = looked_up.map_err(|status| status.problem())?;
        Ok(found?.ok_or(ProblemCode::ApiKeyInvalid)?)
    }

    async fn read_key(&self, digest: [u8; 32], now: DateTime<Utc>) -> Result<Option<Arc<KnownKey>>, Problem> {
        let generation = self.keys.generation();
        let Some(found) = queries::find_api_key(&mut self.pool.acquire().await?, &digest, now).await? else { return Ok(None) };
        let key = Arc::new(KnownKey::read(digest, found)?);
        self.keys.insert_if_current(generation, digest, &key, now);
        Ok(Some(key))
    }

    /// Records the use of a key, outside of the request path.
    fn record_use(&self, key: KeyId, digest: [u8; 32]) {
        let this = self.clone();
        self.lifecycle.spawn(async move {
            let noted = async { queries::record_use(&mut this.pool.acquire().await?, key, this.clock.now()).await };
            match noted.await {
                Ok(()) => this.keys.invalidate(&digest),
                Err(error) => tracing::warn!(error = chain(&error), "the last use of an API key could not be recorded"),
            }
        });
    }
}

/// The token of the `Authorization: Bearer` header, if there is exactly one such header.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}
