//! Figures that only the database has: how much waits, and since when.
//!
//! They are asked for when somebody asks for the metrics, at most every few seconds, on a connection of their own and within a deadline: a
//! database that is slow or away delays nothing but them. Until it answers again, their series are absent, and `portico_database_up` is 0.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::{Instant, timeout};

use crate::events::Outbox;
use crate::gateways::CallbackBacklog;
use crate::kernel::clock::Clock;
use crate::kernel::database::{self, Pool};
use crate::kernel::error_chain::chain;
use crate::kernel::metrics::{Kind, Registry, Unlabelled};
use crate::webhooks::Backlog;

/// For so long, figures are not asked for again.
const KEPT: Duration = Duration::from_secs(5);
/// The time in which the database has to answer.
const DEADLINE: Duration = Duration::from_secs(2);

crate::labels! {
    /// The lane of a delivery that waits.
    pub struct LaneLabels {
        /// `first`, `retry`, `in_order`, `replay` or `held`.
        pub lane: &'static str,
    }
}

/// What the database has said last. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Figures(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: Pool,
    clock: Clock,
    /// Held by the one who asks; the others wait for the same answer.
    asking: tokio::sync::Mutex<Option<Instant>>,
    told: Mutex<Option<Told>>,
}

#[derive(Clone, Debug)]
struct Told {
    at: DateTime<Utc>,
    outbox: Outbox,
    backlog: Backlog,
    callbacks: CallbackBacklog,
}

impl Told {
    /// For how long something has waited.
    fn since(&self, instant: Option<DateTime<Utc>>) -> f64 {
        instant.map_or(0.0, |instant| (self.at - instant).as_seconds_f64().max(0.0))
    }
}

impl Figures {
    pub(super) fn new(pool: &Pool, clock: Clock) -> Self {
        let pool = database::figures_pool(pool, DEADLINE);
        Self(Arc::new(Inner { pool, clock, asking: tokio::sync::Mutex::default(), told: Mutex::default() }))
    }

    /// Asks the database, unless it was asked a moment ago.
    pub(super) async fn refresh(&self) {
        let mut asked = self.0.asking.lock().await;
        if asked.is_some_and(|at| at.elapsed() < KEPT) {
            return;
        }
        let told = match timeout(DEADLINE, self.ask()).await {
            Ok(Ok(told)) => Some(told),
            Ok(Err(error)) => {
                tracing::debug!(error = chain(&error), "the database does not tell its figures");
                None
            }
            Err(_) => None,
        };
        *self.0.told.lock().unwrap_or_else(PoisonError::into_inner) = told;
        *asked = Some(Instant::now());
    }

    async fn ask(&self) -> Result<Told, sqlx::Error> {
        let mut conn = self.0.pool.acquire().await?;
        let (outbox, backlog) = (Outbox::read(&mut conn).await?, Backlog::read(&mut conn).await?);
        let callbacks = CallbackBacklog::read(&mut conn).await?;
        Ok(Told { at: self.0.clock.now(), outbox, backlog, callbacks })
    }

    fn told(&self) -> Option<Told> {
        self.0.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Registers the figures. They are the same in every instance of a deployment.
    pub(super) fn register(&self, registry: &mut Registry) {
        let this = self.clone();
        let up = move || Some(f64::from(u8::from(this.told().is_some())));
        registry.gauge("portico_database_up", "Whether the database has told the figures that it is asked for", up);
        let gauge = |registry: &mut Registry, name: &str, help: &str, value: fn(&Told) -> f64| {
            let this = self.clone();
            registry.gauge(name, help, move || this.told().as_ref().map(value));
        };
        gauge(registry, "portico_outbox_events", "Events that wait to be fanned out, at most 100000", |told| told.outbox.waiting as f64);
        gauge(registry, "portico_outbox_oldest_seconds", "Age of the event that waits first", |told| told.since(told.outbox.oldest));
        let this = self.clone();
        let published = move || this.told().map(|told| ([], told.outbox.published as f64)).into_iter().collect();
        registry.read::<Unlabelled>("portico_events_published", "Events that were ever published", Kind::Counter, published);
        let lanes = |registry: &mut Registry, name: &str, help: &str, value: fn(&Told) -> Vec<(LaneLabels, f64)>| {
            let this = self.clone();
            registry.read(name, help, Kind::Gauge, move || this.told().as_ref().map(value).unwrap_or_default());
        };
        lanes(registry, "portico_webhook_deliveries_waiting", "Deliveries that wait, at most 20000 of each lane", |told| {
            told.backlog.lanes.iter().map(|of| (LaneLabels { lane: of.lane }, of.waiting as f64)).collect()
        });
        lanes(registry, "portico_webhook_oldest_due_seconds", "Time since the first delivery was due that is not held back", |told| {
            let claimed = told.backlog.lanes.iter().filter(|of| !["in_order", "held"].contains(&of.lane));
            claimed.map(|of| (LaneLabels { lane: of.lane }, told.since(of.first_due))).collect()
        });
        gauge(registry, "portico_webhook_deliveries_in_flight", "Deliveries in flight, in all instances", |told| {
            told.backlog.in_flight as f64
        });
        gauge(
            registry,
            "portico_webhook_circuits_open",
            "Endpoints with an open circuit or a silence that holds deliveries back",
            |told| told.backlog.open_circuits as f64,
        );
        gauge(registry, "portico_callbacks_waiting", "Callbacks that failed and are tried again, at most 10000", |told| {
            told.callbacks.waiting as f64
        });
        gauge(registry, "portico_callbacks_oldest_due_seconds", "Time since the first of these callbacks was due", |told| {
            told.since(told.callbacks.first_due)
        });
    }
}
