//! The SQL of failing endpoints.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::{CompanyId, SubscriptionId};
use crate::webhooks::failing::episode::Episode;

/// An endpoint with a notice that may be due.
#[derive(Debug)]
pub(super) struct Suspect {
    pub(super) company: CompanyId,
    pub(super) subscription: SubscriptionId,
    pub(super) episode: Episode,
}

/// Endpoints that have been failing for at least two days, and those whose operators have been notified.
pub(super) async fn list_suspects(conn: &mut PgConnection) -> Result<Vec<Suspect>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select subscriptions.company_id as "company: CompanyId", subscriptions.id as "subscription: SubscriptionId",
                  failing_since, last_failure_at, last_success_at, noticed_percent, noticed_since
           from endpoints join subscriptions on subscriptions.id = endpoints.subscription_id
           where subscriptions.deleted_at is null
           and (noticed_since is not null or (failing_since is not null and last_failure_at >= failing_since + interval '2 days'))
           order by subscriptions.id"#,
    )
    .fetch_all(conn)
    .await?;
    let suspect = rows.into_iter().map(|row| Suspect {
        company: row.company,
        subscription: row.subscription,
        episode: Episode {
            failing_since: row.failing_since,
            last_failure_at: row.last_failure_at,
            last_success_at: row.last_success_at,
            noticed_percent: row.noticed_percent,
            noticed_since: row.noticed_since,
        },
    });
    Ok(suspect.collect())
}

/// Reads the episode of an endpoint and locks its row until the transaction ends.
pub(super) async fn lock_episode(conn: &mut PgConnection, subscription: SubscriptionId) -> Result<Episode, sqlx::Error> {
    sqlx::query_as!(
        Episode,
        "select failing_since, last_failure_at, last_success_at, noticed_percent, noticed_since
         from endpoints where subscription_id = $1 for no key update",
        subscription.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Stores which notice the operators have been given.
pub(super) async fn note_told(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    percent: i16,
    since: Option<DateTime<Utc>>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update endpoints set noticed_percent = $2, noticed_since = $3 where subscription_id = $1",
        subscription.uuid(),
        percent,
        since,
    )
    .execute(conn)
    .await?;
    Ok(())
}
