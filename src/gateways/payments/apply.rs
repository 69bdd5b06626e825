//! Adding what callbacks tell to their payments, in the transaction that records the callbacks.
//!
//! However many callbacks there are, and of however many payments, the statements are the same handful: the payments that are new are
//! opened, the others locked and their facts read; what follows is worked out in memory, payment by payment ([`Entry`]); and all facts,
//! states and events are written.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::events;
use crate::gateways::payments::entry::Entry;
use crate::gateways::payments::{Fact, queries};
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId, PaymentId};

/// What one callback tells about one payment.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Whose gateway.
    pub company: CompanyId,
    /// Which.
    pub gateway: GatewayId,
    /// What it calls the payment.
    pub transaction: &'a str,
    /// What it sent.
    pub callback: CallbackId,
    /// When that is written down as told.
    pub at: DateTime<Utc>,
    /// What is told.
    pub facts: Vec<Fact>,
}

/// Adds the facts, brings the payments to the states that follow, and publishes what became due. Of several reports about a payment the
/// first is told first.
pub async fn apply(conn: &mut PgConnection, reports: &[Report<'_>], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut entries = entries(reports, now);
    let opened = queries::insert_payments(conn, &entries, now).await?;
    // Somebody told of the others before. Their rows are locked until the end, so that two transactions never see the same facts as new.
    let mut others: Vec<_> = entries.iter_mut().filter(|entry| !opened.contains(&entry.payment)).collect();
    if !others.is_empty() {
        continue_payments(conn, &mut others).await?;
    }
    queries::insert_facts(conn, &entries).await?;
    let changed: Vec<_> = entries.iter().filter(|entry| entry.has_changed()).collect();
    if !changed.is_empty() {
        queries::set_states(conn, &changed, now).await?;
    }
    let due: Vec<_> = entries.into_iter().flat_map(|entry| entry.events).collect();
    if !due.is_empty() {
        events::publish_all(conn, &due, now).await?;
    }
    Ok(())
}

/// One for each payment that is told of, as if nobody had told of it before.
fn entries<'a>(reports: &'a [Report<'a>], now: DateTime<Utc>) -> Vec<Entry<'a>> {
    let mut told = BTreeMap::<_, Vec<_>>::new();
    for report in reports {
        told.entry((report.gateway, report.transaction)).or_default().push(report);
    }
    told.into_values().map(|reports| Entry::open(PaymentId::new(now), reports)).collect()
}

/// Locks payments that are there, and reads what is known of them.
async fn continue_payments(conn: &mut PgConnection, entries: &mut [&mut Entry<'_>]) -> Result<(), sqlx::Error> {
    let payments = queries::lock_payments(conn, entries).await?;
    // By a statement of its own: one that waited for the lock would know the facts from before it waited.
    let mut known = HashMap::<_, Vec<_>>::new();
    for (payment, fact) in queries::list_facts(conn, &payments).await? {
        known.entry(payment).or_default().push(fact);
    }
    for (entry, payment) in entries.iter_mut().zip(payments) {
        entry.resume(payment, known.remove(&payment).unwrap_or_default());
    }
    Ok(())
}
