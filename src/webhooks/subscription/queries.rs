//! The SQL of subscriptions.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::ids::SubscriptionId;
use crate::webhooks::subscription::DisabledReason;

/// One statement, so that nobody sees a disabled subscription with deliveries still waiting.
pub(super) async fn disable(
    conn: &mut PgConnection,
    subscription: SubscriptionId,
    reason: DisabledReason,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "with disabled as (
             update subscriptions
             set status = 'disabled', disabled_reason = $2, disabled_at = $3, updated_at = $3, version = version + 1
             where id = $1 and status = 'enabled'
             returning id
         )
         update deliveries set state = 'cancelled', due_at = null, updated_at = $3
         from disabled where subscription_id = disabled.id and state in ('pending', 'retrying')",
        subscription.uuid(),
        reason as DisabledReason,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}
