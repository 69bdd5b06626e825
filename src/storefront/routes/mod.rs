//! The routes below `/storefront/v1` and their description in `GET /openapi.json`. Both come from one list, so they cannot
//! diverge.
//!
//! The description of a request is derived from the handler's parameters ([`Parts`]): a handler that takes a
//! [`SignedInCustomer`](crate::storefront::SignedInCustomer) requires a customer token, and the schema of the body is that of the
//! type it reads ([`body!`]). The response is declared next to the route ([`OperationDoc`]).

mod answers;
mod bodies;
mod parts;

use axum::Router;
use axum::handler::Handler;
use axum::http::{Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::MethodFilter;
use serde_json::Value;

use crate::kernel::openapi::{Description, OperationDoc};
use crate::kernel::problem::ProblemCode;
use crate::kernel::routing::{Answering, AnyHandler, on};
use crate::storefront::state::Storefront;
use crate::storefront::{access, customers};

pub use answers::{done, login, login_with, own_record, sent};
pub(crate) use bodies::body;
pub use bodies::{Body, Sent};
pub use parts::Parts;

/// The path prefix of the routes.
pub const PATH: &str = "/storefront/v1";

/// Describes a route by its summary and the schema of its response. Every route requires a store key.
pub fn describe(summary: &'static str, answer: Value) -> OperationDoc {
    describe_with(summary, StatusCode::OK, answer)
}

/// The same for a route that succeeds with another status.
pub(super) fn describe_with(summary: &'static str, status: StatusCode, answer: Value) -> OperationDoc {
    OperationDoc::new(summary)
        .authenticated_by(&["store_key"])
        .taking_header("Accept-Language", "The preferred languages of messages and problems.")
        .answering(status, answer)
        .refusing(&[ProblemCode::StoreKeyInvalid, ProblemCode::CompanySuspended, ProblemCode::CompanyMoving, ProblemCode::RateLimited])
}

/// A set of routes with their description.
#[derive(Debug)]
pub struct Routes<S> {
    router: Router<S>,
    description: Description,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// An empty set.
    pub fn none() -> Self {
        Self { router: Router::new(), description: Description::default() }
    }

    /// Adds a `GET` route at a path below [`PATH`].
    pub fn get<H: Handler<T, S, Future = Answering>, T: Parts>(self, path: &str, doc: OperationDoc, handler: H) -> Self {
        self.route(Method::GET, path, doc, handler)
    }

    /// Adds a `POST` route at a path below [`PATH`].
    pub fn post<H: Handler<T, S, Future = Answering>, T: Parts>(self, path: &str, doc: OperationDoc, handler: H) -> Self {
        self.route(Method::POST, path, doc, handler)
    }

    /// Adds a `PUT` route at a path below [`PATH`].
    pub(super) fn put<H: Handler<T, S, Future = Answering>, T: Parts>(self, path: &str, doc: OperationDoc, handler: H) -> Self {
        self.route(Method::PUT, path, doc, handler)
    }

    /// Adds a `DELETE` route at a path below [`PATH`].
    pub(super) fn delete<H: Handler<T, S, Future = Answering>, T: Parts>(self, path: &str, doc: OperationDoc, handler: H) -> Self {
        self.route(Method::DELETE, path, doc, handler)
    }

    fn route<H: Handler<T, S, Future = Answering>, T: Parts>(mut self, method: Method, path: &str, doc: OperationDoc, handler: H) -> Self {
        let filter = MethodFilter::try_from(method.clone()).expect("all methods in the program can be routed");
        self.router = self.router.route(path, on(filter, AnyHandler::of(handler)));
        let words = path.split(|character: char| !character.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        let id = format!("{}_{}", method.as_str().to_lowercase(), words.collect::<Vec<_>>().join("_"));
        self.description.route(method, "customers", format!("{PATH}{path}"), T::describe(doc).identified(id));
        self
    }

    /// Combines both sets.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.description.merge(other.description);
        self
    }

    /// Provides the state of the routes, so that they can be merged with routes that need another state.
    pub(super) fn with_state<T>(self, state: S) -> Routes<T> {
        Routes { router: self.router.with_state(state), description: self.description }
    }

    /// Requires a store key for all of the routes and applies the general throttle ([`access::admit`]).
    pub(super) fn with_access_check(mut self, storefront: &Storefront) -> Self {
        self.description.schemas([("customer".to_owned(), customers::schema())]);
        self.router = self.router.route_layer(from_fn_with_state(storefront.clone(), access::admit));
        self
    }
}

impl<S> Routes<S> {
    /// The description of the routes.
    pub fn description(&self) -> Description {
        self.description.clone()
    }

    /// The router, to be nested at [`PATH`].
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}
