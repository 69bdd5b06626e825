//! The description of `POST /webhooks` and `POST /webhooks/{gateway}` in `GET /openapi.json`.

use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::gateways::recording::Acknowledgement;
use crate::kernel::openapi::{Description, OperationDoc, object};
use crate::kernel::problem::ProblemCode;

const REFUSED: [ProblemCode; 8] = [
    ProblemCode::GatewayNotConfigured,
    ProblemCode::CompanySuspended,
    ProblemCode::CompanyMoving,
    ProblemCode::CompanyMismatch,
    ProblemCode::CallbackNotGenuine,
    ProblemCode::CallbackNotUnderstood,
    ProblemCode::BodyTooLarge,
    ProblemCode::RateLimited,
];

/// The routes that gateways call.
pub fn description() -> Description {
    let with_key = operation("Receive a callback of one of the company's gateways.")
        .explained("Requires the scope `callbacks`.".to_owned())
        .taking_header("X-Gateway-ID", "The id of the gateway, if the company has several.")
        .refusing(&[ProblemCode::ApiKeyInvalid, ProblemCode::ScopeMissing, ProblemCode::AddressForbidden, ProblemCode::GatewayAmbiguous]);
    let without_key = operation("Receive a callback that only its signature authenticates.")
        .authenticated_by(&[])
        .at("gateway", "The UUID or the id of the gateway.");
    let mut description = Description::default();
    description.route(Method::POST, "callbacks", "/webhooks".to_owned(), with_key);
    description.route(Method::POST, "callbacks", "/webhooks/{gateway}".to_owned(), without_key);
    description
}

fn operation(summary: &'static str) -> OperationDoc {
    let answer = object([("message", json!({ "enum": Acknowledgement::ALL.map(Acknowledgement::message) }))]);
    OperationDoc::new(summary)
        .taking_body_explained("The callback, as the gateway signed it.", json!({ "type": "object" }))
        .answering(StatusCode::OK, answer)
        .refusing(&REFUSED)
}
