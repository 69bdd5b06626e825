//! The webhook delivery hub: delivers every published event to every subscribed endpoint, signed, at least once.
//!
//! An event is *published*; its envelope is sent to an *endpoint URL*; a *delivery* is one event for one *subscription*; an
//! *attempt* is one POST. `engine/mod.rs` shows where a delivery is and by which doors it gets there.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! worker                           runs all of this while the program runs, in any number of instances
//! follow_up                        what follows from a change of a webhook: its endpoint's row, the end of its deliveries and replays
//! failing  retention               tells operators of failing endpoints and disables them; keeps and drops the days of the log
//! explanation                      why an event arrived at a webhook, or why not
//! replays                          makes new deliveries from closed ones, on request
//! subscription                     the webhook as a resource: which events, which URL, enabled or not; rotating, testing
//! by_hand                          how often a webhook is tested, repeated or explained
//! cancellation  health             closes waiting deliveries as cancelled; shows how an endpoint is doing
//! suspension  moving               holds the deliveries of a company that is suspended, or moves to another cell
//! figures                          what was sent in a period, by step and by duration, for charts
//! delivery_log                     deliveries and their attempts as a read-only resource
//! engine                           the tables of deliveries, and every statement that moves a delivery between them
//! state                            what the routes and the worker share, for one database
//! delivering                       what a process delivers with, for all its databases
//! metrics                          what is counted of attempts, deliveries and permits
//! launching                        who sends what a publisher has taken into flight
//! in_the_way                       for whom a publisher need not try that
//! sending  forwarding  permits     one signed POST; the headers of an event sent outside the hub; how many POSTs at a time
//! progress  colleagues             when the worker has last completed a round; which other workers are alive
//! tracks                           the connections on which deliveries are moved
//! hooks                            questions to servers of companies, whose answers decide what happens here
//! endpoint                         how a subscription's endpoint is addressed: timeout, headers, secrets and signatures, cached
//! company_clients                  clients for other addresses that companies name, such as those of their identity providers
//! targets  delivery_state          where webhooks may be sent; the states of a delivery, its lanes and the retry schedule
//! settings  latency                the settings `[webhooks]`; durations as a histogram
//! ```
//!
//! The publisher is on another floor: [`crate::events`] writes an event, including its final bytes, in the transaction of the change
//! it reports, and notes it in the outbox, from where `engine::fan_out` takes it. A client's single event is published here
//! ([`Webhooks::publish`]), and most often fanned out by the same statement.
//!
//! `endpoints` has one row per subscription: its health, the number of deliveries in flight, when its rate limit admits the next
//! attempt, whether its circuit is open, until when it has asked for silence, whether it is paused, and how far its deliveries are cancelled. A worker that moves deliveries of an endpoint
//! locks this row first. These row locks are all the coordination between workers; there is no leader. `workers` has their signs of life.
//!
//! # What is guaranteed
//!
//! - A committed event is delivered at least once to every subscription that was enabled at fan-out, or its delivery ends as
//!   `failed` and can be inspected. A crash loses nothing, because the outbox, the leases and the retry schedule are table rows.
//! - Every attempt carries the same bytes and the same `webhook-id`, so a subscriber can deduplicate.
//! - While all workers live, no delivery is sent twice. A worker that dies loses its leases within ten seconds, by missing its signs of
//!   life. A worker that was only suspended, or could not reach the database, finds afterwards that its attempt number has passed, and
//!   changes nothing.
//! - A cancelled delivery is not sent: no attempt of it begins after the cancelling commit, however long closing the rows takes.
//! - An attempt connects only to addresses that were checked for this very connection, over verified TLS.
//! - An endpoint that hangs or refuses does not affect the others. It has its own limit of deliveries in flight, and endpoints take
//!   turns. Retries never take the last permits. After a number of consecutive failures the circuit opens, and its deliveries wait
//!   without attempts, where no claim comes upon them.
//! - Nor does a company affect the others. Companies take turns in fan-out, which is done in small slices; those with much to do are
//!   served beside the others and not in front of them; and the more permits one of them has, the fewer it may take of those that are
//!   free.
//! - While a subscription is paused, its deliveries are made and held: no attempt begins after the pausing commit, whether it is a
//!   first one, a retry or a replay. Once it is resumed, they go out as they became due, within the limits of the endpoint.
//! - An endpoint that asks for silence (429 or 503 with `Retry-After`) gets no delivery of any kind until then, for an hour at most.
//! - A replay does not change the health of the endpoint, and the circuit does not hold up a replay. The in-flight limit, the rate limit and
//!   the silence of the endpoint apply to replays too.
//! - A subscription with `ordering: resource` gets the deliveries about one record one after another, in the order of the events'
//!   sequence numbers.
//!
//! # What is not guaranteed
//!
//! - Order, for subscriptions without ordering: deliveries are made concurrently as they become due, and a retry comes later than
//!   its successors.
//! - Exactly once: when a worker dies between sending and recording, the delivery is sent again. The same happens when a crash of
//!   PostgreSQL loses the worker's last commits: they do not wait for the disk, unlike those of the publisher.
//! - Unlimited capacity: when endpoints of enough companies hang at once to fill `webhooks.concurrency`, all deliveries wait for
//!   their deadlines.
//! - Handling of response contents: an endpoint's response is logged, and only its status code and `Retry-After` are acted upon.

mod by_hand;
mod cancellation;
mod colleagues;
mod company_clients;
mod delivering;
mod delivery_log;
mod delivery_state;
mod endpoint;
mod engine;
mod explanation;
mod failing;
mod figures;
mod follow_up;
mod forwarding;
mod health;
mod hooks;
mod in_the_way;
mod latency;
mod launching;
mod metrics;
mod moving;
mod permits;
mod progress;
mod replays;
mod retention;
mod sending;
mod settings;
mod state;
mod subscription;
mod suspension;
mod targets;
mod tracks;
mod worker;

use axum::extract::FromRef;

use crate::companies::Companies;
use crate::resources::Extension;

pub use company_clients::{CompanyClients, NoClient};
pub use delivering::{Delivering, SettingsError};
pub use delivery_log::Delivery;
pub use endpoint::{LONGEST_ATTEMPT, SEALED, SealedSecrets, SigningSecret};
pub use engine::attempts::erase_responses;
pub use engine::backlog::Backlog;
pub use figures::EXPIRES_SOON;
pub use forwarding::{Forwarder, ReadEvent};
pub use hooks::{Hook, Hooks, NoAnswer, NoHook};
pub use moving::{arrive, freeze_for_move, is_at_rest, prepare_move, undo_move};
pub use replays::Replay;
pub use retention::create_partitions_as_in;
pub use sending::fault::Fault;
pub use sending::tls_reason::TlsReason;
pub use sending::{Attempt, Claimed};
pub use settings::Settings;
pub use state::{Parts, Webhooks};
pub use subscription::{DisabledReason, EventFilter, Subscription};
pub use suspension::{resume_company, suspend_company};
pub use targets::{EndpointUrl, Resolver, TargetError};

/// The resources and routes of the hub below `developers/int/v1`.
pub fn extension<S>() -> Extension<S>
where
    Webhooks: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    subscription::extension::<S>()
        .read_only::<Delivery>()
        .merge(replays::extension())
        .merge(explanation::extension())
        .merge(figures::extension())
}
