//! Customers of another service who move in, a part of a file at a time.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Caller, Scope};
use crate::kernel::ids::StoreId;
use crate::kernel::openapi::{OperationDoc, QueryParameters};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::request_body::{LargerBody, Unread, must_be_plain};
use crate::storefront::moving_in::{self, Import, Options, Report};
use crate::storefront::state::Storefront;

/// Larger than on other routes: about two thousand customers.
pub const LARGER_BODY: LargerBody = ("/storefront/int/v1/customers/import", 1024 * 1024);

/// The lines of a request.
const MAX_LINES: usize = 5_000;

const PARAMETERS: QueryParameters = &[
    ("store", "The store that the customers move into."),
    (
        "vouch",
        "`true`: contacts that the lines call verified are proven, and links to providers are taken, which takes the scope `admin`. Otherwise contacts \
         are listed only, and lines with links refused.",
    ),
    ("dry_run", "`true`: nothing is stored, and the answer tells what would be."),
];

pub fn doc() -> OperationDoc {
    OperationDoc::new("Import customers of another service.")
        .explained("One customer a line (NDJSON), at most 1 MiB and 5,000 lines. A customer whose `external_id` is known is left as it is, so a request that got no answer is simply sent again.".to_owned())
        .taking_query(PARAMETERS)
        .needing_query(&["store"])
        .taking_body_explained("One such object a line.", moving_in::schema())
        .answering(StatusCode::OK, json!({ "type": "object", "properties": { "import": Report::schema() }, "required": ["import"] }))
        .refusing(&[ProblemCode::ParameterInvalid, ProblemCode::RecordNotFound, ProblemCode::Overloaded])
}

#[derive(Deserialize)]
pub struct Asked {
    store: StoreId,
    #[serde(default)]
    vouch: bool,
    #[serde(default)]
    dry_run: bool,
}

/// `POST customers/import`
pub async fn import(
    State(storefront): State<Storefront>,
    caller: Caller,
    asked: Result<Query<Asked>, QueryRejection>,
    headers: HeaderMap,
    body: Unread<Bytes>,
) -> Result<Json<Value>, Problem> {
    // Before the parameters are read, so that the missing scope is what the client learns first.
    caller.require(Area::Customers, Scope::Write)?;
    let invalid = |detail: String| Problem::new(ProblemCode::ParameterInvalid).detail(detail);
    let Query(Asked { store, vouch, dry_run }) = asked.map_err(|error| invalid(error.body_text()))?;
    must_be_plain(&headers)?;
    let body = body.read().await.map_err(|refused| ProblemCode::of_status(refused.into_response().status()))?;
    if body.split(|byte| *byte == b'\n').nth(MAX_LINES + 1).is_some() {
        return Err(Problem::new(ProblemCode::BodyTooLarge).detail(format!("A request has at most {MAX_LINES} lines.")));
    }
    let lines: Vec<_> = (1..).zip(body.split(|byte| *byte == b'\n').map(<[u8]>::to_vec)).collect();
    let (pool, clock) = (storefront.pool.clone(), storefront.clock.clone());
    let mut import = Import::begin(pool, clock, caller, store, Options { vouch, dry_run }).await?;
    for batch in lines.chunks(Import::BATCH) {
        import.take(batch).await?;
    }
    Ok(Json(json!({ "import": import.end().present() })))
}
