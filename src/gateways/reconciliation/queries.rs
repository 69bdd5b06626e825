//! The SQL of reconciliation.

use chrono::{DateTime, TimeDelta, Utc};

use crate::gateways::reconciliation::Pass;
use crate::kernel::database::Connection;
use crate::kernel::ids::GatewayId;

/// Begins to keep account of card gateways that are new. Of an older one, what the provider still knows is compared.
pub async fn insert_missing(conn: &mut Connection, oldest: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into reconciliations (gateway_id, seen_until, due_at)
         select id, greatest(created_at, $1), $2 from card_gateways
         where not exists (select from reconciliations where gateway_id = id)
         on conflict do nothing",
        oldest,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Takes the gateway that has been due for longest, begins its pass if none is under way, and keeps other instances off until `lease` is over.
pub async fn claim_due(conn: &mut Connection, lease: TimeDelta, now: DateTime<Utc>) -> Result<Option<Pass>, sqlx::Error> {
    sqlx::query_as!(
        Pass,
        r#"update reconciliations set began_at = coalesce(began_at, $1), due_at = $1 + $2::interval
           where gateway_id = (
               select gateway_id from reconciliations
               where due_at <= $1 and gateway_id in (select id from card_gateways)
               order by due_at limit 1 for update skip locked
           )
           returning gateway_id as "gateway: GatewayId", seen_until, began_at as "began_at!", position"#,
        now,
        lease as TimeDelta,
    )
    .fetch_optional(conn)
    .await
}

/// Notes that everything up to `position` has been compared.
pub async fn note_position(conn: &mut Connection, pass: &Pass, position: Option<&str>, due_at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update reconciliations set position = $3, due_at = $4 where gateway_id = $1 and began_at = $2",
        pass.gateway.uuid(),
        pass.began_at,
        position,
        due_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Ends a pass. What the provider had when it began has been seen.
pub async fn end_pass(conn: &mut Connection, pass: &Pass, due_at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update reconciliations set seen_until = began_at, began_at = null, position = null, due_at = $3
         where gateway_id = $1 and began_at = $2",
        pass.gateway.uuid(),
        pass.began_at,
        due_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}
