//! Query parameters of routes: unknown ones are rejected, never ignored. Lists check their own ([`ListParameters`]).
//!
//! [`ListParameters`]: crate::resources::kind::list_parameters::ListParameters

use axum::extract::{FromRef, FromRequestParts, Request};
use axum::response::IntoResponse;
use url::form_urlencoded;

use crate::callers::Caller;
use crate::companies::Companies;
use crate::kernel::openapi::QueryParameters;
use crate::kernel::problem::Problem;
use crate::kernel::routing::AnyHandler;
use crate::resources::kind::list_parameters::unknown;

/// The handler of a route that takes only these parameters. Another parameter is rejected after the API key has been verified.
pub(super) fn with_parameters<S>(parameters: QueryParameters, handler: AnyHandler<S>) -> AnyHandler<S>
where
    Companies: FromRef<S>,
    S: Send + Sync + 'static,
{
    AnyHandler::new(move |request, state| match request.uri().query().and_then(|query| first_unknown(parameters, query)) {
        None => handler.answer(request, state),
        Some(name) => Box::pin(async move { refuse(request, &state, &name).await.into_response() }),
    })
}

/// The first parameter of the query that is none of these.
fn first_unknown(parameters: QueryParameters, query: &str) -> Option<String> {
    let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    names.find(|name| parameters.iter().all(|(known, _)| known != name)).map(Into::into)
}

async fn refuse<S>(request: Request, state: &S, name: &str) -> Problem
where
    Companies: FromRef<S>,
    S: Send + Sync,
{
    match Caller::from_request_parts(&mut request.into_parts().0, state).await {
        Ok(_) => unknown(name),
        Err(refused) => refused,
    }
}
