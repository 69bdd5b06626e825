//! The SQL of how far a move is.

use chrono::{DateTime, Utc};

use crate::companies::standing::{Stage, Step};
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// How far the company is on its way from or to another cell.
pub async fn find_step(conn: &mut Connection, company: CompanyId) -> Result<Option<Step>, sqlx::Error> {
    sqlx::query_as!(Step, r#"select cell, stage as "stage: Stage" from company_moves where company_id = $1"#, company.uuid())
        .fetch_optional(conn)
        .await
}

/// The same, and nobody changes it until the transaction ends. Whoever was changing it has ended.
pub async fn lock_step(conn: &mut Connection, company: CompanyId) -> Result<Option<Step>, sqlx::Error> {
    sqlx::query_as!(Step, r#"select cell, stage as "stage: Stage" from company_moves where company_id = $1 for update"#, company.uuid())
        .fetch_optional(conn)
        .await
}

/// Whether the log of any company is on its way.
pub async fn any_awaits_its_log(conn: &mut Connection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from company_moves where stage = 'arrived') as "any!""#).fetch_one(conn).await
}

/// Begins a move to a cell. Returns `false` if the company is on its way already.
pub async fn prepare(conn: &mut Connection, company: CompanyId, to: &str, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into company_moves (company_id, cell, stage, suspended_at, begun_at)
         select id, $2, 'preparing', suspended_at, $3 from companies where id = $1
         on conflict on constraint company_moves_pkey do nothing",
        company.uuid(),
        to,
        now,
    );
    Ok(inserted.execute(conn).await?.rows_affected() == 1)
}

/// Notes on the side of the new cell that the company arrives there.
pub(super) async fn insert_arrival(conn: &mut Connection, company: CompanyId, left: &Departure, from: &str) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into company_moves (company_id, cell, stage, suspended_at, begun_at) values ($1, $2, 'arriving', $3, $4)",
        company.uuid(),
        from,
        left.suspended_at,
        left.begun_at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// What the new cell has to know of the old one.
pub(super) struct Departure {
    suspended_at: Option<DateTime<Utc>>,
    begun_at: DateTime<Utc>,
}

/// Locks the move of a company that is leaving. `None` if it is not.
pub(super) async fn lock_departure(conn: &mut Connection, company: CompanyId) -> Result<Option<Departure>, sqlx::Error> {
    sqlx::query_as!(
        Departure,
        "select suspended_at, begun_at from company_moves where company_id = $1 and stage = 'leaving' for update",
        company.uuid(),
    )
    .fetch_optional(conn)
    .await
}

/// Takes a move from one stage to the next. Returns `false` if it is at another one.
pub(super) async fn set_stage(conn: &mut Connection, company: CompanyId, from: Stage, to: Stage) -> Result<bool, sqlx::Error> {
    let set = sqlx::query!(
        "update company_moves set stage = $3 where company_id = $1 and stage = $2",
        company.uuid(),
        from as Stage,
        to as Stage,
    );
    Ok(set.execute(conn).await?.rows_affected() == 1)
}

/// Ends a move that has not left.
pub(super) async fn forget(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    let forget = sqlx::query!("delete from company_moves where company_id = $1 and stage in ('preparing', 'leaving')", company.uuid());
    forget.execute(conn).await?;
    Ok(())
}

/// Ends a move on the side of the new cell: the company is there with its log.
pub async fn conclude(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from company_moves where company_id = $1 and stage = 'arrived'", company.uuid()).execute(conn).await?;
    Ok(())
}

pub(super) async fn suspend_for_move(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("update companies set suspended_at = coalesce(suspended_at, $2) where id = $1", company.uuid(), now).execute(conn).await?;
    Ok(())
}

/// The company is as suspended as it was before the move.
pub(super) async fn unsuspend_after_move(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update companies set suspended_at = company_moves.suspended_at from company_moves where id = $1 and company_id = id",
        company.uuid(),
    )
    .execute(conn)
    .await?;
    Ok(())
}
