//! `POST gateways/{uuid}/test`: checks the configuration of a gateway before the first callback arrives.

use axum::Json;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::gateways::accounts::{Gateway, mode, signing_secret};
use crate::gateways::drivers::{self, Finding, ID_OF_TRANSACTION, Mode, PaymentUpdate, Reading};
use crate::gateways::genuine::OtherMode;
use crate::gateways::state::Gateways;
use crate::kernel::ids::GatewayId;
use crate::kernel::json::{self, JsonOptions};
use crate::kernel::openapi::{OperationDoc, closed_object, object};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::resources::{RecordTransaction, Resource, WriteRequest};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Test {
    /// A body that the gateway might send, as an object or as its text. It is read but not verified, and nothing is recorded.
    sample: Option<Value>,
}

/// The sample as it is read. The text of a body may contain what no request may, so it is read as that of a callback is.
fn read_as_sent(sample: Value) -> Result<Value, Problem> {
    let body = match sample {
        Value::String(text) => json::read_evidence(text.as_bytes()),
        other => Some(other),
    };
    body.filter(Value::is_object).ok_or_else(|| FieldErrors::one("sample", "This must be a JSON object, or the text of one."))
}

pub fn doc() -> OperationDoc {
    let (text, is_ok) = (|| json!({ "type": "string" }), || json!({ "type": "boolean" }));
    let finding = object([("subject", text()), ("ok", is_ok()), ("detail", text())]);
    let fact =
        object([("fact", text()), ("amount", json!({ "type": ["integer", "null"] })), ("currency", json!({ "type": ["string", "null"] }))]);
    let mut contents = object([("gateway_transaction_id", text()), ("facts", json!({ "type": "array", "items": fact }))]);
    contents["type"] = json!(["object", "null"]);
    let answer = object([("ok", is_ok()), ("checks", json!({ "type": "array", "items": finding })), ("contents", contents)]);
    let described = "A body that the gateway might send: an object, or a text that is read as kindly as the body of a callback.";
    let sample = json!({ "type": ["object", "string", "null"], "description": described });
    OperationDoc::new("Check the configuration of a gateway, and how a sample callback is read.")
        .taking_options(closed_object(&[], [("sample", sample)]))
        .answering(StatusCode::OK, answer)
}

/// Responds with `{"ok":…,"checks":[…]}` and the facts in the sample.
pub async fn test(
    WriteRequest { state: gateways, caller, id }: WriteRequest<Gateway>,
    JsonOptions(Test { sample }): JsonOptions<Test>,
) -> Result<Json<Value>, Problem> {
    let sample = sample.map(read_as_sent).transpose()?;
    let Tested { checks, contents } = gateways.test(&caller, id, sample).await?;
    Ok(Json(json!({ "ok": checks.iter().all(|check| check.ok), "checks": checks, "contents": contents })))
}

#[derive(Debug)]
struct Tested {
    checks: Vec<Finding>,
    /// What the sample says about a payment.
    contents: Option<Value>,
}

impl Gateways {
    /// Checks the configuration of a gateway, and how a sample callback is read.
    async fn test(&self, caller: &Caller, id: GatewayId, sample: Option<Value>) -> Result<Tested, Problem> {
        Gateway::require(caller, Gateway::writing())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let gateway = transaction.find::<Gateway>(id).await?.ok_or(ProblemCode::RecordNotFound)?.fields;
        let driver = drivers::named(&gateway.driver).map_err(|_| ProblemCode::RecordNotFound)?;
        let account = match signing_secret(&self.key, id, gateway.signing_secret.as_deref()) {
            Ok(signing_secret) => {
                driver.account(&gateway.settings, signing_secret).map_err(|bad| Finding::bad("settings", bad.to_string()))
            }
            Err(error) => Err(Finding::bad("signing_secret", format!("The secret must be set again: {error}."))),
        };
        let (mut checks, mut contents) = (Vec::new(), None);
        match account {
            Ok(account) => {
                checks = account.check(transaction.now);
                if let Some(sample) = sample {
                    let mode = mode(&self.key, id, gateway.secret_key.as_deref());
                    let (found, update) = read_sample(account.read(&sample), mode);
                    checks.extend(found);
                    // The settings may show it as well as the sample.
                    checks.dedup_by(|check, before| check.subject == before.subject);
                    contents = update;
                }
                checks.extend(gateway.overlap_finding(transaction.now));
            }
            Err(bad) => checks.push(bad),
        }
        Ok(Tested { checks, contents })
    }
}

fn read_sample(Reading { id, mode, update, .. }: Reading, of_gateway: Option<Mode>) -> (Vec<Finding>, Option<Value>) {
    match (update, OtherMode::of(mode, of_gateway)) {
        (Ok(None), _) => (vec![Finding::bad("sample", "Events of this type are ignored.")], None),
        (_, Some(other)) => (vec![Finding::bad("sample", other.detail())], None),
        (Ok(Some(update)), None) => {
            let ambiguous = id.as_ref() == Some(&update.transaction);
            let warning = ambiguous.then(|| Finding::bad("id", ID_OF_TRANSACTION));
            let read = match update.remarks.sentences() {
                Some(remarks) => Finding::bad("sample", format!("The sample can be processed, but for this: {remarks}")),
                None => Finding::good("sample", "The sample can be processed."),
            };
            (warning.into_iter().chain([read]).collect(), Some(show(&update)))
        }
        (Err(refused), None) => (vec![Finding::bad("sample", refused.to_string())], None),
    }
}

fn show(update: &PaymentUpdate) -> Value {
    let facts: Vec<_> =
        update.facts.iter().map(|fact| json!({ "fact": fact.kind, "amount": fact.amount, "currency": fact.currency })).collect();
    json!({ "gateway_transaction_id": update.transaction, "facts": facts })
}
