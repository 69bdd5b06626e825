//! Erasing the personal data of accounts that are closed.

use chrono::{DateTime, Utc};

use crate::events;
use crate::gateways;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CustomerId;
use crate::storefront::{audit, customers, passkeys, second_factors, sms_guard, tokens};
use crate::webhooks;

/// The accounts that are erased in one go.
const AT_ONCE: i64 = 100;

/// Erases accounts that were closed before an instant, each in a transaction of its own: one that lasts holds up all event streams, and one that
/// cannot be erased must not keep the others.
pub async fn erase_due(conn: &mut Connection, closed_before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    for id in customers::list_to_erase(conn, closed_before, AT_ONCE).await? {
        let erasing = async {
            let mut tx = conn.begin().await?;
            erase_closed(&mut tx, closed_before, Some(id), now).await?;
            tx.commit().await
        };
        if let Err(error) = erasing.await {
            tracing::error!(customer = %id, error = chain(&error), "a closed account could not be erased");
        }
    }
    Ok(())
}

/// Erases the accounts that were closed before an instant, or only one of them, with what the logs, the events, the responses to these and the
/// callbacks say of them. To be called in a transaction: the logs are searched by the contacts that are blanked last.
pub async fn erase_closed(
    conn: &mut Connection,
    closed_before: DateTime<Utc>,
    only: Option<CustomerId>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    audit::forget_leavers(conn, closed_before, only).await?;
    sms_guard::forget_leavers(conn, closed_before, only).await?;
    tokens::forget_leavers(conn, closed_before, only).await?;
    second_factors::forget_leavers(conn, closed_before, only).await?;
    passkeys::forget_leavers(conn, closed_before, only).await?;
    let leavers = customers::erase_closed(conn, closed_before, only, now).await?;
    gateways::erase_bodies_of(conn, &leavers, now).await?;
    let records: Vec<_> = leavers.iter().map(|(company, customer)| (*company, customer.uuid())).collect();
    let events = events::erase_events_about(conn, &records).await?;
    webhooks::erase_responses(conn, &events).await
}
