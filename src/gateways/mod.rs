//! Gateways: what payment gateways call back about, and the ledger that follows from it (interface 2, `POST /webhooks`; decisions,
//! section 8).
//!
//! # Who is who
//!
//! | who | does | writes |
//! |---|---|---|
//! | `accounts` | a company's accounts at gateways, as records of `ledger/int/v1` | `gateways` |
//! | `driver`, `drivers` | what one kind of gateway signs and means; they verify and read, and touch nothing else | nothing |
//! | `callbacks` | takes a callback in: which gateway, genuine or not, seen before or not; tries again what could not be processed | `callbacks`, when it is tried again |
//! | `payments` | what the callbacks tell about each transaction, as facts, and what follows from them | nothing |
//! | `ledger` | writes all of that down in one statement, or nothing of it when somebody else was faster | `callbacks`, `payments`, `payment_facts` |
//!
//! A *callback* comes in; a *gateway* is an account of a company; a *driver* is how its kind speaks; a *transaction* is the gateway's own
//! name for what we call a *payment*; a *fact* is one thing a callback tells about one payment.
//!
//! # What is guaranteed
//!
//! - Nothing is believed that a driver has not verified with the gateway's signing secret. Without a secret nothing is genuine.
//! - A genuine callback is recorded once, however often and in how many hands it arrives. Its record, what follows from it and the events
//!   that tell of it are one statement, which it shares with others of the same moment, or one transaction when it is tried again; one that
//!   fails takes no other with it.
//! - The state of a payment follows from the *set* of its facts alone ([`payments::State`]): any order and any repetition of the same
//!   callbacks ends in the same row and publishes each normalised event once.
//! - What was genuine but could not be processed is kept, tried again by the worker, and by hand from the ledger.
//! - Whoever has no key cannot fill the disk: refused callbacks are kept in part, so many an hour, for so many days.
//!
//! # What is not
//!
//! - That a gateway changed by another instance is seen at once: what its callbacks are verified with is believed for a second. What this
//!   instance changes counts for the next callback.
//! - That an order or customer which a callback names is the right one: only that it is the same company's.
//! - The gateway's own books. A payment here is what its callbacks told; what they never told is not known.

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
use crate::events::News;
use crate::gateways::callbacks::Recording;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::throttle::Throttle;
use crate::resources::{Extension, Room};

pub use callbacks::CallbackRecord;
pub use payments::Payment;

/// `[gateways]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Callbacks a minute for one API key or gateway and client address.
    pub callbacks_per_minute: NonZeroU32,
}

/// What the routes and the worker need.
#[derive(Clone, Debug)]
pub struct Gateways {
    pool: PgPool,
    clock: Clock,
    key: ApplicationKey,
    throttle: Throttle<(Uuid, IpNet)>,
    /// Gateways of the last second.
    recent: accounts::Recent,
    /// Writes callbacks down.
    recording: Recording,
    /// Tells whoever waits for events.
    news: News,
}

impl Room for Gateways {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn forget_what_changed(&self) {
        self.recent.forget_everything();
    }
}

impl Gateways {
    /// Puts the parts together.
    pub fn new(pool: PgPool, clock: Clock, key: ApplicationKey, news: News, settings: &Settings, lifecycle: &Lifecycle) -> Self {
        let recording = callbacks::recording(&pool, &clock, &news, lifecycle);
        let throttle = Throttle::new(settings.callbacks_per_minute);
        Self { pool, clock, key, throttle, recent: accounts::Recent::new(), recording, news }
    }

    /// Forgets the callers whose minute is over. To be called every minute or so.
    pub fn sweep(&self) {
        self.throttle.sweep();
    }
}

/// Where gateways call back: outside of every namespace.
pub fn callback_routes<S>() -> Router<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    callbacks::receiving_routes()
}

/// Everything below `ledger/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    accounts::extension().merge(callbacks::extension()).read_only::<Payment>()
}
