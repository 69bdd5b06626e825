//! The description of `POST /webhooks` and `POST /webhooks/{gateway}` in `GET /openapi.json`.

use axum::http::Method;
use serde_json::{Map, Value, json};

use crate::gateways::callbacks::receive::Acknowledgement;
use crate::kernel::openapi::{Description, header, json_content, object, path_parameter, refusals};
use crate::kernel::problem::ProblemCode;

const REFUSED: [ProblemCode; 6] = [
    ProblemCode::GatewayNotConfigured,
    ProblemCode::CompanyMismatch,
    ProblemCode::CallbackNotGenuine,
    ProblemCode::CallbackNotUnderstood,
    ProblemCode::BodyTooLarge,
    ProblemCode::RateLimited,
];

/// The routes that gateways call.
pub(in crate::gateways) fn description() -> Description {
    let with_key = [ProblemCode::ApiKeyInvalid, ProblemCode::ScopeMissing, ProblemCode::AddressForbidden, ProblemCode::GatewayAmbiguous];
    let mut with_key = operation("Receive a callback of one of the company's gateways.", REFUSED.into_iter().chain(with_key));
    with_key["description"] = "Requires the scope `callbacks`.".into();
    with_key["parameters"] = json!([header("X-Gateway-ID", "The id of the gateway, if the company has several.")]);
    let mut without_key = operation("Receive a callback that only its signature authenticates.", REFUSED);
    without_key["security"] = json!([]);
    without_key["parameters"] = json!([path_parameter("gateway", "The UUID or the id of the gateway.")]);
    let mut description = Description::default();
    description.route(Method::POST, "/webhooks".to_owned(), with_key);
    description.route(Method::POST, "/webhooks/{gateway}".to_owned(), without_key);
    description
}

fn operation(sentence: &str, refused: impl IntoIterator<Item = ProblemCode>) -> Value {
    let answer = object([("message", json!({ "enum": Acknowledgement::ALL.map(Acknowledgement::message) }))]);
    let mut responses = Map::from_iter([("200".to_owned(), json_content("Success.", answer))]);
    responses.extend(refusals(refused));
    let mut body = json_content("The callback, as the gateway signed it.", json!({ "type": "object" }));
    body["required"] = true.into();
    json!({ "tags": ["callbacks"], "summary": sentence, "requestBody": body, "responses": responses })
}
