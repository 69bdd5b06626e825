//! `POST gateways/{uuid}/test`: checks the configuration of a gateway before the first callback arrives.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::gateways::accounts::{Gateway, signing_secret};
use crate::gateways::driver::{Finding, PaymentUpdate, Reading};
use crate::gateways::drivers;
use crate::kernel::json::JsonBody;
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{RecordTransaction, WriteRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Test {
    /// A body that the gateway might send. It is read but not verified, and nothing is recorded.
    sample: Option<Map<String, Value>>,
}

/// The description of the route.
pub(super) fn doc() -> OperationDoc {
    let (text, is_ok) = (|| json!({ "type": "string" }), || json!({ "type": "boolean" }));
    let finding = object([("subject", text()), ("ok", is_ok()), ("detail", text())]);
    let fact =
        object([("fact", text()), ("amount", json!({ "type": ["integer", "null"] })), ("currency", json!({ "type": ["string", "null"] }))]);
    let mut contents = object([("gateway_transaction_id", text()), ("facts", json!({ "type": "array", "items": fact }))]);
    contents["type"] = json!(["object", "null"]);
    let answer = object([("ok", is_ok()), ("checks", json!({ "type": "array", "items": finding })), ("contents", contents)]);
    let sample = json!({ "type": ["object", "null"], "description": "A body that the gateway might send." });
    OperationDoc::new("Check the configuration of a gateway, and how a sample callback is read.")
        .taking_body(closed_object(&[], [("sample", sample)]))
        .answering(StatusCode::OK, answer)
}

/// Responds with `{"ok":…,"checks":[…]}` and the facts in the sample.
pub(super) async fn test(
    WriteRequest { state: gateways, caller, id }: WriteRequest<Gateway>,
    JsonBody(Test { sample }): JsonBody<Test>,
) -> Result<Json<Value>, Problem> {
    let mut transaction = RecordTransaction::begin(&gateways, &caller).await?;
    let gateway = transaction.find::<Gateway>(id).await?.ok_or(ProblemCode::RecordNotFound)?.fields;
    let driver = drivers::named(&gateway.driver).ok_or(ProblemCode::RecordNotFound)?;
    let (mut findings, mut contents) = (Vec::new(), None);
    let account = match signing_secret(&gateways.key, id, gateway.signing_secret.as_deref()) {
        Ok(signing_secret) => driver.account(&gateway.settings, signing_secret).map_err(|bad| Finding::bad("settings", bad.to_string())),
        Err(error) => Err(Finding::bad("signing_secret", format!("The secret must be set again: {error}."))),
    };
    match account {
        Ok(account) => {
            findings = account.check(transaction.now);
            if let Some(sample) = sample {
                let (finding, update) = read_sample(account.read(&Value::Object(sample)));
                findings.push(finding);
                contents = update;
            }
        }
        Err(bad) => findings.push(bad),
    }
    Ok(Json(json!({ "ok": findings.iter().all(|finding| finding.ok), "checks": findings, "contents": contents })))
}

fn read_sample(reading: Reading) -> (Finding, Option<Value>) {
    match reading.update {
        Ok(Some(update)) => (Finding::good("sample", "The sample can be processed."), Some(show(&update))),
        Ok(None) => (Finding::bad("sample", "Events of this type are ignored."), None),
        Err(refused) => (Finding::bad("sample", refused.to_string()), None),
    }
}

fn show(update: &PaymentUpdate) -> Value {
    let facts: Vec<_> =
        update.facts.iter().map(|fact| json!({ "fact": fact.kind, "amount": fact.amount, "currency": fact.currency })).collect();
    json!({ "gateway_transaction_id": update.transaction, "facts": facts })
}
