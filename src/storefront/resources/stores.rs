//! Stores in the API for operators, with the limits and the pause of their texts.

use std::mem::take;

use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::json;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Scope};
use crate::contact::PhoneNumber;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::{CompanyId, StoreId};
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{
    Editable, Fields, FilterForm, Instant, IntegerIn, Line, Member, New, PublishesEvents, Record, RecordTransaction, Resource,
    ResourceState,
};
use crate::storefront::caches::Caches;
use crate::storefront::resources::passkey_fields::{MAX_ORIGINS, PasskeyDomain, PasskeyOrigins, read_domain};
use crate::storefront::state::Storefront;
use crate::storefront::stores::{APP_HASH_LEN, ChallengeMode, MAX_DOMAIN_LEN};

/// The reason that is stored when an operator pauses texts without giving one.
const PAUSED_BY_HAND: &str = "paused manually";
/// How far ahead the end of an opening may be: a store that is always opening would have no guard.
const LONGEST_OPENING: TimeDelta = TimeDelta::days(7);

crate::fields! {
    /// A store in the API for operators.
    pub struct StoreRecord, body StoreBody {
        /// The name of the store in texts and mails.
        #[searched]
        name: Line<255>,
        /// The countries that texts are sent to, as ISO 3166 codes. An empty list means all countries.
        text_countries: Vec<Country>,
        /// The minimum time between two texts to one number, in seconds.
        seconds_between_texts: Limit<30>,
        /// The maximum number of texts to one phone number per hour.
        texts_per_number_and_hour: Limit<6>,
        /// The maximum number of texts to one phone number per day.
        texts_per_number_and_day: Limit<12>,
        /// The maximum number of different phone numbers of one range in ten minutes.
        numbers_per_range: Limit<20>,
        /// The maximum number of strangers' phone numbers without a used code that one client address asks for per day, beyond those with one.
        numbers_per_address_and_day: Limit<10>,
        /// The maximum number of texts to one country per day.
        texts_per_country_and_day: Limit<1_000>,
        /// The maximum number of texts of the store per day.
        texts_per_day: Limit<1_000>,
        /// The share of the texts per day that strangers leave to customers whose number is proven, in percent.
        texts_reserved_percent: Percent<30>,
        /// The number of unused codes of strangers in one range of numbers from which on their use is judged, and so many may be under way.
        unused_codes_per_range: Limit<5>,
        /// The same in one country, once the store knows its countries.
        unused_codes_per_country: Limit<10>,
        /// The same altogether.
        unused_codes_per_store: Limit<50>,
        /// The share of codes that has to be used, in percent.
        used_codes_percent: Percent<20>,
        /// Until when the store opens: many strangers at once are expected. At most seven days ahead.
        opening_until: Option<Instant>,
        /// The number of unused codes of strangers that may be under way meanwhile, in one country and altogether.
        opening_texts: Limit<500>,
        /// The domain of the store's website, whose pages may fill in the codes of texts: the last line of every text names it (WebOTP).
        web_otp_domain: Option<WebOtpDomain>,
        /// The hash of the store's Android app, which may read the codes of texts: every text contains it (SMS Retriever).
        android_app_hash: Option<AndroidAppHash>,
        /// When customers are asked to solve the challenge of the deployment, if it has one: `off`, `risk` (when a request is suspicious) or
        /// `always`.
        challenge: ChallengeMode,
        /// Whether every sign-in publishes the event customer.signed_in.
        sign_in_events: bool,
        /// Whether customers may set up a second factor: `off`, or `optional`. Those who have one are asked for it in any case.
        second_factor: SecondFactorOffer,
        /// The domain that passkeys are made for (relying party id). Without one, the store takes no passkeys.
        passkey_domain: Option<PasskeyDomain>,
        /// The pages and apps that may use the passkeys. An empty list means the pages of the domain itself.
        passkey_origins: PasskeyOrigins,
    }
    by_hand {
        /// Whether an operator paused the texts.
        #[filtered]
        texts_paused: bool = |store| store.texts_paused_at.is_some(),
        /// Why texts are paused.
        texts_paused_reason: Option<Line<255>> = |store| store.texts_paused_reason.clone(),
    }
    read_only {
        /// When texts were paused.
        texts_paused_at: Option<Instant>,
    }
    hidden {
        /// Why texts are paused: a reason of an operator, or of the service.
        texts_paused_reason: Option<String>,
        /// When a pause was last ended.
        texts_resumed_at: Option<DateTime<Utc>>,
    }
}

