//! The SQL of wrong passwords. They are counted by the statement that finds the account
//! ([`customers`](crate::storefront::customers::count_password_guess)).

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::storefront::guessing::lockouts::{self, Lockout};
use crate::storefront::passwords::WINDOW;

/// How long wrong passwords are remembered that locked nobody out, and others.
const REMEMBERED: TimeDelta = TimeDelta::days(1);
const LOCKOUTS_REMEMBERED: TimeDelta = TimeDelta::days(30);

/// Counts the guess that was counted as in flight `at` as a wrong one. The tenth locks out: for the first time until the window has passed.
/// One that a favoured client makes during a lock-out is not counted. Returns the lock-out that begins with it.
pub async fn settle_wrong(conn: &mut Connection, store: StoreId, subject: &str, at: DateTime<Utc>) -> Result<Option<Lockout>, sqlx::Error> {
    let settled = sqlx::query!(
        r#"update wrong_passwords as kept set (in_flight, wrong_at, in_a_row, lockouts, locked_out_until) = (
             select coalesce(kept.in_flight[:place - 1] || kept.in_flight[place + 1:], kept.in_flight),
                    case when is_locked or is_tenth then '{}' else recent || $3::timestamptz end,
                    kept.in_a_row + case when is_locked then 0 else 1 end,
                    kept.lockouts + case when is_tenth then 1 else 0 end,
                    case when not is_tenth then kept.locked_out_until
                         when kept.lockouts = 0 then coalesce(recent[1], $3) + ($3::timestamptz - $4::timestamptz)
                         else ($6::timestamptz[])[least(kept.lockouts + 1, cardinality($6::timestamptz[]))] end
             from (select coalesce(array_agg(at order by at), '{}') as recent from unnest(kept.wrong_at) as at where at > $4) as window_of_it,
                  (select array_position(kept.in_flight, $3) as place, coalesce(kept.locked_out_until > $3, false) as is_locked) as now_of_it,
                  lateral (select not is_locked and cardinality(recent) + 1 >= $5 as is_tenth) as tenth
         )
         from (select lockouts, in_a_row from wrong_passwords where store_id = $1 and subject = $2 for update) as before
         where store_id = $1 and subject = $2
         returning kept.locked_out_until, kept.in_a_row, kept.lockouts,
                   kept.lockouts > before.lockouts or kept.in_a_row >= $7 and before.in_a_row < $7 as "begins!""#,
        store.uuid(),
        subject,
        at,
        at - WINDOW,
        lockouts::WRONG_GUESSES,
        &lockouts::ends(at),
        lockouts::WRONG_IN_A_ROW,
    )
    .fetch_optional(conn)
    .await?;
    let begun = settled.filter(|row| row.begins);
    Ok(begun.and_then(|row| Lockout::at(at, row.locked_out_until, row.in_a_row, row.lockouts)))
}

/// Forgets a guess that was in flight and right, but signs nobody in for another reason.
pub async fn settle_right(conn: &mut Connection, store: StoreId, subject: &str, at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update wrong_passwords set in_flight = in_flight[:array_position(in_flight, $3) - 1] || in_flight[array_position(in_flight, $3) + 1:]
         where store_id = $1 and subject = $2 and $3 = any(in_flight)",
        store.uuid(),
        subject,
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How one of these subjects is locked out, the longest one; `None` if none is.
pub async fn find_lockout(
    conn: &mut Connection,
    store: StoreId,
    subjects: &[String],
    now: DateTime<Utc>,
) -> Result<Option<Lockout>, sqlx::Error> {
    let rows = sqlx::query!(
        "select locked_out_until, in_a_row, lockouts from wrong_passwords where store_id = $1 and subject = any($2)",
        store.uuid(),
        subjects,
    )
    .fetch_all(conn)
    .await?;
    let lockouts = rows.into_iter().filter_map(|row| Lockout::at(now, row.locked_out_until, row.in_a_row, row.lockouts));
    Ok(lockouts.max_by_key(|lockout| lockout.until))
}

/// Forgets the wrong passwords of these subjects, and so ends their lock-outs.
pub async fn forget_wrong_passwords(conn: &mut Connection, store: StoreId, subjects: &[String]) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_passwords where store_id = $1 and subject = any($2)", store.uuid(), subjects).execute(conn).await?;
    Ok(())
}

/// Deletes lock-outs, and wrong passwords of accounts, that are no longer remembered.
pub async fn sweep_lockouts(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from wrong_passwords where last_at < $1", now - LOCKOUTS_REMEMBERED).execute(conn).await?;
    Ok(())
}

/// Deletes other wrong passwords that are no longer remembered.
pub async fn sweep_wrong_passwords(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    // By an index of its own: every minute, among what is remembered for a month.
    sqlx::query!("delete from wrong_passwords where last_at < $1 and lockouts = 0 and not of_account", now - REMEMBERED)
        .execute(conn)
        .await?;
    Ok(())
}
