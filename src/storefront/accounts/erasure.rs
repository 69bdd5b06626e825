//! Erasing the personal data of accounts that are closed.

use chrono::{DateTime, Utc};

use crate::companies::moving;
use crate::events;
use crate::gateways;
use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::CustomerId;
use crate::storefront::accounts::social;
use crate::storefront::{audit, codes, customers, passkeys, second_factors, sms_guard, tokens};
use crate::webhooks;

/// The accounts that are erased in one go.
const AT_ONCE: i64 = 100;

/// Erases accounts that were closed before an instant, each in a transaction of its own: one that lasts holds up all event streams, and one that
/// cannot be erased must not keep the others.
pub async fn erase_due(conn: &mut Connection, closed_before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    for id in customers::list_to_erase(conn, closed_before, AT_ONCE).await? {
        let erasing = async {
            let mut tx = conn.begin().await?;
            let company = customers::company_of_customer(&mut tx, id).await?;
            // What the log says of it would follow.
            if let Some(company) = company
                && moving::awaits_its_log(&mut tx, company).await?
            {
                return Ok(());
            }
            erase(&mut tx, id, now).await?;
            tx.commit().await
        };
        if let Err(error) = erasing.await {
            tracing::error!(customer = %id, error = chain(&error), "a closed account could not be erased");
        }
    }
    Ok(())
}

/// Erases an account that is closed, with what the logs, the events, the responses to these and the callbacks say of it. To be called in a
/// transaction: the logs are searched by the contacts that are blanked last.
pub async fn erase(conn: &mut Connection, id: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    audit::forget_leaver(conn, id).await?;
    sms_guard::forget_leaver(conn, id).await?;
    tokens::forget_leaver(conn, id).await?;
    // The closure has deleted these, but its own code, unless it was one by an edition that does not know them.
    second_factors::forget(conn, id).await?;
    codes::forget_codes(conn, id).await?;
    passkeys::forget_passkeys(conn, id).await?;
    social::forget_subjects(conn, id).await?;
    let Some(company) = customers::erase_closed(conn, id, now).await? else { return Ok(()) };
    gateways::erase_bodies_of(conn, company, id, now).await?;
    let events = events::erase_events_about(conn, company, id.uuid()).await?;
    webhooks::erase_responses(conn, &events).await
}
