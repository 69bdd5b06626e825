//! Subscriptions: an endpoint of a company and the events it wants (interface 2, Webhook subscription; decisions, section 7).
//!
//! Outside it is called a webhook. Its five routes are the convention's; beside them it is enabled, disabled, tried out and given a new
//! secret. When a subscription is disabled or deleted, in whatever way, what has not been delivered to it is called off with it.

mod attempt_timeout;
mod changes;
mod documentation;
mod events_wanted;
mod extra_headers;
mod queries;
mod rate_limit;
mod resource;
mod routes;
mod secret;
mod status;
mod test_event;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::types::Json;

use crate::columns;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::targets::EndpointUrl;

pub use attempt_timeout::AttemptTimeout;
pub use events_wanted::EventsWanted;
pub use extra_headers::ExtraHeaders;
pub use rate_limit::RateLimit;
pub use secret::SigningSecret;
pub use status::{DisabledReason, Status};

pub(super) use routes::extension;

columns! {
    /// What is kept of a subscription.
    pub struct Subscription {
        /// Where events are posted to.
        pub url: EndpointUrl,
        /// What its owner calls it.
        pub description: Option<String>,
        /// Which events.
        pub events: EventsWanted,
        /// Whether any are sent.
        pub status: Status,
        /// Why none are.
        pub disabled_reason: Option<DisabledReason>,
        /// Since when none are.
        pub disabled_at: Option<DateTime<Utc>>,
        /// The form of the events.
        pub api_version: ApiVersion,
        /// The form of `X-Service-Signature`.
        pub signature_format: SignatureFormat,
        /// Further headers of every POST: their names. The values only where none are sealed, in rows from before there was a seal.
        pub headers: Json<ExtraHeaders>,
        /// The same with their values, for `ExtraHeaders::open`.
        pub sealed_headers: Option<Vec<u8>>,
        /// How long an attempt may take.
        pub timeout: AttemptTimeout,
        /// How many may begin in a second; as many as there are, unless somebody says.
        pub rate_limit: Option<RateLimit>,
        /// What waits for what.
        pub ordering: Ordering,
        /// The signing secret, for `SigningSecret::open`.
        pub sealed_secret: Vec<u8>,
        /// The one before it.
        pub sealed_previous_secret: Option<Vec<u8>>,
        /// Until when that one signs as well.
        pub previous_secret_until: Option<DateTime<Utc>>,
    }
}

/// The form of the events; there is one so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[sqlx(type_name = "text")]
pub enum ApiVersion {
    /// [`crate::events::API_VERSION`]
    #[default]
    #[serde(rename = "1.0")]
    #[sqlx(rename = "1.0")]
    V1,
}

/// How `X-Service-Signature` is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SignatureFormat {
    /// Lower-case hex, which the interface's own verification sample compares with.
    #[default]
    Bare,
    /// `sha256=` and the hex.
    Prefixed,
}

/// What waits for what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Ordering {
    /// Nothing: deliveries are made as they become due.
    #[default]
    None,
    /// The next delivery about a record, until the one before has ended, however it ends.
    Resource,
}

impl Subscription {
    fn new(url: EndpointUrl, sealed_secret: Vec<u8>) -> Self {
        Self {
            url,
            description: None,
            events: EventsWanted::default(),
            status: Status::Enabled,
            disabled_reason: None,
            disabled_at: None,
            api_version: ApiVersion::default(),
            signature_format: SignatureFormat::default(),
            headers: Json::default(),
            sealed_headers: None,
            timeout: AttemptTimeout::default(),
            rate_limit: None,
            ordering: Ordering::default(),
            sealed_secret,
            sealed_previous_secret: None,
            previous_secret_until: None,
        }
    }

    /// Puts `headers` in place of those there were; masked values stay what they were.
    fn set_headers(&mut self, headers: ExtraHeaders, key: &ApplicationKey, id: SubscriptionId) -> Result<(), CannotOpen> {
        let before = match &self.sealed_headers {
            Some(sealed) => ExtraHeaders::open(key, id, sealed)?,
            None => self.headers.0.clone(),
        };
        let headers = headers.keeping(&before);
        if headers != before || self.sealed_headers.is_none() {
            (self.headers, self.sealed_headers) = (Json(headers.masked()), Some(headers.seal(key, id)));
        }
        Ok(())
    }

    fn enable(&mut self) {
        self.status = Status::Enabled;
        (self.disabled_reason, self.disabled_at) = (None, None);
    }

    /// One that is disabled already keeps its reason.
    pub(super) fn disable(&mut self, reason: DisabledReason, now: DateTime<Utc>) {
        if self.status == Status::Enabled {
            self.status = Status::Disabled;
            (self.disabled_reason, self.disabled_at) = (Some(reason), Some(now));
        }
    }

    /// Without an overlap the old secret is gone at once. A secret that was already on its way out goes too: only two ever sign.
    fn rotate(&mut self, sealed_secret: Vec<u8>, overlap: TimeDelta, now: DateTime<Utc>) {
        let before = std::mem::replace(&mut self.sealed_secret, sealed_secret);
        let until = (overlap > TimeDelta::zero()).then(|| now + overlap);
        (self.sealed_previous_secret, self.previous_secret_until) = (until.map(|_| before), until);
    }
}
