//! `GET events/{uuid}/explain?webhook=`

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRef, Query};
use axum::http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::companies::Companies;
use crate::kernel::ids::{EventId, SubscriptionId};
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{Extension, FieldType, PathId, ReadRequest, Reference};
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_log::Delivery;
use crate::webhooks::explanation::gates::{Gate, Verdict};

const PARAMETERS: QueryParameters = &[("webhook", "The webhook at which the event should have arrived.")];

pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("developers").route(Method::GET, "/events/{uuid}/explain", doc(), explain)
}

fn doc() -> OperationDoc {
    let gate = object([
        ("gate", json!({ "enum": Gate::NAMES })),
        ("passed", json!({ "type": "boolean" })),
        ("detail", json!({ "type": "string", "description": "What is the case, in a sentence." })),
    ]);
    let explanation = object([
        ("event_id", Reference::<EventId>::schema()),
        ("webhook_id", Reference::<SubscriptionId>::schema()),
        ("delivery_id", json!({ "type": ["string", "null"] })),
        ("verdict", json!({ "enum": Verdict::NAMES })),
        ("gates", json!({ "type": "array", "items": gate, "description": "In order, up to the one that stopped the event." })),
    ]);
    OperationDoc::new("Explain why an event arrived at a webhook, or why not.")
        .taking_query(PARAMETERS)
        .needing_query(&["webhook"])
        .answering(StatusCode::OK, object([("explanation", explanation)]))
}

#[derive(Deserialize)]
struct Asked {
    webhook: SubscriptionId,
}

async fn explain(
    ReadRequest { state: webhooks, caller }: ReadRequest<Delivery>,
    PathId(event): PathId<EventId>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let Query(Asked { webhook }) = asked.map_err(|error| Problem::new(ProblemCode::ParameterInvalid).detail(error.body_text()))?;
    let explanation = webhooks.explain(&caller, event, webhook).await?;
    Ok(Json(json!({
        "explanation": {
            "event_id": event,
            "webhook_id": webhook,
            "delivery_id": explanation.delivery,
            "verdict": explanation.verdict.name(),
            "gates": explanation.gates.iter().map(Gate::present).collect::<Vec<_>>(),
        },
    })))
}
