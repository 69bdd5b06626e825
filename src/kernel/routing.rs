//! Handlers as routes: axum learns one type for all of them.
//!
//! axum puts each handler into about ten layers that are generic over it. At each of them, and again in each build, the compiler proves that the
//! handler's future may move to another thread, with all that it contains. With hundreds of handlers that took a third of the build. Here the type of
//! a handler ends before the first layer.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter};

/// The future of a handler, as axum makes it of a function.
pub type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// A handler of whichever type.
pub struct AnyHandler<S>(Arc<dyn Fn(Request, S) -> Answering + Send + Sync>);

impl<S> AnyHandler<S> {
    /// The handler that calls a function.
    pub fn of<H, T>(handler: H) -> Self
    where
        H: Handler<T, S, Future = Answering>,
    {
        Self::new(move |request, state| handler.clone().call(request, state))
    }

    /// A handler that answers like this.
    pub fn new(answer: impl Fn(Request, S) -> Answering + Send + Sync + 'static) -> Self {
        Self(Arc::new(answer))
    }

    /// The answer to a request.
    pub fn answer(&self, request: Request, state: S) -> Answering {
        (self.0)(request, state)
    }
}

impl<S> Clone for AnyHandler<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> fmt::Debug for AnyHandler<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyHandler")
    }
}

impl<S: 'static> Handler<(), S> for AnyHandler<S> {
    type Future = Answering;

    fn call(self, request: Request, state: S) -> Answering {
        self.answer(request, state)
    }
}

/// A route for this method.
pub fn on<S: Clone + Send + Sync + 'static>(method: MethodFilter, handler: AnyHandler<S>) -> MethodRouter<S> {
    axum::routing::on(method, handler)
}

/// A route for `GET`. Others at the same path are added by [`MethodRouter::merge`].
pub fn get<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = Answering>,
    S: Clone + Send + Sync + 'static,
{
    on(MethodFilter::GET, AnyHandler::of(handler))
}

/// A route for `POST`.
pub fn post<H, T, S>(handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = Answering>,
    S: Clone + Send + Sync + 'static,
{
    on(MethodFilter::POST, AnyHandler::of(handler))
}
