//! The SQL of links that customers bring along who move in from another service.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};

/// Returns which of these providers and subjects are linked in the store.
pub async fn list_linked(conn: &mut Connection, store: StoreId, links: &[(String, String)]) -> Result<Vec<(String, String)>, sqlx::Error> {
    let (providers, subjects): (Vec<_>, Vec<_>) = links.iter().cloned().unzip();
    let linked = sqlx::query!(
        "select links.provider, links.subject from provider_links as links
         join unnest($2::text[], $3::text[]) as asked (provider, subject) on links.provider = asked.provider and links.subject = asked.subject
         where links.store_id = $1",
        store.uuid(),
        &providers,
        &subjects,
    )
    .fetch_all(conn)
    .await?;
    Ok(linked.into_iter().map(|row| (row.provider, row.subject)).collect())
}

/// Links customers to subjects of providers, none of which is linked.
pub async fn insert_links(
    conn: &mut Connection,
    store: StoreId,
    links: Vec<(CustomerId, String, String)>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let (customers, named): (Vec<Uuid>, Vec<_>) =
        links.into_iter().map(|(customer, provider, subject)| (customer.uuid(), (provider, subject))).unzip();
    let (providers, subjects): (Vec<String>, Vec<String>) = named.into_iter().unzip();
    sqlx::query!(
        "insert into provider_links (store_id, provider, subject, customer_id, linked_at)
         select $1, provider, subject, customer_id, $5 from unnest($2::uuid[], $3::text[], $4::text[]) as link (customer_id, provider, subject)",
        store.uuid(),
        &customers,
        &providers,
        &subjects,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
