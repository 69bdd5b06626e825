//! Stores in the API for operators, with the limits and the pause of their texts.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::audit_trail::ChangedRecord;
use crate::kernel::clock::timestamp;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::members;
use crate::resources::{Editable, FieldDoc, Instant, Line, Member, New, PublishesEvents, Record, RecordTransaction, Resource};
use crate::storefront::state::Storefront;

/// The reason that is stored when an operator pauses texts without giving one.
const PAUSED_BY_HAND: &str = "paused manually";

crate::columns! {
    /// A store in the API for operators.
    pub struct StoreRecord {
        pub name: String,
        pub text_countries: Vec<String>,
        pub seconds_between_texts: i32,
        pub texts_per_number_and_hour: i32,
        pub texts_per_number_and_day: i32,
        pub numbers_per_range: i32,
        pub texts_per_day: i32,
        pub texts_paused_at: Option<DateTime<Utc>>,
        pub texts_paused_reason: Option<String>,
        pub texts_resumed_at: Option<DateTime<Utc>>,
    }
}

impl Default for StoreRecord {
    /// The default limits (decisions, section 5).
    fn default() -> Self {
        Self {
            name: String::new(),
            text_countries: Vec::new(),
            seconds_between_texts: 30,
            texts_per_number_and_hour: 6,
            texts_per_number_and_day: 12,
            numbers_per_range: 20,
            texts_per_day: 1_000,
            texts_paused_at: None,
            texts_paused_reason: None,
            texts_resumed_at: None,
        }
    }
}

impl Resource for StoreRecord {
    type Id = StoreId;
    type State = Storefront;

    const SINGULAR: &'static str = "store";
    const PLURAL: &'static str = "stores";
    const SEARCH: &'static [&'static str] = &["name"];

    fn shown(&self) -> Map<String, Value> {
        members! {
            "name": self.name,
            "text_countries": self.text_countries,
            "seconds_between_texts": self.seconds_between_texts,
            "texts_per_number_and_hour": self.texts_per_number_and_hour,
            "texts_per_number_and_day": self.texts_per_number_and_day,
            "numbers_per_range": self.numbers_per_range,
            "texts_per_day": self.texts_per_day,
            "texts_paused": self.texts_paused_at.is_some(),
            "texts_paused_at": self.texts_paused_at.map(timestamp),
            "texts_paused_reason": self.texts_paused_reason,
        }
    }
}

/// Publishes no events.
impl PublishesEvents for StoreRecord {
    const AUDITED_AS: Option<fn(StoreId) -> ChangedRecord> = Some(ChangedRecord::Store);
}

/// The fields of a store that can be sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StoreBody {
    name: Member<Line<255>>,
    text_countries: Member<Vec<Country>>,
    seconds_between_texts: Member<Count>,
    texts_per_number_and_hour: Member<Count>,
    texts_per_number_and_day: Member<Count>,
    numbers_per_range: Member<Count>,
    texts_per_day: Member<Count>,
    texts_paused: Member<bool>,
    texts_paused_reason: Member<Option<Line<255>>>,
}

/// The ISO 3166 code of a country: two capital letters.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Country(String);

impl TryFrom<String> for Country {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase());
        is_code.then_some(Self(text)).ok_or("A country code consists of two capital letters, such as DE.")
    }
}

/// A limit, from 0 to 1,000,000.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i32")]
struct Count(i32);

impl TryFrom<i32> for Count {
    type Error = &'static str;

    fn try_from(number: i32) -> Result<Self, Self::Error> {
        (0..=1_000_000).contains(&number).then_some(Self(number)).ok_or("This must be a whole number from 0 to 1,000,000.")
    }
}

impl From<Count> for i32 {
    fn from(count: Count) -> Self {
        count.0
    }
}

/// The JSON schema of a [`Count`].
fn limit() -> Value {
    json!({ "type": "integer", "minimum": 0, "maximum": 1_000_000 })
}

impl StoreBody {
    fn put(self, store: &mut StoreRecord, now: DateTime<Utc>) -> Result<(), Problem> {
        self.name.put(&mut store.name);
        if let Member::Sent(countries) = self.text_countries {
            store.text_countries = countries.into_iter().map(|Country(code)| code).collect();
        }
        self.seconds_between_texts.put(&mut store.seconds_between_texts);
        self.texts_per_number_and_hour.put(&mut store.texts_per_number_and_hour);
        self.texts_per_number_and_day.put(&mut store.texts_per_number_and_day);
        self.numbers_per_range.put(&mut store.numbers_per_range);
        self.texts_per_day.put(&mut store.texts_per_day);
        match self.texts_paused {
            Member::Sent(true) if store.texts_paused_at.is_none() => {
                (store.texts_paused_at, store.texts_paused_reason) = (Some(now), Some(PAUSED_BY_HAND.to_owned()));
            }
            Member::Sent(false) if store.texts_paused_at.is_some() => {
                (store.texts_paused_at, store.texts_paused_reason, store.texts_resumed_at) = (None, None, Some(now));
            }
            Member::Sent(_) | Member::Missing => {}
        }
        if let (Member::Sent(Some(reason)), Some(_)) = (self.texts_paused_reason, store.texts_paused_at) {
            store.texts_paused_reason = Some(reason.into());
        }
        if store.name.is_empty() {
            return Err(FieldErrors::one("name", "name is required."));
        }
        Ok(())
    }
}

impl Editable for StoreRecord {
    type Body = StoreBody;

    fn documented_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::writable::<Line<255>>("name", "The name of the store in texts and mails."),
            FieldDoc::with_schema(
                "text_countries",
                "The countries that texts are sent to, as ISO 3166 codes. An empty list means all countries.",
                json!({ "type": "array", "items": { "type": "string", "pattern": "^[A-Z]{2}$" } }),
            )
            .and_writable(),
            FieldDoc::with_schema("seconds_between_texts", "The minimum time between two texts to one number, in seconds.", limit())
                .and_writable(),
            FieldDoc::with_schema("texts_per_number_and_hour", "The maximum number of texts to one phone number per hour.", limit())
                .and_writable(),
            FieldDoc::with_schema("texts_per_number_and_day", "The maximum number of texts to one phone number per day.", limit())
                .and_writable(),
            FieldDoc::with_schema(
                "numbers_per_range",
                "The maximum number of different phone numbers of one range in ten minutes.",
                limit(),
            )
            .and_writable(),
            FieldDoc::with_schema("texts_per_day", "The maximum number of texts of the store per day.", limit()).and_writable(),
            FieldDoc::with_schema("texts_paused", "Whether texts are paused.", json!({ "type": "boolean" })).and_writable(),
            FieldDoc::read_only::<Option<Instant>>("texts_paused_at", "When texts were paused."),
            FieldDoc::with_schema("texts_paused_reason", "Why texts are paused.", json!({ "type": ["string", "null"], "maxLength": 255 }))
                .and_writable(),
        ]
    }

    async fn create(transaction: &mut RecordTransaction<Storefront>, _: StoreId, body: StoreBody) -> Result<New<Self>, Problem> {
        let mut store = Self::default();
        body.put(&mut store, transaction.now)?;
        Ok(store.into())
    }

    async fn change(transaction: &mut RecordTransaction<Storefront>, before: &Record<Self>, body: StoreBody) -> Result<Self, Problem> {
        let mut store = before.fields.clone();
        body.put(&mut store, transaction.now)?;
        Ok(store)
    }
}
