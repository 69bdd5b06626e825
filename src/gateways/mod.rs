//! Gateways: receives the callbacks of payment gateways and keeps the ledger that follows from them (interface 2, `POST /webhooks`;
//! `docs/specification/decisions.md`, section 8).
//!
//! # Who is who
//!
//! | module | does | writes |
//! |---|---|---|
//! | `accounts` | manages a company's accounts at gateways, as records of `ledger/int/v1` | `gateways` |
//! | `driver`, `drivers` | define how one kind of gateway signs its callbacks and what they mean; they only verify and read | nothing |
//! | `callbacks` | accepts a callback: resolves its gateway, verifies it, deduplicates it; retries callbacks that could not be processed | `callbacks`, on a retry |
//! | `payments` | turns callbacks into facts about each transaction, and works out what follows from them | nothing |
//! | `ledger` | writes all of this in one statement, or nothing if a concurrent writer was faster | `callbacks`, `payments`, `payment_facts` |
//!
//! A *callback* is an inbound request; a *gateway* is an account of a company; a *driver* implements the protocol of one kind of
//! gateway; a *transaction* is the gateway's own name for what this service calls a *payment*; a *fact* is one statement of a
//! callback about one payment.
//!
//! # What is guaranteed
//!
//! - Every callback is verified by a driver with the gateway's signing secret before it is trusted. Without a secret, no callback
//!   is genuine.
//! - A genuine callback is recorded once, however often it arrives and however many instances receive it. Its record, its
//!   consequences and their events are written by one statement, which is shared with other callbacks of the same moment, or in one
//!   transaction on a retry. A callback that fails does not make others fail.
//! - The state of a payment follows from the *set* of its facts alone ([`payments::State`]): any order and any repetition of the
//!   same callbacks ends in the same row and publishes each normalised event once.
//! - The amounts of the `refund.processed` events of a payment add up to the refunds that its callbacks report, in any order and at
//!   any time.
//! - A genuine callback that could not be processed is kept and retried by the worker. It can also be retried by hand from the
//!   ledger.
//! - A client without the key cannot fill the disk: a refused callback is kept in part, rate limited per hour and only for some
//!   days.
//!
//! # What is not guaranteed
//!
//! - That a change to a gateway made by another instance takes effect at once: the data that callbacks are verified with is cached
//!   for one second. A change made by this instance takes effect for the next callback.
//! - That every refund has an event of its own if the gateway reports only totals, and not what is new in them. An event has to be
//!   published for a total before it is known whether it is one refund or several. So the events then depend on the order of arrival:
//!   of the totals 300 and 700, the events are 300 and 400, or only 700. Refunds that are reported by name as well are matched
//!   with such a total by the sum alone.
//! - That a callback that adds several refunds to the total at once is matched with those refunds, if they are reported by name too.
//! - That an order or customer named by a callback is the right one: only that it belongs to the same company.
//! - Agreement with the gateway's own books. A payment reflects its callbacks; what they do not report is unknown.

mod accounts;
mod callbacks;
mod driver;
mod drivers;
mod ledger;
mod money;
mod payments;

use std::num::NonZeroU32;

use axum::Router;
use axum::extract::FromRef;
use ipnet::IpNet;
use sqlx::PgPool;
use uuid::Uuid;

use crate::companies::Companies;
use crate::events::CommitNotifier;
use crate::gateways::callbacks::Recording;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::openapi::Description;
use crate::kernel::rate_limit::{FailureLimiter, LocalRateLimiter};
use crate::resources::{Extension, ResourceState};

pub use callbacks::CallbackRecord;
pub use payments::Payment;

/// Requests per minute and client network that may name an unknown gateway.
const UNKNOWN_GATEWAYS_PER_MINUTE: NonZeroU32 = NonZeroU32::new(600).expect("it is not zero");

/// `[gateways]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Maximum number of callbacks per minute for one API key or gateway and client address.
    pub callbacks_per_minute: NonZeroU32,
}

/// The state of the routes and the worker.
#[derive(Clone, Debug)]
pub struct Gateways {
    pool: PgPool,
    clock: Clock,
    key: ApplicationKey,
    throttle: LocalRateLimiter<(Uuid, IpNet)>,
    /// Requests without a key that name an unknown gateway, by client network.
    unknown_gateways: FailureLimiter<IpNet>,
    /// The cache of active gateways, with a TTL of one second.
    cache: accounts::GatewayCache,
    /// Records callbacks in batches.
    recording: Recording,
    /// Signals events published by this instance.
    notifier: CommitNotifier,
}

impl ResourceState for Gateways {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn invalidate_caches(&self) {
        self.cache.invalidate_all();
    }
}

impl Gateways {
    /// Creates the state from its parts.
    pub fn new(
        pool: PgPool,
        clock: Clock,
        key: ApplicationKey,
        notifier: CommitNotifier,
        settings: &Settings,
        lifecycle: &Lifecycle,
    ) -> Self {
        let recording = callbacks::recording(&pool, &clock, &notifier, lifecycle);
        let throttle = LocalRateLimiter::new(settings.callbacks_per_minute);
        let unknown_gateways = FailureLimiter::new(UNKNOWN_GATEWAYS_PER_MINUTE);
        Self { pool, clock, key, throttle, unknown_gateways, cache: accounts::GatewayCache::new(), recording, notifier }
    }

    /// Removes expired counters. Called about once a minute.
    pub fn sweep(&self) {
        self.throttle.sweep();
        self.unknown_gateways.sweep();
    }
}

/// The routes that gateways call, outside of every namespace.
pub fn callback_routes<S>() -> Router<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    callbacks::receiving_routes()
}

/// The description of the routes that gateways call.
pub fn callback_description() -> Description {
    callbacks::description()
}

/// The resources and routes below `ledger/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    accounts::extension().merge(callbacks::extension()).read_only::<Payment>()
}