crate::text_enum! {
    /// Whether a store offers its customers a second factor.
    pub enum SecondFactorOffer, default Off {
        /// No customer can set one up.
        Off = "off",
        /// Every customer can.
        Optional = "optional",
    }
}

/// A domain with at least two labels, in lower case and ASCII.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct WebOtpDomain(String);

impl TryFrom<String> for WebOtpDomain {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let domain = read_domain(&text).filter(|domain| domain.len() <= MAX_DOMAIN_LEN);
        domain.map(Self).ok_or("This must be a domain such as shop.example, of at most 40 characters.")
    }
}

impl From<WebOtpDomain> for String {
    fn from(domain: WebOtpDomain) -> Self {
        domain.0
    }
}

/// The hash by which Android knows an app: eleven characters of Base64.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct AndroidAppHash(String);

impl TryFrom<String> for AndroidAppHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let is_hash = text.len() == APP_HASH_LEN && text.bytes().all(is_digit);
        is_hash.then_some(Self(text)).ok_or("This must be the hash of an Android app: eleven letters, digits, + or /.")
    }
}

impl From<AndroidAppHash> for String {
    fn from(hash: AndroidAppHash) -> Self {
        hash.0
    }
}

/// The ISO 3166 code of a country that has phone numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Country(String);

impl TryFrom<String> for Country {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let code = text.to_ascii_uppercase();
        match PhoneNumber::are_in(&code) {
            true => Ok(Self(code)),
            false => Err("This must be the ISO 3166 code of a country with phone numbers, such as DE."),
        }
    }
}

impl From<Country> for String {
    fn from(country: Country) -> Self {
        country.0
    }
}

/// A limit, from 0 to 1,000,000, of a new store `DEFAULT` (decisions, section 5).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct Limit<const DEFAULT: i32>(UpToAMillion);

type UpToAMillion = IntegerIn<0, 1_000_000>;

impl<const DEFAULT: i32> From<Limit<DEFAULT>> for i32 {
    fn from(limit: Limit<DEFAULT>) -> Self {
        limit.0.into()
    }
}

crate::field_type!(WebOtpDomain => String, json!({ "type": "string", "maxLength": MAX_DOMAIN_LEN, "examples": ["shop.example"] }));
crate::field_type!(AndroidAppHash => String, json!({ "type": "string", "pattern": "^[A-Za-z0-9+/]{11}$" }));
/// A percentage, of a new store `DEFAULT`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(transparent)]
pub struct Percent<const DEFAULT: i32>(UpToAHundred);

type UpToAHundred = IntegerIn<0, 100>;

impl<const DEFAULT: i32> From<Percent<DEFAULT>> for i32 {
    fn from(percent: Percent<DEFAULT>) -> Self {
        percent.0.into()
    }
}

crate::field_type!(
    Country => String,
    json!({ "type": "string", "pattern": "^[A-Z]{2}$" }),
    filtered by FilterForm::text::<Country>("a country such as DE")
);
crate::field_type!(Limit<DEFAULT> => i32, UpToAMillion::schema(), initially DEFAULT; for const DEFAULT: i32);
crate::field_type!(Percent<DEFAULT> => i32, UpToAHundred::schema(), initially DEFAULT; for const DEFAULT: i32);

/// All that the routes of stores need. A command builds it from a pool and a clock, without the many parts of a [`Storefront`].
#[derive(Clone, Debug)]
pub struct Stores {
    pool: Pool,
    clock: Clock,
    pub(super) caches: Caches,
}

