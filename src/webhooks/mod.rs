//! The delivery hub: every published event reaches every endpoint that asked for it, signed, at least once.
//!
//! # Who is who
//!
//! | who | does | writes |
//! |---|---|---|
//! | publisher ([`crate::events`], another floor) | writes the event, its final bytes included, in the transaction that made it happen | `events`, `outbox` |
//! | `subscription` | keeps who wants what, where, and signed with which secret | `subscriptions` |
//! | `fan_out` | turns an event into one delivery for each subscription that wants it | `waiting`, or `in_flight` and `endpoints`; empties `outbox` |
//! | `claim` | takes leases on due deliveries, endpoint by endpoint; takes them back from workers that died | `waiting` → `in_flight`, `endpoints` |
//! | `at_hand`, `endpoint` | remember what the deliveries to an endpoint share: opened secrets, headers | nothing |
//! | `sending` | makes one signed POST through a client that `targets` guards | nothing; no transaction is open |
//! | `record` | logs what came of it and moves the delivery on, as `delivery` decides | `attempts`, `in_flight` → `deliveries` or `waiting`, `endpoints` |
//! | `replays` | makes closed deliveries again, when somebody asks | `waiting`, `replays`, `replay_keys` |
//! | `calling_off` | closes what waits, when somebody asks or its subscription is disabled or deleted | `waiting` → `deliveries`, `endpoints` |
//! | `failing` | tells operators of endpoints that fail, and disables them after five days, or at once when they are gone | `endpoints`, `subscriptions`, `operator_letters`; publishes `webhook.*` |
//! | `health` | shows how an endpoint is doing | nothing |
//! | `forwarding` | gives what somebody read along the headers of a delivery | nothing |
//! | `delivery_log` | shows deliveries and their attempts | nothing |
//! | `retention` | makes the tables of the days to come and drops those of days long past | partitions |
//! | `worker`, `rounds`, `lanes`, `permits` | do all of this as long as the program runs, in any number of instances | |
//!
//! An event is *published*; its envelope is sent to an *endpoint URL*; a *delivery* is one event for one *subscription*; an *attempt* is
//! one POST.
//!
//! # Where a delivery is
//!
//! ```text
//!    ┌──────fan out, where nothing has to wait──────┐
//!    │                                              ▼
//! outbox ──fan out──▶ waiting ──claim──────────▶ in_flight ──record──▶ deliveries   delivered, failed, cancelled
//!                        ▲                          │
//!                        └──────── it failed ───────┘
//! ```
//!
//! Most events go the short way: their endpoints have room, and nothing else waits for them. What has to be made in order waits behind the one
//! before, where nobody claims it, and can be claimed like any other when that one has ended: the database itself sees to that, however it ended.
//!
//! In exactly one table at any time, and `delivery_log` is the sight of all three. What waits and what flies is small and hot; what is
//! closed is written once and never again, a partition a day, so that a log of any length slows nothing down.
//!
//! `endpoints` has a row for each subscription: how it is doing, how much is in flight to it, when its rate limit lets the next attempt
//! begin, whether its circuit is open, how far its deliveries are called off. Whoever moves deliveries of an endpoint locks its row first;
//! that is all there is to several workers without a leader.
//!
//! # What is guaranteed
//!
//! - A committed event is delivered at least once to every subscription that was enabled when it was fanned out, or its delivery ends as
//!   `failed` and can be looked at. No crash loses it: the outbox, the lease and the schedule are all rows.
//! - Every attempt carries the same bytes and the same `webhook-id`, so that a subscriber can tell a repetition.
//! - While all workers live, no delivery is sent twice. One that died loses its leases; one that was only asleep finds, when it wakes,
//!   that its number has passed, and changes nothing.
//! - What was called off is not sent: no attempt of it begins after that commit, however long it takes to close it.
//! - An attempt connects only to addresses that were looked at for this very connection, over TLS that was verified.
//! - An endpoint that hangs or refuses costs the others nothing: it has its own cap of deliveries in flight, and a turn like everybody;
//!   its retries never take the last places; after some failures in a row its circuit opens, and what is for it waits without an attempt.
//! - A replay neither hurts nor heals the endpoint, and what others did to it holds no replay up: it has the endpoint's cap and pace to keep to,
//!   but not its circuit.
//! - A subscription that asks for order gets the deliveries about one record one after another, in the order of the events' sequence.
//!
//! # What is not
//!
//! - Order, for those who did not ask: deliveries are made as they become due, at the same time, and a failed one comes later than its
//!   successors.
//! - Exactly once: a worker that dies between sending and recording has sent what will be sent again. So has one whose last commits a
//!   crash of Postgres forgot: they do not wait for the disk, as the publisher's does.
//! - Room without end: when so many endpoints hang at once that they fill `webhooks.concurrency`, everybody waits for their deadlines.
//! - Answers: an endpoint's answer is logged, never acted upon, but for its status and `Retry-After`.

