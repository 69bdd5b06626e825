//! The routes below `/storefront/v1`, and what is told about them in `GET /openapi.json`. Both come from one list, so that neither has what
//! the other lacks.
//!
//! What a route takes is read off its handler: whoever takes a [`SignedInCustomer`](crate::storefront::SignedInCustomer) needs their token,
//! and the body is the one it takes ([`Parts`], [`body!`]). What it answers is told beside it ([`Told`]).

mod answers;
mod bodies;
mod parts;
mod told;

use axum::Router;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, on};

use crate::kernel::openapi::Description;
use crate::storefront::{Storefront, access, customers};

pub(super) use answers::{done, login, own_record, sent};
pub(super) use bodies::{Body, Sent, body};
pub use parts::Parts;
pub use told::{Told, told};

/// Where the routes are.
pub const PATH: &str = "/storefront/v1";

/// Some of the routes.
#[derive(Debug)]
pub struct Routes<S> {
    router: Router<S>,
    description: Description,
}

impl<S: Clone + Send + Sync + 'static> Routes<S> {
    /// None yet.
    pub fn none() -> Self {
        Self { router: Router::new(), description: Description::default() }
    }

    /// `GET` at a path below [`PATH`].
    pub(super) fn get<H: Handler<T, S>, T: Parts + 'static>(self, path: &str, told: Told, handler: H) -> Self {
        self.route(Method::GET, path, told, handler)
    }

    /// `POST` at a path below [`PATH`].
    pub fn post<H: Handler<T, S>, T: Parts + 'static>(self, path: &str, told: Told, handler: H) -> Self {
        self.route(Method::POST, path, told, handler)
    }

    /// `PUT` at a path below [`PATH`].
    pub(super) fn put<H: Handler<T, S>, T: Parts + 'static>(self, path: &str, told: Told, handler: H) -> Self {
        self.route(Method::PUT, path, told, handler)
    }

    /// `DELETE` at a path below [`PATH`].
    pub(super) fn delete<H: Handler<T, S>, T: Parts + 'static>(self, path: &str, told: Told, handler: H) -> Self {
        self.route(Method::DELETE, path, told, handler)
    }

    fn route<H: Handler<T, S>, T: Parts + 'static>(mut self, method: Method, path: &str, told: Told, handler: H) -> Self {
        let filter = MethodFilter::try_from(method.clone()).expect("the program names methods that can be routed by");
        self.router = self.router.route(path, on(filter, handler));
        let operation = T::tell(told).operation(&method, path);
        self.description.route(method, format!("{PATH}{path}"), operation);
        self
    }

    /// The routes of both.
    pub(super) fn merge(mut self, other: Self) -> Self {
        self.router = self.router.merge(other.router);
        self.description.merge(other.description);
        self
    }

    /// With the state they need: they can then stand beside others that need another one.
    pub(super) fn with_state<T>(self, state: S) -> Routes<T> {
        Routes { router: self.router.with_state(state), description: self.description }
    }

    /// All of them, behind the storefront's door.
    pub(super) fn behind_the_door(mut self, storefront: &Storefront) -> Self {
        self.description.schemas([("customer".to_owned(), customers::schema())]);
        self.router = self.router.route_layer(from_fn_with_state(storefront.clone(), access::admit));
        self
    }
}

impl<S> Routes<S> {
    /// What is told about them.
    pub fn description(&self) -> Description {
        self.description.clone()
    }

    /// The routes, to be put below [`PATH`].
    pub fn into_router(self) -> Router<S> {
        self.router
    }
}
