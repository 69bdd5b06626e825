//! The audit trail: who changed the records that decide what others may do and where data goes.
//!
//! These are API keys, stores and their keys, webhooks, gateways, identity and message providers, wordings, operators and portal links, and what operators do to the account of a
//! customer, and that a company is suspended or resumed. Whoever changes one of them calls [`record`] in the
//! transaction of the change, so that a change and its entry are committed together or not at all. An entry names the fields that were
//! changed and has none of their values, so no secret can get into the trail. [`crate::developers`] lists the entries.
//!
//! Not guaranteed: entries about changes that a person makes in the database itself.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! queries         the SQL of the entries
//! changed_record  the kinds of records, and what can be done to them
//! ```

mod changed_record;
mod queries;

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::callers::Caller;
use crate::kernel::clock::Clock;
use crate::kernel::database::{Connection, Pool};
use crate::kernel::settings;

pub use changed_record::{Action, ChangedRecord};

/// `[audit_trail]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// How long entries are kept.
    #[serde(deserialize_with = "settings::time")]
    pub retention: Duration,
}

/// Records a change in the transaction that makes it.
pub async fn record(
    conn: &mut Connection,
    caller: &Caller,
    action: Action<'_>,
    changed: ChangedRecord,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    queries::insert_change(conn, caller, action, changed, now).await
}

/// The entries of one database.
#[derive(Clone, Debug)]
pub struct AuditTrail {
    pool: Pool,
    clock: Clock,
    settings: Settings,
}

impl AuditTrail {
    /// `settings` decides what [`Self::sweep`] deletes.
    pub fn new(pool: Pool, clock: Clock, settings: Settings) -> Self {
        Self { pool, clock, settings }
    }

    /// Deletes entries that are older than `audit_trail.retention`. A periodic task calls it about once a minute.
    pub async fn sweep(&self) -> Result<(), sqlx::Error> {
        let retention = TimeDelta::from_std(self.settings.retention).unwrap_or(TimeDelta::MAX);
        let Some(until) = self.clock.now().checked_sub_signed(retention) else { return Ok(()) };
        queries::delete_changes_until(&mut self.pool.acquire_patient().await?, until).await
    }
}
