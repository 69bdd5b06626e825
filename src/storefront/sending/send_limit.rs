//! The limit of the routes that send messages: five requests within one minute for one store key and client address.

use axum::response::{IntoResponse, Response};
use chrono::TimeDelta;
use futures::future::BoxFuture;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, RateLimitStatus, Rule};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

const SEND_LIMIT: Rule = Rule { limit: 5, window: TimeDelta::minutes(1) };

/// Counts a request to a sending route, runs `flow` if the limit allows it, and responds with what was sent. Every response has the headers
/// of the limit.
///
/// The flow is boxed, so that the large state of its queries is not moved from future to future.
pub async fn limited<T: IntoResponse>(
    storefront: &Storefront,
    store: &Store,
    client: ClientAddress,
    flow: BoxFuture<'_, Result<T, Problem>>,
) -> Response {
    let status = match hit(storefront, store, client).await {
        Ok(status) => status,
        Err(error) => return Problem::from(error).into_response(),
    };
    let mut response = match status.allowed {
        true => flow.await.into_response(),
        false => Problem::new(ProblemCode::RateLimited).retry_after(status.retry_after()).into_response(),
    };
    status.apply_headers(&mut response);
    response
}

async fn hit(storefront: &Storefront, store: &Store, client: ClientAddress) -> Result<RateLimitStatus, sqlx::Error> {
    let (bucket, now) = (format!("sending:{}", store.key_id), storefront.clock.now());
    rate_limit::hit_network(&mut storefront.code_pool.acquire().await?, &bucket, client.network(), SEND_LIMIT, now).await
}
