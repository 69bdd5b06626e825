//! Subscriptions: the endpoint of a company and the events it wants (interface 2, Webhook subscription;
//! `docs/specification/decisions.md`, section 7).
//!
//! The API calls a subscription a webhook. Besides the five conventional routes, it has routes to enable, pause, disable and test it
//! and to read and rotate its secret. While it is paused, its deliveries are made and held. When a subscription is disabled or deleted, in whatever way, its open deliveries are cancelled.

mod changes;
mod event_filter;
mod queries;
mod rate_limit;
mod resource;
mod routes;
mod status;
mod test_event;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Map, Value, json};
use sqlx::types::Json;

use crate::callers::Owner;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::SubscriptionId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::kernel::sealed_values::SEND_AGAIN;
use crate::resources::{EventData, FieldType, Instant, Line};
use crate::webhooks::endpoint::{AttemptTimeout, ExtraHeaders, SignatureFormat};
use crate::webhooks::targets::EndpointUrl;
use crate::{events, fields, text_enum};

pub use event_filter::EventFilter;
pub use rate_limit::RateLimit;
pub use status::{DisabledReason, Status};

pub(super) use routes::extension;

fields! {
    /// A webhook, without its secrets.
    pub struct Subscription, body SubscriptionBody {
        /// The URL that events are posted to.
        #[sample = "https://shop.example/hooks"] #[filtered] #[searched]
        url: EndpointUrl,
        /// A description for the owner.
        #[sample = "The shop"] #[searched]
        description: Option<Line<255>>,
        /// Who of your own customers the webhook is for: it gets the events of this owner alone. Null: it is your own and gets all. It cannot be
        /// changed.
        #[filtered]
        owner: Option<Owner>,
        /// Event names, or groups such as order.*. An empty list or * means all events. It takes the permission to read what they are about.
        #[sample = ["order.*"]]
        events: EventFilter,
        /// Whether deliveries are made, and whether they are held.
        #[filtered]
        status: Status,
        /// The version of the event envelope.
        api_version: ApiVersion,
        /// The format of X-Service-Signature.
        signature_format: SignatureFormat,
        /// The timeout of an attempt, in seconds.
        #[sample = 15]
        timeout: AttemptTimeout,
        /// The maximum number of attempts per second. Null means no limit.
        rate_limit: Option<RateLimit>,
        /// Whether the next delivery of a record waits for the previous one.
        ordering: Ordering,
    }
    by_hand {
        /// Additional headers of every POST. Responses mask the values. A URL with another scheme, host or port needs them again.
        #[sample = {}]
        headers: ExtraHeaders = |webhook| webhook.headers.masked(),
    }
    read_only {
        /// Since when the deliveries of a paused webhook are held.
        paused_at: Option<Instant>,
        /// Why the webhook is disabled.
        disabled_reason: Option<DisabledReason>,
        /// When the webhook was disabled.
        disabled_at: Option<Instant>,
        /// Until when the previous signing secret signs as well.
        previous_secret_until: Option<Instant>,
    }
    computed {
        /// The health of the last day. Only shown when a single webhook is requested.
        #[detail]
        health: Map<String, Value>,
    }
    hidden {
        /// Additional headers of every POST, with masked values.
        headers: Json<ExtraHeaders>,
        /// The same with their values, encrypted; see `ExtraHeaders::open`. None if there are none.
        #[known as "headers"]
        sealed_headers: Option<Vec<u8>>,
        /// The signing secret, encrypted; see `SigningSecret::open`.
        #[known as "secret"]
        sealed_secret: Vec<u8>,
        /// The previous signing secret, encrypted, while a rotation overlaps.
        #[known as "previous_secret"]
        sealed_previous_secret: Option<Vec<u8>>,
    }
}

