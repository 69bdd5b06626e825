//! The five routes of a resource.

use axum::extract::{FromRef, RawQuery, State};
use axum::handler::Handler;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use axum::{Json, Router};
use serde_json::json;
use serde_json::value::RawValue;

use crate::callers::Caller;
use crate::companies::Companies;
use crate::kernel::json::JsonBody;
use crate::kernel::problem::Problem;
use crate::kernel::request_body::Unread;
use crate::kernel::routing::{Answering, AnyHandler, get, on};
use crate::resources::operation::plural_path;
use crate::resources::operations::{self, Page};
use crate::resources::parameters::with_parameters;
use crate::resources::{Editable, IfMatch, ListParameters, Operation, PathId, ReadRequest, Resource, WriteRequest, body};

/// `GET /<plural>` and `GET /<plural>/{uuid}`; other methods get a 405.
pub(super) fn read_only_routes<R, S>() -> Router<S>
where
    R: Resource,
    R::State: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let (many, one) = paths(R::PLURAL);
    Router::new().route(&many, get(list::<R>)).route(&one, without_parameters(MethodFilter::GET, find::<R>))
}

/// The two `GET` routes and the routes of these operations; other methods get a 405.
pub(super) fn routes<R, S>(plural: &str, operations: &[Operation]) -> Router<S>
where
    R: Editable,
    R::State: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    let (mut many, mut one) = (get(list::<R>), without_parameters(MethodFilter::GET, find::<R>));
    for operation in operations {
        match operation {
            Operation::Create => many = many.merge(without_parameters(MethodFilter::POST, create::<R>)),
            Operation::Change => one = one.merge(without_parameters(MethodFilter::PUT, update::<R>)),
            Operation::Delete => one = one.merge(without_parameters(MethodFilter::DELETE, delete::<R>)),
        }
    }
    let (path_of_many, path_of_one) = paths(plural);
    Router::new().route(&path_of_many, many).route(&path_of_one, one)
}

fn without_parameters<H, T, S>(method: MethodFilter, handler: H) -> MethodRouter<S>
where
    H: Handler<T, S, Future = Answering>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    on(method, with_parameters(&[], AnyHandler::of(handler)))
}

fn paths(plural: &str) -> (String, String) {
    let plural = plural_path(plural);
    (format!("/{plural}"), format!("/{plural}/{{uuid}}"))
}

/// The scope comes before the parameters are read, so that the missing scope is what the client learns first. The same goes for bodies.
async fn list<R: Resource>(ReadRequest { state, caller }: ReadRequest<R>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let descriptor = R::descriptor(&state);
    let parameters = ListParameters::parse::<R>(&descriptor, query.as_deref().unwrap_or_default())?;
    let Page { records, next } = operations::list::<R>(&state, &caller, &parameters).await?;
    let members: Vec<_> = records.into_iter().map(|shown| shown.members).collect();
    let meta = json!({ "per_page": parameters.limit, "next": next.map(|next| next.encode()) });
    Ok(Json(json!({ descriptor.plural: members, "meta": meta })).into_response())
}

async fn find<R: Resource>(ReadRequest { state, caller }: ReadRequest<R>, PathId(id): PathId<R::Id>) -> Result<Response, Problem> {
    Ok(operations::find::<R>(&state, &caller, id).await?.answer(StatusCode::OK))
}

async fn create<R: Editable>(
    State(state): State<R::State>,
    caller: Caller,
    body: Unread<JsonBody<Box<RawValue>>>,
) -> Result<Response, Problem> {
    R::require(&caller, R::writing())?;
    let JsonBody(body) = body.read().await?;
    let body = body::read::<R>(R::descriptor(&state).singular, &body)?;
    Ok(operations::create::<R>(&state, &caller, body).await?.answer(StatusCode::CREATED))
}

async fn update<R: Editable>(
    WriteRequest { state, caller, id }: WriteRequest<R>,
    if_match: IfMatch,
    JsonBody(body): JsonBody<Box<RawValue>>,
) -> Result<Response, Problem> {
    let body = body::read::<R>(R::descriptor(&state).singular, &body)?;
    Ok(operations::update::<R>(&state, &caller, id, &if_match, body).await?.answer(StatusCode::OK))
}

async fn delete<R: Editable>(WriteRequest { state, caller, id }: WriteRequest<R>, if_match: IfMatch) -> Result<Response, Problem> {
    let deleted = operations::delete::<R>(&state, &caller, id, &if_match).await?;
    Ok(Json(json!({ R::descriptor(&state).singular: deleted.members })).into_response())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::kernel::clock::Clock;
    use crate::kernel::database::{Limits, Pool};
    use crate::kernel::lifecycle::Lifecycle;
    use crate::resources::kind::example::{Shelf, Storage};
    use axum::body::Body;
    use axum::http::Request;
    use tower::ServiceExt;

    #[derive(Clone, FromRef)]
    struct AppState {
        storage: Storage,
        companies: Companies,
    }

    async fn status(router: Router<AppState>, method: &str, path: &str) -> u16 {
        let limits = Limits { connections: 1, acquire_timeout: Duration::from_secs(1), statement_timeout: Duration::from_secs(1) };
        let pool = Pool::new("postgres://nobody@localhost/nothing".parse().unwrap(), limits);
        let storage = Storage { pool: pool.clone(), clock: Clock::System };
        let state = AppState { storage, companies: Companies::new(pool, Clock::System, Lifecycle::default()) };
        let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        router.with_state(state).oneshot(request).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn five_routes_stand_below_the_plural_and_ask_for_a_key() {
        for (method, path) in [
            ("GET", "/book-shelves"),
            ("POST", "/book-shelves"),
            ("GET", "/book-shelves/7"),
            ("PUT", "/book-shelves/7"),
            ("DELETE", "/book-shelves/7"),
        ] {
            assert_eq!(status(routes::<Shelf, _>(Shelf::PLURAL, Operation::ALL), method, path).await, 401, "{method} {path}");
        }
    }

    #[tokio::test]
    async fn a_log_can_only_be_read() {
        for (method, path, expected) in [
            ("GET", "/book-shelves", 401),
            ("GET", "/book-shelves/7", 401),
            ("POST", "/book-shelves", 405),
            ("PUT", "/book-shelves/7", 405),
            ("DELETE", "/book-shelves/7", 405),
        ] {
            assert_eq!(status(read_only_routes::<Shelf, _>(), method, path).await, expected, "{method} {path}");
        }
    }
}
