//! The SQL of how far a move is.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// How far a move is, as one of the two cells knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Stage {
    /// Its deliveries are held.
    Preparing,
    /// Its requests have to wait.
    Leaving,
    /// It was deleted here, but for its log.
    Left,
    /// It is here, and not yet for sure.
    Arriving,
    /// It is here for sure, and its log is on its way.
    Arrived,
}

/// A move under way.
#[derive(Debug)]
pub struct Step {
    /// The other cell.
    pub cell: String,
    /// How far it is.
    pub stage: Stage,
}

/// How far the company is on its way from or to another cell.
pub async fn find_step(conn: &mut Connection, company: CompanyId) -> Result<Option<Step>, sqlx::Error> {
    sqlx::query_as!(Step, r#"select cell, stage as "stage: Stage" from company_moves where company_id = $1"#, company.uuid())
        .fetch_optional(conn)
        .await
}

pub(super) async fn any_arrived(conn: &mut Connection) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(r#"select exists (select from company_moves where stage = 'arrived') as "any!""#).fetch_one(conn).await
}

pub(super) async fn insert_step(conn: &mut Connection, company: CompanyId, to: &str, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
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

pub(super) async fn set_stage(conn: &mut Connection, company: CompanyId, stage: Stage) -> Result<(), sqlx::Error> {
    sqlx::query!("update company_moves set stage = $2 where company_id = $1", company.uuid(), stage as Stage).execute(conn).await?;
    Ok(())
}

pub(super) async fn delete_step(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from company_moves where company_id = $1", company.uuid()).execute(conn).await?;
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
