//! Clients that customers have signed in from. [`tokens`](crate::storefront::tokens) notes them with every sign-in.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::storefront::guessing::Client;

/// How long a client is known without a further sign-in.
const KNOWN_FOR: TimeDelta = TimeDelta::days(90);

/// Whether the customer has signed in from this client.
pub async fn is_known(conn: &mut Connection, customer: CustomerId, client: &Client) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from known_clients where customer_id = $1 and client = $2) as "is_known!""#,
        customer.uuid(),
        client.mark.as_slice(),
    )
    .fetch_one(conn)
    .await
}

/// Forgets the clients of a customer: of one who is gone, or whose account somebody else may have used.
pub async fn forget_clients(conn: &mut Connection, customer: CustomerId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from known_clients where customer_id = $1", customer.uuid()).execute(conn).await?;
    Ok(())
}

/// Forgets clients that nobody has signed in from for long.
pub async fn forget_old_clients(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from known_clients where last_seen_at < $1", now - KNOWN_FOR).execute(conn).await?;
    Ok(())
}
