//! Authentication of the store by its key, and the general throttle that every storefront request passes.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::companies::{Standing, bearer};
use crate::kernel::access_log::AskingKey;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::RateLimitStatus;
use crate::storefront::state::Storefront;
use crate::storefront::stores::{Store, StoreKey, find_store};

/// A request with a valid store key that passed the general throttle.
#[derive(Clone, Debug)]
pub struct CallingStore {
    pub store: Arc<Store>,
}

impl<S: Send + Sync> FromRequestParts<S> for CallingStore {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // Only `admit` inserts the extension. A route that is mounted without `admit` refuses every request.
        parts.extensions.get::<Self>().cloned().ok_or_else(|| ProblemCode::StoreKeyInvalid.into())
    }
}

/// The middleware of `/storefront/v1`: refuses requests without a valid store key, and requests over the limit of the general
/// throttle.
pub async fn admit(State(storefront): State<Storefront>, client: ClientAddress, mut request: Request, next: Next) -> Response {
    let store = match find(&storefront, bearer(request.headers()).and_then(StoreKey::parse), client).await {
        Ok(store) => store,
        Err((problem, status)) => {
            let mut response = problem.into_response();
            if let Some(status) = status {
                status.apply_headers(&mut response);
            }
            return response;
        }
    };
    AskingKey::note(request.extensions(), store.key_id);
    let status = storefront.throttle.hit((store.key_id, client.network()));
    if !status.allowed {
        return status.refusal();
    }
    if let Err(refusal) = store.standing.must_be_open() {
        let mut response = refusal.into_response();
        status.apply_headers(&mut response);
        return response;
    }
    request.extensions_mut().insert(CallingStore { store });
    let mut response = next.run(request).await;
    // A route with a stricter limit of its own has already written that limit to the headers.
    if !response.headers().contains_key("ratelimit-limit") {
        status.apply_headers(&mut response);
    }
    response
}

impl Storefront {
    /// Whether the company is served whose live store key has this digest. Unknown ones do not count as the client's: another cell may know them,
    /// and who asks all cells counts what none of them knows.
    pub async fn standing_of_key(&self, digest: [u8; 32]) -> Result<Standing, Problem> {
        let store = match self.caches.stores.get(&digest, self.clock.now()) {
            Some(store) => Some(store),
            None => Box::pin(look_up(self, digest)).await?,
        };
        Ok(store.map_or(Standing::Gone, |store| store.standing))
    }
}

/// Returns the store of a key, or the problem with the client's status against the limit of unknown keys.
async fn find(
    storefront: &Storefront,
    key: Option<StoreKey>,
    client: ClientAddress,
) -> Result<Arc<Store>, (Problem, Option<RateLimitStatus>)> {
    let digest = key.ok_or((ProblemCode::StoreKeyInvalid.into(), None))?.digest();
    if let Some(store) = storefront.caches.stores.get(&digest, storefront.clock.now()) {
        return Ok(store);
    }
    // One network may look up unknown keys only as often as it may use a valid key.
    // Boxed, because otherwise every request would copy the large future of the query.
    let look_up = Box::pin(look_up(storefront, digest));
    let limited = storefront.unknown_keys.look_up(client.network(), &digest, look_up).await;
    let (found, status) = limited.map_err(|status| (status.problem(), Some(status)))?;
    let store = found.map_err(|problem| (problem, None))?;
    store.ok_or((ProblemCode::StoreKeyInvalid.into(), Some(status)))
}

async fn look_up(storefront: &Storefront, digest: [u8; 32]) -> Result<Option<Arc<Store>>, Problem> {
    let (now, generation) = (storefront.clock.now(), storefront.caches.stores.generation());
    let found = find_store(&mut storefront.pool.acquire().await?, &digest, now).await?.map(Arc::new);
    if let Some(store) = &found {
        storefront.caches.stores.insert_if_current(generation, digest, store, now);
    }
    Ok(found)
}
