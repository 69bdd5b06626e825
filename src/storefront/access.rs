//! Authentication of the store by its key, and the general throttle that every storefront request passes.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::companies::bearer;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::Storefront;
use crate::storefront::stores::{Store, StoreKey, find_store};

/// A request with a valid store key that passed the general throttle.
#[derive(Clone, Debug)]
pub(super) struct CallingStore {
    pub(super) store: Arc<Store>,
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
pub(super) async fn admit(State(storefront): State<Storefront>, client: ClientAddress, mut request: Request, next: Next) -> Response {
    let store = match find(&storefront, bearer(request.headers()).and_then(StoreKey::parse)).await {
        Ok(store) => store,
        Err(problem) => return problem.into_response(),
    };
    let standing = storefront.throttle.hit((store.key_id, client.network()));
    if !standing.allowed {
        return standing.refusal();
    }
    request.extensions_mut().insert(CallingStore { store });
    let mut response = next.run(request).await;
    // A route with a stricter limit of its own has already written that limit to the headers.
    if !response.headers().contains_key("ratelimit-limit") {
        standing.show(&mut response);
    }
    response
}

async fn find(storefront: &Storefront, key: Option<StoreKey>) -> Result<Arc<Store>, Problem> {
    let digest = key.ok_or(ProblemCode::StoreKeyInvalid)?.digest();
    match storefront.recent.stores.get(&digest, storefront.clock.now()) {
        Some(store) => Ok(store),
        // Boxed, because the query's future is large and every request would otherwise copy it.
        None => Box::pin(look_up(storefront, digest)).await,
    }
}

async fn look_up(storefront: &Storefront, digest: [u8; 32]) -> Result<Arc<Store>, Problem> {
    let (now, epoch) = (storefront.clock.now(), storefront.recent.stores.epoch());
    let mut conn = storefront.pool.acquire().await?;
    let store = Arc::new(find_store(&mut conn, &digest, now).await?.ok_or(ProblemCode::StoreKeyInvalid)?);
    storefront.recent.stores.keep(epoch, digest, &store, now);
    Ok(store)
}
