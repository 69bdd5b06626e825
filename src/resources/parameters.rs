//! Query parameters of routes: unknown ones are rejected, never ignored. Lists check their own ([`ListParameters`]).
//!
//! [`ListParameters`]: crate::resources::kind::list_parameters::ListParameters

use std::pin::Pin;

use axum::extract::{FromRef, FromRequestParts, Request};
use axum::handler::Handler;
use axum::response::{IntoResponse, Response};
use url::form_urlencoded;

use crate::callers::Caller;
use crate::companies::Companies;
use crate::kernel::openapi::QueryParameters;
use crate::kernel::problem::Problem;
use crate::resources::kind::list_parameters::unknown;

/// The handler of a route that takes only these parameters. Another parameter is rejected after the API key has been verified.
#[derive(Clone, Debug)]
pub(super) struct RejectUnknownQuery<H> {
    pub(super) parameters: QueryParameters,
    pub(super) handler: H,
}

pub(super) fn without_parameters<H>(handler: H) -> RejectUnknownQuery<H> {
    RejectUnknownQuery { parameters: &[], handler }
}

impl<H> RejectUnknownQuery<H> {
    /// The first unknown parameter.
    fn unknown(&self, query: &str) -> Option<String> {
        let mut names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        names.find(|name| self.parameters.iter().all(|(known, _)| known != name)).map(Into::into)
    }
}

impl<H, T, S> Handler<T, S> for RejectUnknownQuery<H>
where
    H: Handler<T, S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    type Future = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn call(self, request: Request, state: S) -> Self::Future {
        match request.uri().query().and_then(|query| self.unknown(query)) {
            None => Box::pin(self.handler.call(request, state)),
            Some(name) => Box::pin(async move { refuse(request, &state, &name).await.into_response() }),
        }
    }
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
