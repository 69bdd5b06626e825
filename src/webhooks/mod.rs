//! The delivery hub: every published event reaches every endpoint that asked for it, signed, at least once.
//!
//! # Who is who
//!
//! | who | does | writes |
//! |---|---|---|
//! | publisher ([`crate::events`], another floor) | writes the event, its final bytes included, in the transaction that made it happen | `events`, `outbox` |
//! | `subscription` | keeps who wants what, where, and signed with which secret | `subscriptions`; calls off `deliveries` |
//! | `fan_out` | turns an event into one delivery for each subscription that wants it | `deliveries`, empties `outbox` |
//! | `claim` | takes leases on due deliveries; takes them back from workers that died | `deliveries`, `attempts` of the dead |
//! | `sending` | makes one signed POST through a client that `targets` guards | nothing; no transaction is open |
//! | `record` | logs what came of it and moves the delivery on, as `delivery` decides | `attempts`, `deliveries` |
//! | `delivery_log` | shows deliveries and their attempts | nothing |
//! | `worker` | does all of this as long as the program runs, in any number of instances | |
//!
//! An event is *published*; its envelope is sent to an *endpoint URL*; a *delivery* is one event for one *subscription*; an *attempt* is
//! one POST.
//!
//! # What is guaranteed
//!
//! - A committed event is delivered at least once to every subscription that was enabled when it was fanned out, or its delivery ends as
//!   `failed` and can be looked at. No crash loses it: the outbox, the lease and the schedule are all rows.
//! - Every attempt carries the same bytes and the same `webhook-id`, so that a subscriber can tell a repetition.
//! - An attempt connects only to addresses that were looked at for this very connection, over TLS that was verified.
//! - An endpoint that hangs or refuses costs the others nothing: it has its own cap of deliveries in flight, and a turn like everybody.
//!
//! # What is not
//!
//! - Order: deliveries are made as they become due, at the same time, and a failed one comes later than its successors.
//! - Exactly once: a worker that dies between sending and recording has sent what will be sent again.
//! - Room without end: when so many endpoints hang at once that they fill `webhooks.concurrency`, everybody waits for their deadlines.
//! - Answers: an endpoint's answer is logged, never acted upon, but for its status and `Retry-After`.

mod claim;
mod delivery;
mod delivery_log;
mod fan_out;
mod forwarding;
mod outcome;
mod queries;
mod record;
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
use crate::events::Catalogue;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::resources::{Extension, Room};

pub use claim::Claimed;
pub use delivery_log::Delivery;
pub use forwarding::Forwarder;
pub use sending::Attempt;
pub use settings::Settings;
pub use subscription::{DisabledReason, EventsWanted, SigningSecret, Subscription};
pub use targets::{EndpointUrl, Names};

use sending::Sender;
use targets::Targets;

/// The hub: what its routes and its worker need.
#[derive(Clone, Debug)]
pub struct Webhooks {
    pool: PgPool,
    clock: Clock,
    key: ApplicationKey,
    targets: Targets,
    sender: Sender,
    settings: Arc<Settings>,
    catalogue: Catalogue,
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
    /// Where the names of endpoints turn into addresses: [`Names::System`], except in tests.
    pub names: Names,
    /// What can be subscribed to.
    pub catalogue: Catalogue,
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
    subscription::extension::<S>().read_only::<Delivery>()
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
        let Parts { pool, clock, key, settings, names, catalogue } = parts;
        let mut roots = Vec::new();
        for path in &settings.extra_root_certificates {
            let pem = std::fs::read(path).map_err(|error| BadSettings::Unreadable(path.clone(), error))?;
            roots.extend(Certificate::from_pem_bundle(&pem).map_err(|error| BadSettings::NotCertificates(path.clone(), error))?);
        }
        let targets = Targets::new(&settings.allowed_networks, names);
        let sender = Sender::new(targets.clone(), key.clone(), clock.clone(), roots).map_err(BadSettings::NoClient)?;
        Ok(Self { pool, clock, key, targets, sender, settings: Arc::new(settings), catalogue })
    }

    /// Sends what was claimed; the result is for [`Webhooks::record`].
    pub async fn send(&self, claimed: Claimed) -> Attempt {
        self.sender.send(claimed).await
    }
}