mod at_hand;
mod calling_off;
mod claim;
mod delivery;
mod delivery_log;
mod endpoint;
mod failing;
mod fan_out;
mod forwarding;
mod headers;
mod health;
mod lanes;
mod outcome;
mod permits;
mod queries;
mod record;
mod replays;
mod retention;
mod rounds;
mod sending;
mod settings;
mod signature;
mod subscription;
mod targets;
mod worker;

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::FromRef;
use reqwest::Certificate;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::{Catalogue, News};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database;
use crate::kernel::kept_connection::KeptConnection;
use crate::providers::mail::Mail;
use crate::resources::{Extension, Room};

pub use claim::Claimed;
pub use delivery_log::Delivery;
pub use forwarding::{Forwarder, ReadEvent};
pub use replays::Replay;
pub use sending::Attempt;
pub use settings::Settings;
pub use subscription::{DisabledReason, EventsWanted, SigningSecret, Subscription};
pub use targets::{EndpointUrl, Names};

use at_hand::AtHand;
use sending::Sender;
use targets::Targets;

/// Connections of the worker beside the one that moves deliveries: for housekeeping, replays, what is called off, what fails, letters, and its
/// ear.
const CONNECTIONS: u32 = 6;

/// The hub: what its routes and its worker need.
#[derive(Clone, Debug)]
pub struct Webhooks {
    pool: PgPool,
    /// The worker's own connections: whatever requests do, it can go on, and the other way round.
    engine: PgPool,
    /// The one connection that fans out, claims and records. All of them lock the same endpoints, so two connections would only wait for one
    /// another; and the server has all that the three statements need at hand.
    mover: KeptConnection,
    clock: Clock,
    key: ApplicationKey,
    at_hand: AtHand,
    targets: Targets,
    sender: Sender,
    settings: Arc<Settings>,
    catalogue: Catalogue,
    news: News,
    mail: Mail,
}

/// What the hub is built from.
pub struct Parts {
    /// The database.
    pub pool: PgPool,
    /// The time.
    pub clock: Clock,
    /// What secrets are sealed with.
    pub key: ApplicationKey,
    /// `[webhooks]`
    pub settings: Settings,
    /// Where the names of endpoints turn into addresses: [`Names::system`], except in tests.
    pub names: Names,
    /// What can be subscribed to.
    pub catalogue: Catalogue,
    /// Of what is published here.
    pub news: News,
    /// Tells operators of failing webhooks.
    pub mail: Mail,
}

impl Room for Webhooks {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// What the outside can ask of the hub, below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    subscription::extension::<S>().read_only::<Delivery>().merge(replays::extension())
}

/// Why the hub cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BadSettings {
    /// A file of `webhooks.extra_root_certificates` cannot be read.
    #[error("webhooks.extra_root_certificates: {0} cannot be read")]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// A file of `webhooks.extra_root_certificates` holds no certificates.
    #[error("webhooks.extra_root_certificates: {0} is not a PEM file of certificates")]
    NotCertificates(PathBuf, #[source] reqwest::Error),
    /// The client cannot be built; most often the system has no root certificates.
    #[error("the client for webhooks cannot be built; are the system's root certificates (ca-certificates) installed?")]
    NoClient(#[source] reqwest::Error),
}

impl Webhooks {
    /// Reads the root certificates and builds the client.
    pub fn new(parts: Parts) -> Result<Self, BadSettings> {
        let Parts { pool, clock, key, settings, names, catalogue, news, mail } = parts;
        let mut roots = Vec::new();
        for path in &settings.extra_root_certificates {
            let pem = std::fs::read(path).map_err(|error| BadSettings::Unreadable(path.clone(), error))?;
            roots.extend(Certificate::from_pem_bundle(&pem).map_err(|error| BadSettings::NotCertificates(path.clone(), error))?);
        }
        let targets = Targets::new(&settings.allowed_networks, names);
        let sender = Sender::new(targets.clone(), clock.clone(), roots).map_err(BadSettings::NoClient)?;
        let engine = database::background_pool(&pool, CONNECTIONS);
        let mover = KeptConnection::of(database::background_pool(&pool, 1));
        Ok(Self {
            pool,
            engine,
            mover,
            clock,
            key,
            at_hand: AtHand::new(),
            targets,
            sender,
            settings: Arc::new(settings),
            catalogue,
            news,
            mail,
        })
    }

    /// Sends what was claimed; the result is for [`Webhooks::record`].
    pub async fn send(&self, claimed: Claimed) -> Attempt {
        self.sender.send(claimed).await
    }
}
