//! The webhook delivery hub: delivers every published event to every subscribed endpoint, signed, at least once.
//!
//! # Who is who
//!
//! | module | does | writes |
//! |---|---|---|
//! | publisher ([`crate::events`], on another floor) | writes the event, including its final bytes, in the transaction of the change it reports | `events`, `outbox` |
//! | `subscription` | stores which events each subscription wants, the endpoint URL and the signing secret | `subscriptions` |
//! | `engine::fan_out` | turns an event into one delivery for each matching subscription | `waiting`, or `in_flight` and `endpoints`; empties `outbox` |
//! | `engine::claim` | takes leases on due deliveries, endpoint by endpoint; reclaims the leases of crashed workers | `waiting` → `in_flight`, `endpoints` |
//! | `sending::{endpoint, endpoint_cache}` | cache what the deliveries to an endpoint share: decrypted secrets, headers | nothing |
//! | `sending` | makes one signed POST through a client that `sending::targets` guards | nothing; no transaction is open |
//! | `engine::record` | logs the result of an attempt and moves the delivery to its next state, as `deliveries::state` decides; claims the next deliveries to an endpoint with a backlog, as `engine::refill` says | `attempts`, `in_flight` → `deliveries` or `waiting`, `waiting` → `in_flight`, `endpoints` |
//! | `replays` | creates new deliveries from closed ones, on request | `waiting`, `replays`, `replay_keys` |
//! | `cancellation` | closes waiting deliveries as cancelled, on request or when their subscription is disabled or deleted | `waiting` → `deliveries`, `endpoints` |
//! | `failing` | notifies operators of failing endpoints; disables them after five days, or at once when they are gone | `endpoints`, `subscriptions`, `operator_letters`; publishes `webhook.*` |
//! | `health` | shows the health of an endpoint | nothing |
//! | `forwarding` | builds the delivery headers for an event that is forwarded outside the hub | nothing |
//! | `deliveries::log` | shows deliveries and their attempts | nothing |
//! | `retention` | creates the partitions of the coming days and drops expired ones | partitions |
//! | `engine::vacuum` | removes what has left the queue from its tables and indexes | nothing |
//! | `engine::{worker, dispatcher, lanes, permits, launcher, recorder}` | run all of this while the program runs, in any number of instances | |
//!
//! An event is *published*; its envelope is sent to an *endpoint URL*; a *delivery* is one event for one *subscription*; an
//! *attempt* is one POST.
//!
//! # Where a delivery is
//!
//! ```text
//!    ┌──────fan-out, when nothing has to wait───────┐
//!    │                                              ▼
//! outbox ──fan-out──▶ waiting ──claim──────────▶ in_flight ──record──▶ deliveries   delivered, failed, cancelled
//!                        ▲                          │
//!                        └───────── retry ──────────┘
//! ```
//!
//! Most events take the short path: their endpoints have capacity, and nothing else waits for them. A delivery that must be made in
//! order waits behind its predecessor, where it cannot be claimed. When the predecessor ends, in whatever way, database triggers
//! make the next one claimable.
//!
//! A delivery is in exactly one of the three tables at any time; the view `delivery_log` combines them. `waiting` and `in_flight`
//! are small and hot. `deliveries` is written once per delivery and partitioned by day, so a log of any length slows nothing down.
//!
//! `endpoints` has one row per subscription: its health, the number of deliveries in flight, when its rate limit admits the next
//! attempt, whether its circuit is open, and how far its deliveries are cancelled. A worker that moves deliveries of an endpoint
//! locks this row first. These row locks are all the coordination between workers; there is no leader.
//!
//! # What is guaranteed
//!
//! - A committed event is delivered at least once to every subscription that was enabled at fan-out, or its delivery ends as
//!   `failed` and can be inspected. A crash loses nothing, because the outbox, the leases and the retry schedule are table rows.
//! - Every attempt carries the same bytes and the same `webhook-id`, so a subscriber can deduplicate.
//! - While all workers live, no delivery is sent twice. A worker that dies loses its leases. A worker that was only suspended finds
//!   on waking that its attempt number has passed, and changes nothing.
//! - A cancelled delivery is not sent: no attempt of it begins after the cancelling commit, however long closing the rows takes.
//! - An attempt connects only to addresses that were checked for this very connection, over verified TLS.
//! - An endpoint that hangs or refuses does not affect the others. It has its own limit of deliveries in flight, and endpoints take
//!   turns. Retries never take the last permits. After a number of consecutive failures the circuit opens, and its deliveries wait
//!   without attempts.
//! - A replay does not change the health of the endpoint, and the circuit does not hold up a replay. The in-flight limit and the
//!   rate limit of the endpoint apply to replays too.
//! - A subscription with `ordering: resource` gets the deliveries about one record one after another, in the order of the events'
//!   sequence numbers.
//!
//! # What is not guaranteed
//!
//! - Order, for subscriptions without ordering: deliveries are made concurrently as they become due, and a retry comes later than
//!   its successors.
//! - Exactly once: when a worker dies between sending and recording, the delivery is sent again. The same happens when a crash of
//!   PostgreSQL loses the worker's last commits: they do not wait for the disk, unlike those of the publisher.
//! - Unlimited capacity: when enough endpoints hang at once to fill `webhooks.concurrency`, all deliveries wait for their
//!   deadlines.
//! - Handling of response contents: an endpoint's response is logged, and only its status code and `Retry-After` are acted upon.

