//! The SQL of challenges that were answered.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::storefront::passkeys::{Challenge, Flaw, LASTS};

/// Marks a challenge as answered in this store. Waits for a parallel answer to the same one. To be called before the account is locked; a
/// rollback undoes it.
pub async fn answer_challenge(conn: &mut Connection, store: StoreId, challenge: &Challenge) -> Result<Result<(), Flaw>, sqlx::Error> {
    let answered = sqlx::query!(
        "insert into answered_challenges (store_id, nonce, expires_at) values ($1, $2, $3)
         on conflict on constraint answered_challenges_pkey do nothing",
        store.uuid(),
        &challenge.nonce,
        challenge.expires_at,
    );
    let is_first = answered.execute(conn).await?.rows_affected() == 1;
    Ok(if is_first { Ok(()) } else { Err(Flaw::ChallengeAnswered) })
}

/// Whether a challenge was answered in this store.
pub async fn is_answered(conn: &mut Connection, store: StoreId, challenge: &Challenge) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select exists (select from answered_challenges where store_id = $1 and nonce = $2) as "is_answered!""#,
        store.uuid(),
        &challenge.nonce,
    )
    .fetch_one(conn)
    .await
}

/// Deletes the challenges that nobody can answer any more, also not at an instance whose clock is behind.
pub async fn sweep_challenges(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from answered_challenges where expires_at < $1", now - LASTS).execute(conn).await?;
    Ok(())
}
