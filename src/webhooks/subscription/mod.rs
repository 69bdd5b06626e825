//! Subscriptions: the endpoint of a company and the events it wants (interface 2, Webhook subscription;
//! `docs/specification/decisions.md`, section 7).
//!
//! The API calls a subscription a webhook. Besides the five conventional routes, it has routes to enable, disable and test it and
//! to read and rotate its secret. When a subscription is disabled or deleted, in whatever way, its open deliveries are cancelled.

mod changes;
mod documentation;
mod event_filter;
mod rate_limit;
mod resource;
mod routes;
mod status;
mod test_event;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::types::Json;

use crate::columns;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::endpoint::{AttemptTimeout, ExtraHeaders, SignatureFormat};
use crate::webhooks::targets::EndpointUrl;

pub use event_filter::EventFilter;
pub use rate_limit::RateLimit;
pub use status::{DisabledReason, Status};

pub(super) use routes::extension;

columns! {
    /// A subscription row.
    pub struct Subscription {
        /// The URL that events are posted to.
        pub url: EndpointUrl,
        /// A description for the owner.
        pub description: Option<String>,
        /// The events that are delivered.
        pub events: EventFilter,
        /// Whether deliveries are made.
        pub status: Status,
        /// Why the subscription is disabled.
        pub disabled_reason: Option<DisabledReason>,
        /// When the subscription was disabled.
        pub disabled_at: Option<DateTime<Utc>>,
        /// The version of the event envelope.
        pub api_version: ApiVersion,
        /// The format of `X-Service-Signature`.
        pub signature_format: SignatureFormat,
        /// Additional headers of every POST. The values are masked, except in older rows without `sealed_headers`.
        pub headers: Json<ExtraHeaders>,
        /// The additional headers with their values, encrypted; see `ExtraHeaders::open`.
        pub sealed_headers: Option<Vec<u8>>,
        /// The timeout of an attempt.
        pub timeout: AttemptTimeout,
        /// Maximum number of attempts per second; `None` for no limit.
        pub rate_limit: Option<RateLimit>,
        /// Whether deliveries are ordered.
        pub ordering: Ordering,
        /// The signing secret, encrypted; see `SigningSecret::open`.
        pub sealed_secret: Vec<u8>,
        /// The previous signing secret, encrypted, while a rotation overlaps.
        pub sealed_previous_secret: Option<Vec<u8>>,
        /// Until when the previous signing secret signs as well.
        pub previous_secret_until: Option<DateTime<Utc>>,
    }
}

/// The version of the event envelope; there is one so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[sqlx(type_name = "text")]
pub enum ApiVersion {
    /// [`crate::events::API_VERSION`]
    #[default]
    #[serde(rename = "1.0")]
    #[sqlx(rename = "1.0")]
    V1,
}

/// The ordering of deliveries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Ordering {
    /// No ordering: deliveries are made as they become due.
    #[default]
    None,
    /// The next delivery about a record waits until the one before has ended, however it ends.
    Resource,
}

impl Subscription {
    fn new(url: EndpointUrl, sealed_secret: Vec<u8>) -> Self {
        Self {
            url,
            description: None,
            events: EventFilter::default(),
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

    /// Replaces the additional headers; masked values keep the value they had.
    fn set_headers(&mut self, headers: ExtraHeaders, key: &ApplicationKey, id: SubscriptionId) -> Result<(), CannotOpen> {
        let before = match &self.sealed_headers {
            Some(sealed) => ExtraHeaders::open(key, id, sealed),
            None => Ok(self.headers.0.clone()),
        };
        let headers = match &before {
            Ok(before) => headers.with_unmasked_values(before),
            // Headers that were sealed under a lost application key can be replaced, but none of their values can be kept.
            Err(CannotOpen) if headers.has_masked_values() => return Err(CannotOpen),
            Err(CannotOpen) => headers,
        };
        if before.ok().as_ref() != Some(&headers) || self.sealed_headers.is_none() {
            (self.headers, self.sealed_headers) = (Json(headers.masked()), Some(headers.seal(key, id)));
        }
        Ok(())
    }

    fn enable(&mut self) {
        self.status = Status::Enabled;
        (self.disabled_reason, self.disabled_at) = (None, None);
    }

    /// A subscription that is already disabled keeps its reason.
    pub(super) fn disable(&mut self, reason: DisabledReason, now: DateTime<Utc>) {
        if self.status == Status::Enabled {
            self.status = Status::Disabled;
            (self.disabled_reason, self.disabled_at) = (Some(reason), Some(now));
        }
    }

    /// Without an overlap, the old secret becomes invalid at once. A previous secret that still overlaps becomes invalid in either
    /// case: at most two secrets sign.
    fn rotate(&mut self, sealed_secret: Vec<u8>, overlap: TimeDelta, now: DateTime<Utc>) {
        let before = std::mem::replace(&mut self.sealed_secret, sealed_secret);
        let until = (overlap > TimeDelta::zero()).then(|| now + overlap);
        (self.sealed_previous_secret, self.previous_secret_until) = (until.map(|_| before), until);
    }
}
