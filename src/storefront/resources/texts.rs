//! The log of the SMS guard, and the conversion of texted codes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::callers::{Caller, Scope};
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{StoreId, TextId};
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::Problem;
use crate::members;
use crate::providers::sms::SendTextErrorKind;
use crate::resources::{FieldDoc, FieldType, Filter, Instant, Reference, Resource};
use crate::storefront::sending::sms_guard;
use crate::storefront::state::Storefront;

/// The period that the conversion covers.
const CONVERSION_WINDOW: TimeDelta = TimeDelta::days(1);

/// The states of a text: counted as sent before a provider is called, no longer counted because no provider accepted it, or refused
/// by the SMS guard before any provider was called.
const STATUSES: &[&str] = &["sent", "given_back", "refused"];

crate::columns! {
    /// A text in the API for operators.
    pub struct TextRecord {
        pub store_id: StoreId,
        pub number: Option<String>,
        pub number_range: Option<String>,
        pub country: Option<String>,
        pub status: String,
        pub refusal: Option<String>,
        pub rule: Option<String>,
        pub reason: Option<String>,
        pub details: Option<Value>,
        pub used_at: Option<DateTime<Utc>>,
    }
}

impl Resource for TextRecord {
    type Id = TextId;
    type State = Storefront;

    const SINGULAR: &'static str = "text";
    const PLURAL: &'static str = "texts";
    const TABLE: &'static str = "text_log";
    const FILTERS: &'static [Filter] = &[
        Filter::id::<StoreId>("store").on("store_id"),
        Filter::text("number"),
        Filter::text("number_range"),
        Filter::text("country"),
        Filter::one_of("status", STATUSES),
        Filter::text("refusal"),
        Filter::one_of("rule", sms_guard::RULES),
    ];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "store": self.store_id,
            "number": self.number,
            "number_range": self.number_range,
            "country": self.country,
            "status": self.status,
            "refusal": self.refusal,
            "rule": self.rule,
            "reason": self.reason,
            "details": self.details,
            "used_at": self.used_at.map(timestamp),
        }
    }

    fn read_only_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::read_only::<Reference<StoreId>>("store", "The store that the text is from."),
            FieldDoc::with_schema(
                "number",
                "The phone number; null if it was invalid or has been erased.",
                json!({ "type": ["string", "null"] }),
            ),
            FieldDoc::with_schema("number_range", "The phone number without its last four digits.", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema("country", "The country of the phone number (ISO 3166).", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema(
                "status",
                "`sent`; `given_back`: no provider accepted it; `refused`: the SMS guard refused it.",
                json!({ "enum": STATUSES }),
            ),
            FieldDoc::with_schema("refusal", "Why the text was not sent, as a problem code.", json!({ "type": ["string", "null"] })),
            FieldDoc::with_schema(
                "rule",
                "The rule that refused the text. A limit has the name of the setting of the store.",
                rules_or_null(),
            ),
            FieldDoc::with_schema(
                "reason",
                "Why the text was not sent, as a sentence for operators.",
                json!({ "type": ["string", "null"] }),
            ),
            FieldDoc::with_schema("details", "The values that the rule decided on.", details()),
            FieldDoc::read_only::<Option<Instant>>("used_at", "When the code in the text was used."),
        ]
    }
}

fn rules_or_null() -> Value {
    let words: Vec<_> = sms_guard::RULES.iter().copied().map(Some).chain([None]).collect();
    json!({ "enum": words })
}

/// The fields that [`TextRecord::details`] may have.
fn details() -> Value {
    let answer = json!({
        "type": "object",
        "properties": {
            "provider": { "type": "string", "description": "The name of the provider in sms.providers." },
            "answer": { "enum": SendTextErrorKind::ALL.map(SendTextErrorKind::as_str) },
            "detail": { "type": "string", "description": "The status code and the error code of the response." },
        },
    });
    json!({
        "type": ["object", "null"],
        "properties": {
            "limit": { "type": "integer", "description": "The limit: texts, numbers, or seconds between texts." },
            "seen": { "type": "integer", "description": "The value that was counted, in the same unit." },
            "until": { "type": "string", "format": "date-time", "description": "When the limit allows another text." },
            "texted": { "type": "integer", "description": "Codes texted within the ten minutes before the guard paused the store." },
            "used": { "type": "integer", "description": "How many of these codes were used." },
            "paused_at": { "type": "string", "format": "date-time", "description": "When the store's texts were paused." },
            "paused_reason": { "type": "string", "description": "Why they are paused." },
            "providers": { "type": "array", "items": answer, "description": "The providers that were tried, in this order." },
        },
    })
}

/// The description of `GET texts/conversion`.
pub(super) fn conversion_doc() -> OperationDoc {
    let range = object([
        ("country", json!({ "type": ["string", "null"] })),
        ("number_range", json!({ "type": "string" })),
        ("texted", json!({ "type": "integer" })),
        ("used", json!({ "type": "integer" })),
        ("conversion", json!({ "type": "number", "description": "The ratio of used to texted codes, from 0 to 1." })),
    ]);
    let ranges = json!({ "type": "array", "items": range });
    OperationDoc::new("Show how many texted codes were used in the last 24 hours, by country and number range.")
        .answering(StatusCode::OK, object([("since", Instant::schema()), ("ranges", ranges)]))
}

/// `GET texts/conversion`: the conversion of the last 24 hours by country and number range, lowest first.
pub(super) async fn conversion(State(storefront): State<Storefront>, caller: Caller) -> Result<Json<Value>, Problem> {
    caller.require_scope(Scope::Read)?;
    let since = storefront.clock.now() - CONVERSION_WINDOW;
    let ranges = sms_guard::list_conversion(&mut *storefront.pool.acquire().await?, caller.company, since).await?;
    Ok(Json(json!({ "since": timestamp(since), "ranges": ranges })))
}
