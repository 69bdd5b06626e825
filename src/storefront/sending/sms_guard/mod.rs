//! The SMS guard: the checks that every text passes before it causes costs (`docs/specification/decisions.md`, section 5).
//!
//! Each row of `texts` is a text that the guard allowed, one that no provider accepted, or one that the guard refused. The last two
//! have a reason ([`TextRefusal`]).
//!
//! To allow a text, the guard locks the store's row, counts the texts of the last 24 hours, judges ([`rules`], a pure function)
//! and inserts a row, all in the transaction that issues the code. Parallel requests therefore cannot pass the limits together,
//! not even on several instances.

mod figures;
mod queries;
mod refusal;
mod rules;

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::contact::PhoneNumber;
use crate::kernel::database::Connection;
use crate::kernel::ids::{StoreId, TextId};
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::state::Storefront;
use crate::storefront::stores;

pub use figures::{count_hours, count_sent, forget_hours, list_figures};
pub use queries::{
    LoggedText, export_texts, forget_leavers, forget_texts, list_conversion, list_texts, note_code_used, take_back, take_notice_back,
};
pub use refusal::{RULES, TextRefusal};
pub use rules::Recipient;

/// Limits the log entries for invalid numbers, per store. Such an entry has no number that an operator could investigate, and many of
/// them would fill the log.
const INVALID_NUMBERS: Rule = Rule { limit: 60, window: TimeDelta::hours(1) };

/// Parses the phone number for a text. While texts are paused, the refusal is `Paused` and not `NumberInvalid`: the first rule
/// comes first here too.
pub async fn read_number(storefront: &Storefront, store: StoreId, text: &str) -> Result<PhoneNumber, Problem> {
    let Ok(number) = PhoneNumber::parse(text) else {
        let pause = stores::find_pause(&mut storefront.pool.acquire().await?, store).await?;
        let refusal = pause.map_or(TextRefusal::NumberInvalid, TextRefusal::Paused);
        note_refusal(storefront, store, None, &refusal, storefront.clock.now()).await?;
        return Err(refusal.into());
    };
    Ok(number)
}

/// Counts a text as sent if the guard allows it.
pub async fn reserve(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    recipient: &Recipient,
    code: Uuid,
    now: DateTime<Utc>,
) -> Result<Result<(), TextRefusal>, sqlx::Error> {
    let reserved = count(storefront, conn, store, recipient, Some(code), now).await?;
    Ok(reserved.map(|_| ()))
}

/// The same for the text of a notice. It has no code that could be used, so it tells nothing about SMS pumping.
pub async fn reserve_notice(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    recipient: &Recipient,
    now: DateTime<Utc>,
) -> Result<Result<TextId, TextRefusal>, sqlx::Error> {
    count(storefront, conn, store, recipient, None, now).await
}

async fn count(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    recipient: &Recipient,
    code: Option<Uuid>,
    now: DateTime<Utc>,
) -> Result<Result<TextId, TextRefusal>, sqlx::Error> {
    let limits = stores::lock_text_limits(conn, store).await?;
    let history = queries::count_texts(conn, store, &recipient.number, &limits, now).await?;
    if let Err(refusal) = rules::judge(&limits, &history, recipient, storefront.sms.is_available(), now) {
        return Ok(Err(refusal));
    }
    let id = queries::insert_sent(conn, store, &recipient.number, code, now).await?;
    storefront.metrics.judged_text("allowed");
    Ok(Ok(id))
}

/// Records a refusal, and pauses the store's texts if the refusal requires it. Runs after the rollback of the transaction in
/// which the guard refused.
pub async fn note_refusal(
    storefront: &Storefront,
    store: StoreId,
    number: Option<&PhoneNumber>,
    refusal: &TextRefusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    storefront.metrics.judged_text(refusal.rule());
    let mut tx = storefront.pool.begin().await?;
    if let TextRefusal::Pumping { texted, used } = refusal {
        let reason = format!("{texted} codes were texted within ten minutes, and only {used} of them were used");
        tracing::warn!(%store, reason, "the SMS guard paused the texts of a store");
        if let Some(company) = stores::pause_texts(&mut tx, store, &reason, now).await? {
            let paused = Action::Updated(&["texts_paused_at", "texts_paused_reason"]);
            audit_trail::record(&mut tx, &Caller::service(company), paused, ChangedRecord::Store(store), now).await?;
        }
    }
    if number.is_some() || rate_limit::hit(&mut tx, &format!("unreadable numbers:{store}"), INVALID_NUMBERS, now).await?.allowed {
        queries::insert_refused(&mut tx, store, number, refusal, now).await?;
    }
    tx.commit().await
}