impl Stores {
    /// The stores of a process that serves no customers.
    pub fn new(pool: Pool, clock: Clock) -> Self {
        Self { pool, clock, caches: Caches::new() }
    }

    /// The stores of a storefront, whose caches they evict.
    pub fn of(storefront: &Storefront) -> Self {
        Self { pool: storefront.pool.clone(), clock: storefront.clock.clone(), caches: storefront.caches.clone() }
    }
}

impl ResourceState for Stores {
    fn pool(&self) -> &Pool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

impl Resource for StoreRecord {
    type Id = StoreId;
    type State = Stores;

    const SINGULAR: &'static str = "store";
    const PLURAL: &'static str = "stores";
    const AREA: Area = Area::Integration;
    /// No customer of a deleted store signs in, and no token of one is good any more.
    const DELETING_REACHES: &'static [(Area, Scope)] = &[(Area::Customers, Scope::Write)];
    /// Whose pages and apps sign customers in, and fill in their codes.
    const LEADS_TO: &'static [&'static str] = &["passkey_domain", "passkey_origins", "web_otp_domain", "android_app_hash"];
}

/// Publishes no events.
impl PublishesEvents for StoreRecord {
    const AUDITED_AS: Option<fn(StoreId) -> ChangedRecord> = Some(ChangedRecord::Store);

    /// A deletion is effective at once. Sessions have nothing of their store but its id, and are good with a key of it only.
    fn evict(stores: &Stores, company: CompanyId) {
        stores.caches.invalidate_stores(company);
    }
}

impl StoreBody {
    /// The body that creates a store with the limits of a new one.
    pub fn named(name: Line<255>) -> Self {
        Self { name: Member::Sent(name), ..Self::default() }
    }
}

impl StoreRecord {
    /// Checks what the types of the fields do not say.
    fn check(self, now: DateTime<Utc>) -> Result<Self, Problem> {
        let mut errors = FieldErrors::default();
        if self.passkey_origins.len() > MAX_ORIGINS {
            errors.add("passkey_origins", format!("There can be {MAX_ORIGINS} at most."));
        }
        if self.opening_until.is_some_and(|until| until > now + LONGEST_OPENING) {
            errors.add("opening_until", "This must be at most seven days ahead.");
        }
        errors.finish().map(|()| self)
    }

    /// Pauses or resumes the texts. The reason of a pause can be changed as long as it lasts.
    fn pause(&mut self, paused: Member<bool>, reason: Member<Option<Line<255>>>, now: DateTime<Utc>) {
        match paused {
            Member::Sent(true) if self.texts_paused_at.is_none() => {
                (self.texts_paused_at, self.texts_paused_reason) = (Some(now), Some(PAUSED_BY_HAND.to_owned()));
            }
            Member::Sent(false) if self.texts_paused_at.is_some() => {
                (self.texts_paused_at, self.texts_paused_reason, self.texts_resumed_at) = (None, None, Some(now));
            }
            Member::Sent(_) | Member::Missing => {}
        }
        if let (Member::Sent(Some(reason)), Some(_)) = (reason, self.texts_paused_at) {
            self.texts_paused_reason = Some(reason.into());
        }
    }
}

impl Editable for StoreRecord {
    type Body = StoreBody;

    async fn create(transaction: &mut RecordTransaction<Stores>, _: StoreId, mut body: StoreBody) -> Result<New<Self>, Problem> {
        let (paused, reason) = (take(&mut body.texts_paused), take(&mut body.texts_paused_reason));
        let mut store = Self::created_by(body)?.check(transaction.now)?;
        store.pause(paused, reason, transaction.now);
        Ok(store.into())
    }

    async fn change(transaction: &mut RecordTransaction<Stores>, before: &Record<Self>, mut body: StoreBody) -> Result<Self, Problem> {
        let (paused, reason) = (take(&mut body.texts_paused), take(&mut body.texts_paused_reason));
        let mut store = before.fields.changed_by(body).check(transaction.now)?;
        store.pause(paused, reason, transaction.now);
        Ok(store)
    }
}
