//! `/storefront/receipts/{provider}/{token}`: where SMS providers report whether a text arrived.
//!
//! A provider is told the address with each text. Its token is a MAC of the application key, so nobody else knows it; Twilio also signs what it
//! sends. A receipt of an unknown text, and one that says nothing final, is answered like any other, because a provider repeats what is refused.
//!
//! The provider of a company has an address of its own. It is heard about the texts that it has taken, and about no others: a company could
//! make up what its own provider reports.

use axum::body::Bytes;
use axum::extract::{FromRef, Path, RawQuery, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use crate::kernel::openapi::{Description, OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::routing::{get, post};
use crate::providers::sms::{RECEIPTS_PATH, ReceivedReceipt, Reporter};
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;

/// The maximum size of a receipt, in bytes. Usual ones have a few hundred.
const MAX_LEN: usize = 16 * 1024;
const SIGNATURE: &str = "x-twilio-signature";
/// What metrics say of a receipt that is not news of the end of a text.
const NOT_FINAL: &str = "not_final";
const IGNORED: &str = "ignored";
pub const OTHER_OUTCOMES: [&str; 2] = [NOT_FINAL, IGNORED];

/// The route that providers call.
pub fn receipt_routes<S>() -> Router<S>
where
    Storefront: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Router::new().route(&path(), get(receive_query).merge(post(receive_body)))
}

fn path() -> String {
    format!("/{RECEIPTS_PATH}/{{provider}}/{{token}}")
}

/// The description of the route that providers call.
pub fn receipt_description() -> Description {
    let answer = || object([("status", json!({ "const": "ok" }))]);
    let operation = |summary, id: &str| {
        OperationDoc::new(summary)
            .identified(id.to_owned())
            .authenticated_by(&[])
            .at("provider", "The name of the provider in `sms.providers`, or the id of the message provider of a company.")
            .at("token", "The token of the address that the provider was told.")
            .answering(StatusCode::OK, answer())
            .refusing(&[ProblemCode::RecordNotFound, ProblemCode::CallbackNotGenuine, ProblemCode::Overloaded])
    };
    let posted = operation("Receive what an SMS provider reports of a text.", "post_storefront_receipts")
        .taking_header("X-Twilio-Signature", "The signature, if the provider signs.")
        .refusing(&[ProblemCode::BodyTooLarge, ProblemCode::BadRequest]);
    let queried = operation("Receive what an SMS provider reports of a text in the query.", "get_storefront_receipts");
    let mut description = Description::default();
    description.route(Method::POST, "receipts", path(), posted);
    description.route(Method::GET, "receipts", path(), queried);
    description
}

async fn receive_body(
    State(storefront): State<Storefront>,
    Path(address): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Problem> {
    let is_json = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| kind.contains("json"));
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok());
    let fields = || match body.len() {
        0..=MAX_LEN if is_json => of_json(&body).ok_or_else(|| ProblemCode::BadRequest.into()),
        0..=MAX_LEN => Ok(of_form(&body)),
        _ => Err(ProblemCode::BodyTooLarge.into()),
    };
    receive(&storefront, &address, signature, fields).await
}

async fn receive_query(
    State(storefront): State<Storefront>,
    Path(address): Path<(String, String)>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Problem> {
    receive(&storefront, &address, None, || Ok(of_form(query.unwrap_or_default().as_bytes()))).await
}

/// Who does not know the address is told that there is none, before anything is read.
async fn receive(
    storefront: &Storefront,
    (provider, token): &(String, String),
    signature: Option<&str>,
    fields: impl FnOnce() -> Result<Vec<(String, String)>, Problem>,
) -> Result<Json<Value>, Problem> {
    let provider = storefront.sms.reporting(provider, token).ok_or(ProblemCode::RecordNotFound)?;
    let received = ReceivedReceipt { fields: &fields()?, signature };
    let (sms, _turn) = match provider {
        Reporter::OfSettings(_) => (storefront.sms.clone(), None),
        Reporter::Own(id) => storefront.message_providers.reporting(id).await.map(|(sms, turn)| (sms, Some(turn)))?,
    };
    let receipt = sms.read_receipt((provider, token), &received).map_err(|_| ProblemCode::CallbackNotGenuine)?;
    let outcome = match &receipt {
        None => NOT_FINAL,
        Some(receipt) => {
            let mut conn = storefront.pool.acquire().await?;
            let is_news = sms_guard::note_delivery(&mut conn, provider, receipt, storefront.clock.now()).await?;
            if is_news { receipt.delivery.as_str() } else { IGNORED }
        }
    };
    storefront.metrics.received_receipt(provider.label(), outcome);
    Ok(Json(json!({ "status": "ok" })))
}

fn of_form(form: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(form).into_owned().collect()
}

/// The members of an object, with numbers as they are written.
fn of_json(body: &[u8]) -> Option<Vec<(String, String)>> {
    let members: Map<String, Value> = serde_json::from_slice(body).ok()?;
    let text = |value: Value| match value {
        Value::String(text) => text,
        value => value.to_string(),
    };
    Some(members.into_iter().map(|(name, value)| (name, text(value))).collect())
}
