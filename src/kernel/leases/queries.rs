//! The SQL of leases. The server's clock decides.

use std::time::Duration;

use chrono::TimeDelta;
use sqlx::Executor;
use uuid::Uuid;

use crate::kernel::database::Pool;

/// Makes the table, if the migration that does so has not run yet.
pub(super) async fn make_table(pool: &Pool) -> Result<(), sqlx::Error> {
    pool.execute(include_str!("../../../migrations/20261203100000_leases.sql")).await.map(drop)
}

/// Whether `holder` has the lease now: it was free, or had run out.
pub(super) async fn take(pool: &Pool, name: &str, holder: Uuid, term: Duration) -> Result<bool, sqlx::Error> {
    let taken = sqlx::query!(
        "insert into leases as lease (name, holder, held_until) values ($1, $2, clock_timestamp() + $3::interval)
         on conflict (name) do update set holder = excluded.holder, held_until = excluded.held_until
         where lease.held_until < clock_timestamp()",
        name,
        holder,
        interval(term) as TimeDelta,
    );
    Ok(taken.execute(pool).await?.rows_affected() == 1)
}

/// Whether `holder` still has the lease, which is prolonged then.
pub(super) async fn renew(pool: &Pool, name: &str, holder: Uuid, term: Duration) -> Result<bool, sqlx::Error> {
    let renewed = sqlx::query!(
        "update leases set held_until = clock_timestamp() + $3::interval where name = $1 and holder = $2",
        name,
        holder,
        interval(term) as TimeDelta,
    );
    Ok(renewed.execute(pool).await?.rows_affected() == 1)
}

pub(super) async fn release(pool: &Pool, name: &str, holder: Uuid) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from leases where name = $1 and holder = $2", name, holder).execute(pool).await?;
    Ok(())
}

fn interval(term: Duration) -> TimeDelta {
    TimeDelta::from_std(term).unwrap_or(TimeDelta::MAX)
}
