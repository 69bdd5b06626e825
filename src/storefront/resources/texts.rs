//! The log of the SMS guard, and the conversion of texted codes.

use axum::Json as Answer;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};

use crate::companies::{CallingCompany, Scope};
use crate::kernel::clock::timestamp;
use crate::kernel::ids::{StoreId, TextId};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::members;
use crate::resources::{Described, Filter, Instant, Reference, Resource};
use crate::storefront::{Storefront, texts};

/// The period that the conversion covers.
const CONVERSION_WINDOW: TimeDelta = TimeDelta::days(1);

/// The states of a text: counted before it is handed to a provider, not counted any more because no provider took it, or refused
/// by the guard before any provider was called.
const STATUSES: &[&str] = &["sent", "given_back", "refused"];

crate::columns! {
    /// A text in the API for operators.
    pub struct TextRecord {
        pub store_id: StoreId,
        pub number: Option<String>,
        pub number_range: String,
        pub country: Option<String>,
        pub status: String,
        pub refusal: Option<String>,
        pub used_at: Option<DateTime<Utc>>,
    }
}

impl Resource for TextRecord {
    type Id = TextId;
    type Room = Storefront;

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
    ];

    fn shown(&self) -> Map<String, Value> {
        // A refusal is stored as the code of its problem, so the problem's detail explains it here too.
        let refusal = self.refusal.as_deref();
        let reason = refusal.and_then(|name| ProblemCode::ALL.iter().find(|code| code.as_str() == name)).map(|code| code.detail());
        members! {
            "store": self.store_id,
            "number": self.number,
            "number_range": self.number_range,
            "country": self.country,
            "status": self.status,
            "refusal": refusal,
            "reason": reason,
            "used_at": self.used_at.map(timestamp),
        }
    }

    fn shown_beside() -> Vec<Described> {
        vec![
            Described::shown::<Reference<StoreId>>("store", "Whose text."),
            Described::formed("number", "Where to.", json!({ "type": "string" })),
            Described::formed("number_range", "All but the last four digits.", json!({ "type": "string" })),
            Described::formed("country", "The number's country.", json!({ "type": ["string", "null"] })),
            Described::formed("status", "What became of it.", json!({ "enum": STATUSES })),
            Described::formed("refusal", "Why it was refused, as a code of /problems.", json!({ "type": ["string", "null"] })),
            Described::formed("reason", "The same in a sentence.", json!({ "type": ["string", "null"] })),
            Described::shown::<Option<Instant>>("used_at", "When the code in it was used."),
        ]
    }
}

/// `GET texts/conversion`: the conversion of the last 24 hours by country and number range, lowest first.
pub(super) async fn conversion(State(storefront): State<Storefront>, caller: CallingCompany) -> Result<Answer<Value>, Problem> {
    caller.may(Scope::Read)?;
    let since = storefront.clock.now() - CONVERSION_WINDOW;
    let ranges = texts::list_conversion(&mut *storefront.pool.acquire().await?, caller.company, since).await?;
    Ok(Answer(json!({ "since": timestamp(since), "ranges": ranges })))
}
