//! Callbacks that have not been processed: why, when they are tried again, and the statements that change them.

use chrono::{DateTime, TimeDelta, Utc};

use crate::gateways::drivers::NotUnderstood;
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::ledger::Status;
use crate::gateways::ledger::closed::Closed;
use crate::kernel::database::{Connection, is_unavailable};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CallbackId, GatewayId};
use crate::kernel::problem::ProblemCode;

/// When a failed callback is retried, counted from its arrival. Most internal faults are gone within a minute; most wrong settings
/// are corrected within a day.
const RETRY_SCHEDULE: [TimeDelta; 5] =
    [TimeDelta::minutes(1), TimeDelta::minutes(6), TimeDelta::minutes(36), TimeDelta::minutes(156), TimeDelta::minutes(636)];

/// The next scheduled retry of a callback that arrived at `came_at`; `None` after the last one. Retries by the gateway or by hand
/// do not change the schedule.
pub fn next_attempt(came_at: DateTime<Utc>, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
    RETRY_SCHEDULE.iter().map(|after| came_at + *after).find(|at| *at > now)
}

/// Why a genuine callback could not be processed.
#[derive(Debug)]
pub struct Failure {
    pub reason: &'static str,
    pub detail: String,
}

impl From<NotUnderstood> for Failure {
    fn from(not_understood: NotUnderstood) -> Self {
        Self { reason: ProblemCode::CallbackNotUnderstood.as_str(), detail: not_understood.to_string() }
    }
}

impl Failure {
    /// The gateway has no usable driver, secret or settings any more.
    pub fn unreadable() -> Self {
        let detail = "The driver, settings or signing secret of the gateway cannot be used.".to_owned();
        Self { reason: ProblemCode::GatewayNotConfigured.as_str(), detail }
    }

    /// A database error. If the database is unavailable, the error is returned: nothing can be recorded, and the gateway has to
    /// retry.
    pub fn of(error: sqlx::Error) -> Result<Self, sqlx::Error> {
        if is_unavailable(&error) {
            return Err(error);
        }
        tracing::error!(error = chain(&error), "a callback could not be processed");
        Ok(Self { reason: ProblemCode::Internal.as_str(), detail: "Something went wrong on our side. Processing is retried.".to_owned() })
    }
}

#[derive(Debug)]
pub struct UnprocessedCallback {
    pub id: CallbackId,
    pub gateway: GatewayId,
    pub body: Vec<u8>,
    pub came_at: DateTime<Utc>,
}

/// Locks the recorded callback that `callback` repeats, if its status is `failed`.
pub async fn lock_failed(conn: &mut Connection, callback: &GenuineCallback) -> Result<Option<UnprocessedCallback>, sqlx::Error> {
    sqlx::query_as!(
        UnprocessedCallback,
        r#"select id, gateway_id as "gateway!: GatewayId", body, created_at as came_at from callbacks
           where company_id = $1 and gateway_id = $2 and key = $3 and status = 'failed'
           and (variant = $4 or variant is null and ($4 = '' or kind is not distinct from $5))
           for no key update"#,
        callback.gateway.company.uuid(),
        callback.gateway.id.uuid(),
        callback.key,
        callback.variant,
        callback.kind,
    )
    .fetch_optional(conn)
    .await
}

pub async fn find_unprocessed(conn: &mut Connection, id: CallbackId) -> Result<UnprocessedCallback, sqlx::Error> {
    sqlx::query_as!(
        UnprocessedCallback,
        r#"select id, gateway_id as "gateway!: GatewayId", body, created_at as came_at from callbacks where id = $1"#,
        id.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Claims the callback that has been due longest. Its due time moves on, so no other instance claims it meanwhile, and a callback that
/// crashes the program is not the first one again.
pub async fn claim_due(conn: &mut Connection, now: DateTime<Utc>) -> Result<Option<UnprocessedCallback>, sqlx::Error> {
    sqlx::query_as!(
        UnprocessedCallback,
        r#"update callbacks set due_at = $2
           where id = (select id from callbacks where due_at <= $1 order by due_at limit 1 for no key update skip locked)
           returning id, gateway_id as "gateway!: GatewayId", body, created_at as came_at"#,
        now,
        now + RETRY_SCHEDULE[0],
    )
    .fetch_optional(conn)
    .await
}

/// Locks the callback; `false` if it has been processed meanwhile.
pub async fn lock_unprocessed(conn: &mut Connection, id: CallbackId) -> Result<bool, sqlx::Error> {
    let locked =
        sqlx::query_scalar!("select id from callbacks where id = $1 and status in ('failed', 'ignored') for no key update", id.uuid())
            .fetch_optional(conn)
            .await?;
    Ok(locked.is_some())
}

pub async fn close(conn: &mut Connection, id: CallbackId, closed: &Closed, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set status = $2, reason = $3, detail = $4, due_at = null, attempts = attempts + 1, version = version + 1,
                              updated_at = $5
         where id = $1",
        id.uuid(),
        closed.status as Status,
        closed.reason,
        closed.detail,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn record_failure(
    conn: &mut Connection,
    callback: &UnprocessedCallback,
    failure: &Failure,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set status = 'failed', reason = $2, detail = $3, due_at = $4, attempts = attempts + 1, version = version + 1,
                              updated_at = $5
         where id = $1 and status in ('failed', 'ignored')",
        callback.id.uuid(),
        failure.reason,
        failure.detail,
        next_attempt(callback.came_at, now),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn forget_refused(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from callbacks where status = 'refused' and created_at < $1", before).execute(conn).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_tried_six_times_over_half_a_day() {
        let came_at = DateTime::UNIX_EPOCH;
        let times = std::iter::successors(Some(came_at), |now| next_attempt(came_at, *now));
        let minutes: Vec<_> = times.map(|at| (at - came_at).num_minutes()).collect();
        assert_eq!(minutes, [0, 1, 6, 36, 156, 636]);
        assert_eq!(next_attempt(came_at, came_at + TimeDelta::minutes(4)), Some(came_at + TimeDelta::minutes(6)));
    }
}
