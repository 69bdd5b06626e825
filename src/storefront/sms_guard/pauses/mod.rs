//! The guard's own pauses: begun by a judgement, ended by their time or by an operator, and told to whom they concern.
//!
//! A pause is a row of `text_pauses`, the latest one of its scope. Its beginning publishes `texts.paused` in the transaction that begins it,
//! its end `texts.resumed`; and operators are mailed when it begins. The row itself remembers that the mail is due, so neither a restart nor
//! an outage of the mail server loses it: it is tried again after 1, 5 and 30 minutes.
//!
//! Whoever ends a pause does not make the guard forget: the row stays, and while it does, fewer unused codes are enough for the next pause,
//! which is longer ([`learnt`](crate::storefront::sms_guard::learnt)).

mod letter;
mod queries;

use std::collections::{BTreeSet, HashMap};

use chrono::{DateTime, TimeDelta, Utc};
use futures::future::join_all;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Area, Caller, Scope as Permission};
use crate::events::names::{TEXTS_PAUSED, TEXTS_RESUMED};
use crate::events::{self, EventName, NewEvent};
use crate::kernel::clock::timestamp;
use crate::kernel::database::{Connection, Pool};
use crate::kernel::ids::{CompanyId, StoreId, TextPauseId};
use crate::kernel::problem::Problem;
use crate::kernel::request_id::RequestId;
use crate::kernel::traces;
use crate::members;
use crate::operators;
use crate::providers::mail::{Letter, Mail};
use crate::storefront::sms_guard::guard_pause::NewPause;
use crate::storefront::sms_guard::learnt::{FORGOTTEN_AFTER, Learnt};
use crate::storefront::sms_guard::scope::Scope;

pub use queries::list_lasting;

/// Maximum number of pauses whose end or mail is looked after at a time.
const BATCH: i64 = 50;
/// Longer than the timeout of sending a mail.
const LEASE: TimeDelta = TimeDelta::minutes(5);
/// When a mail is tried again, in minutes after each failure.
const RETRIES: [i64; 3] = [1, 5, 30];

/// A pause, as operators and subscribers see it.
#[derive(Debug)]
pub struct TextPause {
    pub id: TextPauseId,
    pub company: CompanyId,
    pub store: StoreId,
    pub scope: Scope,
    pub texted: i64,
    pub used: i64,
    pub reason: String,
    pub paused_at: DateTime<Utc>,
    pub paused_until: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

impl TextPause {
    /// The pause in answers and in events.
    pub fn present(&self) -> Map<String, Value> {
        members! {
            "id": self.id,
            "uuid": self.id.uuid(),
            "store": self.store,
            "scope": self.scope.kind(),
            "name": self.scope.name(),
            "reason": self.reason,
            "texted": self.texted,
            "used": self.used,
            "paused_at": timestamp(self.paused_at),
            "paused_until": timestamp(self.paused_until),
            "resumed_at": self.ended_at.map(timestamp),
        }
    }

    async fn publish(
        &self,
        conn: &mut Connection,
        name: EventName,
        request: Option<RequestId>,
        now: DateTime<Utc>,
    ) -> Result<(), sqlx::Error> {
        let mut data = self.present();
        data.extend(members! { "public_id": self.id, "meta": json!({}), "additionalData": json!({}) });
        let (company, subject, trace) = (self.company, Some(self.id.uuid()), traces::context());
        events::publish(conn, NewEvent { company, name, subject, owner: None, request, trace, data: data.into() }, now).await.map(|_| ())
    }
}

/// What the guard remembers of these scopes, each of a store, by its kind and name.
pub(super) async fn list_learnt(
    conn: &mut Connection,
    scopes: BTreeSet<(Uuid, &'static str, String)>,
) -> Result<HashMap<(StoreId, Scope), Learnt>, sqlx::Error> {
    queries::list_learnt(conn, scopes).await
}

/// Begins a pause, in the transaction of the judgement.
pub(super) async fn begin(conn: &mut Connection, store: StoreId, company: CompanyId, new: &NewPause) -> Result<(), sqlx::Error> {
    let NewPause { pause, codes, level } = new;
    tracing::warn!(%store, scope = pause.scope.kind(), texted = codes.texted, used = codes.used, "the SMS guard paused texts to strangers");
    let begun = TextPause {
        id: TextPauseId::new(pause.since),
        company,
        store,
        scope: pause.scope.clone(),
        texted: codes.texted,
        used: codes.used,
        reason: pause.reason.clone(),
        paused_at: pause.since,
        paused_until: pause.until,
        ended_at: None,
    };
    queries::put(conn, &begun, *level).await?;
    begun.publish(conn, TEXTS_PAUSED, None, pause.since).await
}

/// Ends a pause that lasts. Returns it, or `None` if the caller's company has no such pause.
pub async fn resume(conn: &mut Connection, caller: &Caller, id: TextPauseId, now: DateTime<Utc>) -> Result<Option<TextPause>, Problem> {
    caller.require(Area::Integration, Permission::Write)?;
    let mut tx = conn.begin().await?;
    let Some(ended) = queries::end(&mut tx, caller.company, id, now).await? else { return Ok(None) };
    ended.publish(&mut tx, TEXTS_RESUMED, caller.request, now).await?;
    audit_trail::record(&mut tx, caller, Action::Updated(&["text_pauses"]), ChangedRecord::Store(ended.store), now).await?;
    tx.commit().await?;
    Ok(Some(ended))
}

/// Publishes the ends that have come by themselves. A periodic task calls it about once a minute.
pub async fn end_due_pauses(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut tx = conn.begin().await?;
    for ended in queries::end_due(&mut tx, BATCH, now).await? {
        ended.publish(&mut tx, TEXTS_RESUMED, None, now).await?;
    }
    tx.commit().await
}

/// Forgets pauses that are long past. A periodic task calls it about once a minute.
pub async fn forget_pauses(conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    queries::forget(conn, now - FORGOTTEN_AFTER).await
}

/// Mails operators about pauses that have begun. A periodic task calls it about once a minute.
pub async fn mail_pauses(pool: &Pool, mail: &Mail, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    if !mail.is_available() {
        return Ok(());
    }
    let due = queries::claim_mails(&mut pool.acquire_patient().await?, BATCH, now, now + LEASE).await?;
    for (pause, failures) in due {
        let mut conn = pool.acquire_patient().await?;
        let addresses = operators::list_addresses(&mut conn, pause.company).await?;
        let words = letter::write(&pause, &queries::store_name(&mut conn, pause.store).await?);
        drop(conn);
        let letters = addresses
            .iter()
            .map(|to| mail.send(Letter { to, subject: &words.subject, text: &words.text, html: None, code: None, at: now }));
        // The sender has logged each error. Who got the mail does not get it again because of a colleague's mailbox.
        let reached = addresses.is_empty() || join_all(letters).await.iter().any(Result::is_ok);
        let retry = if reached { None } else { usize::try_from(failures).ok().and_then(|failures| RETRIES.get(failures)) };
        if retry.is_none() && !reached {
            tracing::error!(pause = %pause.id, "no operator could be mailed about a pause of texts; no retries are left");
        }
        let due_at = retry.map(|minutes| now + TimeDelta::minutes(*minutes));
        queries::record_mail(&mut pool.acquire_patient().await?, pause.id, due_at).await?;
    }
    Ok(())
}