mod cancellation;
mod deliveries;
mod delivering;
mod engine;
mod failing;
mod forwarding;
mod health;
mod replays;
mod retention;
mod sending;
mod settings;
mod subscription;

use std::sync::Arc;

use axum::extract::FromRef;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::{Catalogue, CommitNotifier};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database;
use crate::kernel::dedicated_connection::DedicatedConnection;
use crate::providers::mail::Mail;
use crate::resources::{Extension, ResourceState};

pub use deliveries::log::Delivery;
pub use delivering::{Delivering, SettingsError};
pub use engine::claim::Claimed;
pub use forwarding::{Forwarder, ReadEvent};
pub use replays::Replay;
pub use sending::Attempt;
pub use sending::targets::{EndpointUrl, Resolver};
pub use settings::Settings;
pub use subscription::{DisabledReason, EventFilter, SigningSecret, Subscription};

use sending::endpoint_cache::EndpointCache;

/// Connections of the worker besides the dedicated one: for housekeeping, vacuuming, replays, cancelling, failing endpoints, mails to
/// operators, and LISTEN.
const WORKER_CONNECTIONS: u32 = 7;

/// The hub: the state of its routes and its worker.
#[derive(Clone, Debug)]
pub struct Webhooks {
    pool: PgPool,
    /// The worker's own connection pool, so that the worker and requests do not starve each other of connections.
    worker_pool: PgPool,
    /// The dedicated connection for fan-out, claiming and recording. All three lock the same `endpoints` rows, so a second
    /// connection would only wait for the first. On one connection, the server has the three statements prepared and their plans
    /// cached.
    delivery_connection: DedicatedConnection,
    clock: Clock,
    key: ApplicationKey,
    endpoint_cache: EndpointCache,
    delivering: Delivering,
    settings: Arc<Settings>,
    catalogue: Catalogue,
    notifier: CommitNotifier,
    mail: Mail,
}

/// The parts that the hub is built from.
pub struct Parts {
    /// The database connection pool.
    pub pool: PgPool,
    /// The clock.
    pub clock: Clock,
    /// The key that secrets are encrypted with.
    pub key: ApplicationKey,
    /// `[webhooks]`
    pub settings: Settings,
    /// What the process delivers with.
    pub delivering: Delivering,
    /// The event types that can be subscribed to.
    pub catalogue: Catalogue,
    /// Signals events published by this instance.
    pub notifier: CommitNotifier,
    /// Sends mail to operators about failing webhooks.
    pub mail: Mail,
}

impl ResourceState for Webhooks {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// The resources and routes of the hub below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    subscription::extension::<S>().read_only::<Delivery>().merge(replays::extension())
}

impl Webhooks {
    /// Builds the hub.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, settings, delivering, catalogue, notifier, mail } = parts;
        let worker_pool = database::background_pool(&pool, WORKER_CONNECTIONS);
        let delivery_connection = DedicatedConnection::of(database::background_pool(&pool, 1));
        Self {
            pool,
            worker_pool,
            delivery_connection,
            clock,
            key,
            endpoint_cache: EndpointCache::new(),
            delivering,
            settings: Arc::new(settings),
            catalogue,
            notifier,
            mail,
        }
    }

    /// Sends a claimed delivery; pass the result to [`Webhooks::record`].
    pub async fn send(&self, claimed: Claimed) -> Attempt {
        self.delivering.sender.send(claimed).await
    }
}
