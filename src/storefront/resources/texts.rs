//! The log of the SMS guard, and the conversion of texted codes.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use chrono::TimeDelta;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::{Area, Scope};
use crate::companies::Authenticated;
use crate::contact::PhoneNumber;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::{StoreId, TextId};
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::Problem;
use crate::providers::sms::SendTextErrorKind;
use crate::resources::{FieldType, Instant, Reference, Resource, TextEnum, Word};
use crate::storefront::resources::logged_values::NumberRange;
use crate::storefront::resources::stores::Country;
use crate::storefront::sms_guard::{self, TextRefusal};
use crate::storefront::state::Storefront;

/// The period that the conversion covers.
const CONVERSION_WINDOW: TimeDelta = TimeDelta::days(1);

crate::text_enum! {
    /// The status of a text.
    pub enum TextStatus {
        /// It was counted as sent before a provider was called.
        Sent = "sent",
        /// It is no longer counted, because no provider accepted it.
        GivenBack = "given_back",
        /// The SMS guard refused it before any provider was called.
        Refused = "refused",
    }
}

crate::text_enum! {
    /// What became of a text that was sent.
    pub enum TextDelivery {
        /// It is on the phone.
        Delivered = "delivered",
        /// The network did not deliver it.
        Undelivered = "undelivered",
        /// The provider did not send it.
        Failed = "failed",
    }
}

impl TextEnum for TextRefusal {
    const VARIANTS: &'static [&'static str] = sms_guard::RULES;
}

/// What the customer was told of a refusal.
#[derive(Clone, Copy, Debug)]
pub enum RefusalCode {}

impl TextEnum for RefusalCode {
    const VARIANTS: &'static [&'static str] = sms_guard::CODES;
}

crate::read_only! {
    /// A text in the API for operators.
    pub struct TextRecord {
        /// The store that the text is from.
        #[filtered]
        store_id as "store": Reference<StoreId>,
        /// The phone number; null if it was invalid or has been erased.
        #[filtered]
        number: Option<PhoneNumber>,
        /// The phone number without its last four digits.
        #[filtered]
        number_range: Option<NumberRange>,
        /// The country of the phone number (ISO 3166).
        #[filtered]
        country: Option<Country>,
        /// `sent`; `given_back`: no provider accepted it; `refused`: the SMS guard refused it.
        #[filtered]
        status: Word<TextStatus>,
        /// Why the text was not sent, as a problem code.
        #[filtered]
        refusal: Option<Word<RefusalCode>>,
        /// The rule that refused the text. A limit has the name of the setting of the store.
        #[filtered]
        rule: Option<Word<TextRefusal>>,
        /// Why the text was not sent, as a sentence for operators.
        reason: Option<String>,
        /// The values that the rule decided on.
        details: Option<RefusalDetails>,
        /// When the code in the text was used.
        used_at: Option<Instant>,
        /// The provider that took the text, if it reports of it: its name in the settings, or the id of a message provider of the company.
        provider: Option<String>,
        /// What the provider reported: `delivered`; `undelivered`: the network did not deliver it; `failed`: the provider did not send it.
        delivery: Option<Word<TextDelivery>>,
        /// The provider's error code.
        delivery_code: Option<String>,
        /// When the provider reported it.
        delivery_at: Option<Instant>,
    }
}

impl Resource for TextRecord {
    type Id = TextId;
    type State = Storefront;

    const SINGULAR: &'static str = "text";
    const PLURAL: &'static str = "texts";
    const AREA: Area = Area::Customers;
    const TABLE: &'static str = "text_log";
}

/// The values that a rule of the SMS guard decided on.
#[derive(Clone, Debug, Deserialize)]
pub struct RefusalDetails(Value);

impl From<RefusalDetails> for Value {
    fn from(RefusalDetails(details): RefusalDetails) -> Self {
        details
    }
}

crate::field_type!(RefusalDetails => Value, details());

/// The fields that they may have.
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
        "type": "object",
        "properties": {
            "limit": { "type": "integer", "description": "The limit: texts, numbers, or seconds between texts." },
            "seen": { "type": "integer", "description": "The value that was counted, in the same unit." },
            "until": { "type": "string", "format": "date-time", "description": "When the limit allows another text." },
            "texted": { "type": "integer", "description": "Codes of strangers that made the guard pause texts." },
            "used": { "type": "integer", "description": "How many of these codes were used." },
            "scope": { "enum": ["range", "country", "store"], "description": "What the guard paused." },
            "name": { "type": "string", "description": "The number range, or the country (ISO 3166); empty for all countries where the store has no customers." },
            "paused_at": { "type": "string", "format": "date-time", "description": "When texts were paused." },
            "paused_until": { "type": "string", "format": "date-time", "description": "When a pause of the guard ends by itself." },
            "paused_reason": { "type": "string", "description": "Why they are paused." },
            "reported_at": { "type": "string", "format": "date-time", "description": "When a provider reported that the number cannot receive texts." },
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
        ("undelivered", json!({ "type": "integer", "description": "Texts that providers reported as not delivered." })),
        ("conversion", json!({ "type": "number", "description": "The ratio of used to texted codes, from 0 to 1." })),
    ]);
    let ranges = json!({ "type": "array", "items": range });
    OperationDoc::new("Show how many texted codes were used in the last 24 hours, by country and number range.")
        .answering(StatusCode::OK, object([("since", Instant::schema()), ("ranges", ranges)]))
}

/// `GET texts/conversion`: the conversion of the last 24 hours by country and number range, lowest first.
pub(super) async fn conversion(State(storefront): State<Storefront>, authenticated: Authenticated) -> Result<Json<Value>, Problem> {
    authenticated.caller.require(Area::Customers, Scope::Read)?;
    let caller = authenticated.admitted().await?;
    let (company, since) = (caller.company, storefront.clock.now() - CONVERSION_WINDOW);
    let count = |mut conn: Connection| async move { sms_guard::list_conversion(&mut conn, company, since).await };
    let ranges = storefront.pool.read(caller.who.id(), count).await?;
    Ok(Json(json!({ "since": timestamp(since), "ranges": ranges })))
}