events! {
    /// The events about webhooks.
    pub const EVENTS {
        /// A test event sent on request.
        TEST = "webhook.test", |webhook| webhook.adds("test", "That this is a test.", json!({ "const": true }), true);
        /// All deliveries to a webhook have been failing; at 100 percent of the time allowed it is disabled.
        FAILING = "webhook.failing", |webhook| failing_since(webhook)
            .adds("percent", "How much of the time until then has passed, in percent.", json!({ "enum": [50, 70, 90] }), 50)
            .adds(
                "disabled_from",
                "When the webhook is disabled, unless a delivery succeeds before.",
                Instant::schema(),
                "2026-05-24T10:15:00.000+00:00",
            );
        /// A webhook was disabled because every delivery to it failed for five days, or because its endpoint responded with 410.
        DISABLED = "webhook.disabled", |webhook| failing_since(webhook)
            .always("status", "disabled")
            .with("disabled_reason", "failing")
            .known("disabled_at", "2026-05-24T10:15:00.000+00:00")
            .with("updated_at", "2026-05-24T10:15:00.000+00:00");
        /// A delivery to a webhook succeeded after operators had been notified that it was failing.
        RECOVERED = "webhook.recovered", |webhook| failing_since(webhook);
    }
}

fn failing_since(webhook: EventData) -> EventData {
    webhook.adds("failing_since", "When the first of these deliveries failed.", Instant::schema(), "2026-05-19T10:15:00.000+00:00")
}

text_enum! {
    /// The version of the event envelope; there is one so far.
    pub enum ApiVersion, default V1 {
        /// [`crate::events::API_VERSION`]
        V1 = "1.0",
    }
}

text_enum! {
    /// The ordering of deliveries.
    pub enum Ordering, default None {
        /// No ordering: deliveries are made as they become due.
        None = "none",
        /// The next delivery about a record waits until the one before has ended, however it ends.
        Resource = "resource",
    }
}

impl Subscription {
    /// Opens the additional headers for the URL that the subscription has now.
    fn open_headers(&self, key: &ApplicationKey, id: SubscriptionId) -> Result<ExtraHeaders, CannotOpen> {
        match &self.sealed_headers {
            Some(sealed) => ExtraHeaders::open(key, id, &self.url, sealed),
            None => Ok(ExtraHeaders::default()),
        }
    }

    /// Replaces the additional headers; masked values keep the value they had.
    fn set_headers(&mut self, headers: ExtraHeaders, key: &ApplicationKey, id: SubscriptionId) -> Result<(), Problem> {
        let before = self.open_headers(key, id);
        let headers = match &before {
            Ok(before) => headers.with_unmasked_values(before).map_err(|error| FieldErrors::one("headers", error.to_string()))?,
            // Headers that were sealed for another origin or under a lost application key can be replaced, but none of their values can be kept.
            Err(CannotOpen) if headers.has_masked_values() => return Err(FieldErrors::one("headers", SEND_AGAIN)),
            Err(CannotOpen) => headers,
        };
        if before.ok().as_ref() != Some(&headers) {
            self.sealed_headers = (!headers.is_empty()).then(|| headers.seal(key, id, &self.url));
            self.headers = Json(headers.masked());
        }
        Ok(())
    }

    fn enable(&mut self) {
        self.status = Status::Enabled;
        (self.paused_at, self.disabled_reason, self.disabled_at) = (None, None, None);
    }

    /// A subscription that is already paused keeps its time.
    fn pause(&mut self, now: DateTime<Utc>) {
        if self.status != Status::Paused {
            self.status = Status::Paused;
            (self.paused_at, self.disabled_reason, self.disabled_at) = (Some(now), None, None);
        }
    }

    /// A subscription that is already disabled keeps its reason.
    pub(super) fn disable(&mut self, reason: DisabledReason, now: DateTime<Utc>) {
        if self.status != Status::Disabled {
            self.status = Status::Disabled;
            (self.paused_at, self.disabled_reason, self.disabled_at) = (None, Some(reason), Some(now));
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
