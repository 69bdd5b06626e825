//! The SMS guard: what every text passes before it costs anything (decisions, section 5).
//!
//! `texts` is the guard's memory: each row is a text that was let through, one that a provider gave back, or one that was refused and
//! why. What cannot even be read as a number is no text: it is refused and not kept. To let a text through, the guard takes the store's lock, counts the rows of the last day, judges ([`rules`], a pure function) and
//! writes the row, all in the transaction that issues the code: so parallel requests and several instances cannot pass together.

mod queries;
mod rules;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::contact::PhoneNumber;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::Problem;
use crate::storefront::Storefront;

pub(super) use queries::{forget_texts, give_back, list_conversion, note_code_used};
pub(super) use rules::{Recipient, Refusal};

/// Reads the number that somebody asks for a text to. The first rule comes first here too: while texts are paused, no number is looked at.
pub(super) async fn read_number(storefront: &Storefront, store: StoreId, text: &str) -> Result<PhoneNumber, Problem> {
    let Ok(number) = PhoneNumber::parse(text) else {
        let is_paused = queries::is_paused(&mut *storefront.pool.acquire().await?, store).await?;
        return Err(if is_paused { Refusal::Paused } else { Refusal::NumberInvalid }.into());
    };
    Ok(number)
}

/// Counts a text as sent, if the guard lets it through.
pub(super) async fn reserve(
    storefront: &Storefront,
    conn: &mut PgConnection,
    store: StoreId,
    recipient: &Recipient,
    code: Uuid,
    now: DateTime<Utc>,
) -> Result<Result<(), Refusal>, sqlx::Error> {
    let limits = queries::lock_limits(conn, store).await?;
    let history = queries::count_texts(conn, store, &recipient.number, now).await?;
    if let Err(refusal) = rules::judge(&limits, &history, recipient, storefront.sms.is_available(), now) {
        return Ok(Err(refusal));
    }
    queries::insert_text(conn, store, &recipient.number, Some(code), None, now).await?;
    Ok(Ok(()))
}

/// Writes a refusal down, and the pause it may mean, once the transaction it happened in is gone.
pub(super) async fn note_refusal(
    storefront: &Storefront,
    store: StoreId,
    number: &PhoneNumber,
    refusal: &Refusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let mut tx = storefront.pool.begin().await?;
    if let Refusal::Pumping { texted, used } = refusal {
        let reason = format!("{texted} codes were texted within ten minutes and only {used} of them used");
        tracing::warn!(%store, reason, "the guard paused a store's texts");
        queries::pause(&mut tx, store, &reason, now).await?;
    }
    queries::insert_text(&mut tx, store, number, None, Some(refusal.name()), now).await?;
    tx.commit().await
}
