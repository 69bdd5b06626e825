//! Reconciliation: asks the card provider for events whose callbacks were not delivered, and records them as if they had arrived.
//!
//! A *pass* reads the provider's list of such events page by page, newest first, as far back as the pass before began, and an hour further. An event
//! is in the list from its creation until its callback has been taken, so whatever is created after a pass began is in the list of the next one, or
//! was delivered. The ledger records each event once, so it does not matter how often an event is seen, nor whether its callback comes after all.
//!
//! After each page, where the pass has come to is written down: whoever goes on after a restart or an error begins behind it. Gateways take
//! turns: one with more than some pages goes to the end of the line.

mod queries;

use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use chrono::{DateTime, TimeDelta, Utc};

use crate::companies::{Standing, standing};
use crate::gateways::accounts::{self, GatewayError};
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::open_gateways::OpenGateway;
use crate::gateways::recording::Acknowledgement;
use crate::gateways::state::Gateways;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CallbackId, GatewayId};
use crate::kernel::lifecycle::Lifecycle;
use crate::providers::card::{CardError, UndeliveredEvents};

/// How often the worker looks whether a gateway is due.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
/// How far a pass reads into what the one before has seen, because the clocks of the provider and the database differ.
const OVERLAP: TimeDelta = TimeDelta::hours(1);
/// For how long the provider keeps events.
const KEPT: TimeDelta = TimeDelta::days(30);
/// Within this time an instance reads a page and records its events, or another one does it as well.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// How many pages of one gateway are read before the others have their turn.
const PAGES_IN_TURN: usize = 10;

/// A comparison under way.
#[derive(Debug)]
pub(super) struct Pass {
    gateway: GatewayId,
    seen_until: DateTime<Utc>,
    began_at: DateTime<Utc>,
    position: Option<String>,
}

/// Why a pass cannot go on now.
#[derive(Debug, thiserror::Error)]
enum Halt {
    #[error(transparent)]
    Provider(#[from] CardError),
    #[error(transparent)]
    SecretKey(#[from] GatewayError),
    #[error("the place of the comparison could not be read or noted")]
    Database(#[from] sqlx::Error),
    #[error("its events cannot be recorded at present")]
    Recording,
    /// The reason is logged where it is known.
    #[error("the gateway cannot be used at present")]
    Unusable,
}

impl Gateways {
    /// Starts the worker, unless the setting is empty; it ends on shutdown.
    pub(super) fn start_reconciling(&self, lifecycle: &Lifecycle) {
        if self.reconcile_every.is_none() {
            return;
        }
        let (this, until) = (self.clone(), lifecycle.clone());
        lifecycle.spawn(async move {
            // It can be broken off at any moment: what has been compared is written down.
            let compare = || async { until.stopping().run_until_cancelled(this.reconcile_due()).await.transpose() };
            until.every(POLL_INTERVAL, "gateways are waiting to be reconciled", compare).await;
        });
    }

    /// Compares what is due, and returns the number of callbacks that had been missed. Tests use this instead of a running worker.
    pub async fn reconcile_due(&self) -> Result<usize, sqlx::Error> {
        let Some(every) = self.reconcile_every else { return Ok(0) };
        let (now, mut missed) = (self.clock.now(), 0);
        queries::insert_missing(&mut self.pool.acquire().await?, now - KEPT, now).await?;
        while let Some(mut pass) = self.claim_pass().await? {
            let (compared, recorded) = self.compare(&mut pass, every).await;
            if recorded > 0 {
                tracing::warn!(gateway = %pass.gateway, recorded, "callbacks of a gateway had not arrived; the provider was asked for them");
            }
            missed += recorded;
            if let Err(halt) = compared {
                tracing::warn!(gateway = %pass.gateway, error = chain(&halt), "a gateway could not be reconciled; trying again in {every:?}");
                // Without the place where the pass was interrupted, it begins anew.
                let position = pass.position.as_deref().filter(|_| !matches!(halt, Halt::Provider(CardError::PositionUnknown)));
                queries::note_position(&mut self.pool.acquire().await?, &pass, position, self.clock.now() + every).await?;
            }
        }
        Ok(missed)
    }

    async fn claim_pass(&self) -> Result<Option<Pass>, sqlx::Error> {
        queries::claim_due(&mut self.pool.acquire().await?, LEASE, self.clock.now()).await
    }

    /// Goes on with a pass, and returns as well how many callbacks had been missed.
    async fn compare(&self, pass: &mut Pass, every: Duration) -> (Result<(), Halt>, usize) {
        let mut missed = 0;
        (self.read_pages(pass, every, &mut missed).await, missed)
    }

    /// Reads pages until there are no more, or the others have their turn.
    async fn read_pages(&self, pass: &mut Pass, every: Duration, missed: &mut usize) -> Result<(), Halt> {
        let gateway = self.find_active(pass.gateway).await.map_err(|_| Halt::Unusable)?;
        let gateway = gateway.filter(|gateway| gateway.standing == Standing::Open).ok_or(Halt::Unusable)?;
        let secret_key = accounts::find_secret_key(&mut self.pool.acquire().await?, &self.key, pass.gateway).await?;
        let secret_key = secret_key.ok_or(Halt::Unusable)?;
        for turn in 1..=PAGES_IN_TURN {
            let since = pass.seen_until - OVERLAP;
            let page = self.card.list_undelivered_events(secret_key.reveal(), since, pass.position.as_deref()).await?;
            // The card provider may have taken longer than a company needs to leave, and the ledger is where the company is.
            if standing(&mut self.pool.acquire().await?, gateway.company).await? != Standing::Open {
                return Err(Halt::Unusable);
            }
            *missed += self.record_page(&gateway, &page).await?;
            let now = self.clock.now();
            let mut conn = self.pool.acquire().await?;
            match page.last().filter(|_| page.has_more) {
                Some(last) => {
                    let due_at = if turn == PAGES_IN_TURN { now } else { now + LEASE };
                    queries::note_position(&mut conn, pass, Some(&last), due_at).await?;
                    pass.position = Some(last);
                }
                None => return Ok(queries::end_pass(&mut conn, pass, now + every).await?),
            }
        }
        Ok(())
    }

    /// Records the events of a page that are not in the ledger yet, oldest first, and returns their number. Those without a meaning here are
    /// left out: the account may have other endpoints, which want other events.
    async fn record_page(&self, gateway: &Arc<OpenGateway>, page: &UndeliveredEvents) -> Result<usize, Halt> {
        let mut missed = 0;
        for event in page.data.iter().rev() {
            let (now, body) = (self.clock.now(), Bytes::from(event.get().to_owned()));
            let callback = GenuineCallback::read(CallbackId::new(now), Arc::clone(gateway), body, None, now);
            if matches!(callback.update, Ok(None)) {
                continue;
            }
            let size = callback.body.len();
            let recorded = self.recording.write(Arc::new(callback), size).await.map_err(|_| Halt::Recording)?;
            missed += usize::from(!matches!(recorded, Ok(Acknowledgement::Repeated)));
        }
        Ok(missed)
    }
}
