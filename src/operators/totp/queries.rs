//! The SQL of second factors.

use chrono::{DateTime, Utc};

use crate::kernel::crypto::Fingerprint;
use crate::kernel::database::Connection;
use crate::kernel::ids::OperatorId;

/// Stores the secret unless one waits already. Returns the one that waits; `None` if the operator has a second factor.
pub(super) async fn offer_secret(conn: &mut Connection, operator: OperatorId, fresh: &[u8]) -> Result<Option<Vec<u8>>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"update operators set sealed_totp_secret = coalesce(sealed_totp_secret, $2)
           where id = $1 and totp_enabled_at is null and deleted_at is null
           returning sealed_totp_secret as "secret!""#,
        operator.uuid(),
        fresh,
    )
    .fetch_optional(conn)
    .await
}

/// The secret that waits for its first code.
pub(super) async fn find_offered_secret(conn: &mut Connection, operator: OperatorId) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "select sealed_totp_secret from operators where id = $1 and totp_enabled_at is null and deleted_at is null",
        operator.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.flatten())
}

/// Forgets a secret that waits for its first code.
pub(super) async fn forget_offered_secret(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    let forgotten = sqlx::query!(
        "update operators set sealed_totp_secret = null where id = $1 and totp_enabled_at is null and sealed_totp_secret is not null",
        operator.uuid(),
    );
    forgotten.execute(conn).await?;
    Ok(())
}

/// The secret that codes are made with.
pub(super) async fn find_secret(conn: &mut Connection, operator: OperatorId) -> Result<Option<Vec<u8>>, sqlx::Error> {
    let found = sqlx::query_scalar!(
        "select sealed_totp_secret from operators where id = $1 and totp_enabled_at is not null and deleted_at is null",
        operator.uuid(),
    );
    Ok(found.fetch_optional(conn).await?.flatten())
}

/// Asks for codes of this secret from now on, unless another one waits by now.
pub(super) async fn enable(
    conn: &mut Connection,
    operator: OperatorId,
    sealed: &[u8],
    step: i64,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let enabled = sqlx::query!(
        "update operators set totp_enabled_at = $4, totp_last_step = $3, version = version + 1, updated_at = $4
         where id = $1 and totp_enabled_at is null and sealed_totp_secret = $2 and deleted_at is null",
        operator.uuid(),
        sealed,
        step,
        now,
    );
    Ok(enabled.execute(conn).await?.rows_affected() > 0)
}

/// Accepts the step unless it or a later one was accepted before.
pub(super) async fn use_step(conn: &mut Connection, operator: OperatorId, step: i64) -> Result<bool, sqlx::Error> {
    let used = sqlx::query!(
        "update operators set totp_last_step = $2
         where id = $1 and totp_enabled_at is not null and (totp_last_step is null or totp_last_step < $2)",
        operator.uuid(),
        step,
    );
    Ok(used.execute(conn).await?.rows_affected() > 0)
}

pub(super) async fn forget_secret(conn: &mut Connection, operator: OperatorId) -> Result<bool, sqlx::Error> {
    let forgotten = sqlx::query!(
        "update operators set sealed_totp_secret = null, totp_enabled_at = null, totp_last_step = null
         where id = $1 and sealed_totp_secret is not null",
        operator.uuid(),
    );
    Ok(forgotten.execute(conn).await?.rows_affected() > 0)
}

pub(super) async fn insert_recovery_codes(
    conn: &mut Connection,
    operator: OperatorId,
    digests: &[Vec<u8>],
    fingerprint: Fingerprint,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into operator_recovery_codes (operator_id, digest, key_fingerprint) select $1, unnest($2::bytea[]), $3",
        operator.uuid(),
        digests,
        fingerprint.bytes(),
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// How many operators have recovery codes that only another key than this one may recognise.
pub async fn count_operators_with_other_codes(conn: &mut Connection, fingerprint: Fingerprint) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select count(distinct operator_id) as "count!" from operator_recovery_codes where key_fingerprint is distinct from $1"#,
        fingerprint.bytes(),
    )
    .fetch_one(conn)
    .await
}

/// Of how many operators the recovery codes were made with which key, as far as they say so.
pub async fn count_operators_by_key_of_codes(conn: &mut Connection) -> Result<Vec<(Fingerprint, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select key_fingerprint as "key_fingerprint!", count(distinct operator_id) as "operators!"
           from operator_recovery_codes where key_fingerprint is not null group by key_fingerprint"#,
    );
    let rows = rows.fetch_all(conn).await?;
    Ok(rows.into_iter().filter_map(|row| Some((Fingerprint::stored(&row.key_fingerprint)?, row.operators))).collect())
}

pub(super) async fn delete_recovery_codes(conn: &mut Connection, operator: OperatorId) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from operator_recovery_codes where operator_id = $1", operator.uuid()).execute(conn).await?;
    Ok(())
}

/// Uses the code up, which has one of these digests. Returns whether the operator had it.
pub(super) async fn use_recovery_code(conn: &mut Connection, operator: OperatorId, digests: &[Vec<u8>]) -> Result<bool, sqlx::Error> {
    let used = sqlx::query!("delete from operator_recovery_codes where operator_id = $1 and digest = any($2)", operator.uuid(), digests);
    Ok(used.execute(conn).await?.rows_affected() > 0)
}

pub(super) async fn count_recovery_codes(conn: &mut Connection, operator: OperatorId) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(r#"select count(*) as "count!" from operator_recovery_codes where operator_id = $1"#, operator.uuid())
        .fetch_one(conn)
        .await
}
