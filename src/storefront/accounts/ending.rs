//! Ending sessions before they expire, with what belongs to them: the push devices that were registered in them, and sign-ins that wait for a
//! second factor. Who is signed out gets no more notifications.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId, SessionId};
use crate::storefront::accounts::devices;
use crate::storefront::second_factors;
use crate::storefront::tokens::{self, TokenId};

/// Ends one session of a customer. Returns `None` if it is not the customer's or has ended already.
pub async fn end_session(
    conn: &mut Connection,
    customer: CustomerId,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let mut tx = conn.begin().await?;
    let ended = tokens::revoke_token(&mut tx, customer, id, now).await?;
    devices::forget_of_sessions(&mut tx, customer, &[id]).await?;
    tx.commit().await?;
    Ok(ended)
}

/// Ends all sessions of a customer. Their devices include those of no session that is known.
pub async fn end_all(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    second_factors::forget_pending(&mut tx, customer).await?;
    tokens::revoke_all_tokens(&mut tx, customer, now).await?;
    devices::forget_devices(&mut tx, customer).await?;
    tx.commit().await
}

/// Ends all sessions of a customer but one.
pub async fn end_others(conn: &mut Connection, customer: CustomerId, kept: SessionId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    second_factors::forget_pending(&mut tx, customer).await?;
    tokens::revoke_other_tokens(&mut tx, customer, kept, now).await?;
    devices::forget_others(&mut tx, customer, kept).await?;
    tx.commit().await
}

/// Ends the sessions of a customer beyond the number that are kept, those first that were not used for the longest time. Returns whether
/// there were any.
pub async fn end_surplus(conn: &mut Connection, customer: CustomerId, kept: u32, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let kept = i64::from(kept);
    if !tokens::has_surplus(conn, customer, kept, now).await? {
        return Ok(false);
    }
    let mut tx = conn.begin().await?;
    let ended = tokens::revoke_least_used(&mut tx, customer, kept, now).await?;
    devices::forget_of_sessions(&mut tx, customer, &ended).await?;
    tx.commit().await?;
    Ok(!ended.is_empty())
}

/// Ends a session of a customer of this company. Returns `None` if the company has no such session or it has ended already.
pub async fn end_session_of_company(
    conn: &mut Connection,
    company: CompanyId,
    id: SessionId,
    now: DateTime<Utc>,
) -> Result<Option<TokenId>, sqlx::Error> {
    let mut tx = conn.begin().await?;
    let Some((token, customer)) = tokens::revoke_session(&mut tx, company, id, now).await? else { return Ok(None) };
    devices::forget_of_sessions(&mut tx, customer, &[id]).await?;
    tx.commit().await?;
    Ok(Some(token))
}

/// Ends all sessions of a customer of this company, and returns how many there were. Returns `None` if the company has no such customer.
pub async fn end_all_of_company(
    conn: &mut Connection,
    company: CompanyId,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<Option<i64>, sqlx::Error> {
    let mut tx = conn.begin().await?;
    second_factors::forget_pending(&mut tx, customer).await?;
    let Some(ended) = tokens::revoke_customer(&mut tx, company, customer, now).await? else { return Ok(None) };
    devices::forget_devices(&mut tx, customer).await?;
    tx.commit().await?;
    Ok(Some(ended))
}
