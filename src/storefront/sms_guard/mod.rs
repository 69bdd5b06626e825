//! The SMS guard: the checks that every text passes before it causes costs (`docs/specification/decisions.md`, section 5).
//!
//! Each row of `texts` is a text that the guard allowed, one that no provider accepted, or one that the guard refused. The last two
//! have a reason ([`TextRefusal`]).
//!
//! Customers whose account has proven the number are told from *strangers*, whoever asks for a text to a number that no account has
//! proven: only strangers can be made up. What they use of their codes tells customers from SMS pumping. Where hardly any are used, the
//! guard pauses texts to strangers: of the number range, else of the country, else of all countries where the store has no customers. Its
//! pauses end by themselves; each one soon after another is longer.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! judging                             which texts are sent: those of one moment in one transaction
//! log      pauses      figures        the texts; the pauses, with their events and mails; how many there were
//! rules                               the rules in their order: a pure function
//! whole_store                         what the countries of a store have brought together
//! tally    refusal                    texts by the minute and country; why a text is not sent
//! asked_text           guard_pause    a text that is asked for; a pause that begins or lasts
//! learnt   limit                      how long the next pause is; the limits that are counted
//! pumping  scope       recipient      what looks like pumping; what is paused; who a text is for
//! ```

mod asked_text;
mod figures;
mod guard_pause;
mod judging;
mod learnt;
mod limit;
mod log;
mod pauses;
mod pumping;
mod recipient;
mod refusal;
mod rules;
mod scope;
mod tally;
mod whole_store;

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::{Connection, Pool};
use crate::kernel::ids::{CompanyId, StoreId};
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::stores;

pub use asked_text::{AskedText, CarriedCode};
pub use figures::{count_hours, count_sent, forget_hours, list_figures};
pub use judging::{Judging, Verdict, judging};
pub use log::{
    LoggedText, export_texts, forget_leaver, forget_texts, insert_refused, list_conversion, list_texts, note_code_used, note_delivery,
    note_taken, take_back,
};
pub use pauses::{TextPause, end_due_pauses, forget_pauses, list_lasting, mail_pauses, resume};
pub use recipient::{Recipient, Standing};
pub use refusal::{CODES, RULES, TextRefusal};
pub use rules::DeploymentLimits;
pub use tally::forget_minutes;

/// Limits the log entries for invalid numbers, per store. Such an entry has no number that an operator could investigate, and many of
/// them would fill the log.
const INVALID_NUMBERS: Rule = Rule { limit: 60, window: TimeDelta::hours(1) };

/// Logs that a text was asked for to something that is no number. While an operator pauses texts, the refusal is `Paused` and not
/// `NumberInvalid`: the first rule comes first here too.
pub async fn refuse_unreadable(pool: &Pool, store: StoreId, company: CompanyId, now: DateTime<Utc>) -> Result<TextRefusal, sqlx::Error> {
    let mut tx = pool.begin().await?;
    let refusal = stores::find_pause(&mut tx, store).await?.map_or(TextRefusal::NumberInvalid, TextRefusal::Paused);
    log_unreadable(&mut tx, (store, company), &refusal, now).await?;
    tx.commit().await?;
    Ok(refusal)
}

async fn log_unreadable(
    conn: &mut Connection,
    store: (StoreId, CompanyId),
    refusal: &TextRefusal,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    if rate_limit::hit(conn, &format!("unreadable numbers:{}", store.0), INVALID_NUMBERS, now).await?.allowed {
        log::insert_refused(conn, store, (None, None), refusal, now).await?;
    }
    Ok(())
}
