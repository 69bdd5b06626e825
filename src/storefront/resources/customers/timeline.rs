//! `GET customers/{uuid}/timeline`: what the storefront knows of one customer, newest first. Each source is read from an index that has the
//! order, and no further than the page.

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::kernel::clock::timestamp;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::kernel::newest::{Newest, newest};
use crate::kernel::openapi::{OperationDoc, QueryParameters, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::resources::{FieldType, Instant, PathId, ReadRequest, Record, RecordTransaction, Resource};
use crate::storefront::accounts::devices;
use crate::storefront::resources::customers::CustomerRecord;
use crate::storefront::sending::notices;
use crate::storefront::sms_guard;
use crate::storefront::state::Storefront;
use crate::storefront::{audit, codes, tokens};

const PARAMETERS: QueryParameters = &[
    ("before", "Only what happened before this instant; meta.next of the page before."),
    ("kind", "Only entries of this kind."),
    ("limit", "About how many entries; 25 by default, at most 100."),
];

/// What an entry is about.
const KINDS: [&str; 7] = ["account", "sign_in", "session", "code", "text", "notice", "device"];

pub fn doc() -> OperationDoc {
    let entry = object([
        ("kind", json!({ "enum": KINDS })),
        ("at", Instant::schema()),
        ("id", json!({ "type": ["string", "null"], "description": "The id of the record behind the entry, if it is one." })),
        ("detail", json!({ "type": "object", "description": "What is known of it. Never a code, a token or a password." })),
    ]);
    let meta = object([("next", json!({ "type": ["string", "null"], "format": "date-time" }))]);
    let timeline = json!({ "type": "array", "items": entry, "description": "Newest first. Entries of one millisecond are on one page." });
    OperationDoc::new("Show what happened to a customer: sign-ins, sessions, codes, texts, notices and devices.")
        .taking_query(PARAMETERS)
        .answering(StatusCode::OK, object([("timeline", timeline), ("meta", meta)]))
        .refusing(&[ProblemCode::ParameterInvalid])
}

#[derive(Deserialize)]
pub struct Asked {
    before: Option<Instant>,
    kind: Option<String>,
    limit: Option<u8>,
}

/// `GET customers/{uuid}/timeline`
pub async fn show(
    ReadRequest { state: storefront, caller }: ReadRequest<CustomerRecord>,
    PathId(id): PathId<CustomerId>,
    asked: Result<Query<Asked>, QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let invalid = |detail: String| Problem::new(ProblemCode::ParameterInvalid).detail(detail);
    let Query(asked) = asked.map_err(|error| invalid(error.body_text()))?;
    if asked.kind.as_ref().is_some_and(|kind| !KINDS.contains(&kind.as_str())) {
        return Err(invalid(format!("kind must be one of {}.", KINDS.join(", "))));
    }
    let limit = asked.limit.unwrap_or(25);
    if !(1..=100).contains(&limit) {
        return Err(invalid("limit must be a number from 1 to 100.".to_owned()));
    }
    let before = asked.before.map_or(storefront.clock.now() + TimeDelta::days(1), DateTime::<Utc>::from);
    let page = storefront.timeline(&caller, id, before, asked.kind.as_deref(), limit).await?;
    let entries: Vec<_> = page.entries.into_iter().map(Entry::present).collect();
    Ok(Json(json!({ "timeline": entries, "meta": { "next": page.next.map(timestamp) } })))
}

struct Entry {
    kind: &'static str,
    at: DateTime<Utc>,
    id: Option<String>,
    detail: Value,
}

impl Entry {
    fn present(self) -> Value {
        json!({ "kind": self.kind, "at": timestamp(self.at), "id": self.id, "detail": self.detail })
    }
}

impl Storefront {
    async fn timeline(
        &self,
        caller: &Caller,
        id: CustomerId,
        before: DateTime<Utc>,
        kind: Option<&str>,
        limit: u8,
    ) -> Result<Newest<Entry>, Problem> {
        CustomerRecord::require(caller, CustomerRecord::reading())?;
        let mut transaction = RecordTransaction::begin(self, caller).await?;
        let customer = transaction.find::<CustomerRecord>(id).await?.ok_or(ProblemCode::RecordNotFound)?;
        let mut entries = Vec::new();
        for source in KINDS.into_iter().filter(|source| kind.is_none_or(|kind| kind == *source)) {
            entries.extend(read(transaction.conn(), &customer, source, before, i64::from(limit) + 1).await?);
        }
        Ok(newest(entries, |entry| entry.at, usize::from(limit)))
    }
}

async fn read(
    conn: &mut Connection,
    customer: &Record<CustomerRecord>,
    kind: &'static str,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<Entry>, sqlx::Error> {
    let id = customer.id;
    let entry = |at, id: Option<String>, detail| Entry { kind, at, id, detail };
    Ok(match kind {
        "account" => account(customer).into_iter().filter(|(at, _)| *at < before).map(|(at, detail)| entry(at, None, detail)).collect(),
        "sign_in" => {
            let found = audit::list_sign_ins(conn, id, before, limit).await?;
            found.into_iter().map(|sign_in| entry(sign_in.created_at, Some(sign_in.id.to_string()), attempt(sign_in))).collect()
        }
        "session" => {
            let found = tokens::list_ended(conn, id, before, limit).await?;
            let ended = |session: tokens::EndedSession| {
                entry(session.revoked_at, Some(session.id.to_string()), json!({ "began_at": timestamp(session.created_at) }))
            };
            found.into_iter().map(ended).collect()
        }
        "code" => {
            let found = codes::list_sent(conn, id, before, limit).await?;
            found.into_iter().map(|code| entry(code.issued_at, None, sent(code))).collect()
        }
        "text" => {
            let found = sms_guard::list_texts(conn, id, before, limit).await?;
            found.into_iter().map(|text| entry(text.created_at, Some(text.id.to_string()), verdict(text))).collect()
        }
        "notice" => {
            let found = notices::list_notices(conn, id, before, limit).await?;
            let told = |notice: notices::LoggedNotice| {
                let detail = json!({ "about": notice.about, "channel": notice.channel, "status": notice.status });
                entry(notice.created_at, None, detail)
            };
            found.into_iter().map(told).collect()
        }
        _ => {
            let found = devices::list_known(conn, id, before, limit).await?;
            let registered = |device: devices::KnownDevice| {
                let again = device.updated_at > device.created_at;
                entry(device.updated_at, Some(device.id.to_string()), json!({ "platform": device.platform, "again": again }))
            };
            found.into_iter().map(registered).collect()
        }
    })
}

/// What the account itself tells, the last first.
fn account(customer: &Record<CustomerRecord>) -> Vec<(DateTime<Utc>, Value)> {
    let fields = &customer.fields;
    let told = [
        ("closed", fields.closed_at, None),
        ("banned", fields.banned_at, fields.banned_reason.as_ref()),
        ("phone_verified", fields.phone_verified_at, fields.phone.as_ref()),
        ("email_verified", fields.email_verified_at, fields.email.as_ref()),
        ("registered", Some(customer.created_at), None),
    ];
    told.into_iter().filter_map(|(what, at, about)| Some((at?, json!({ "what": what, "about": about })))).collect()
}

fn attempt(sign_in: audit::LoggedSignIn) -> Value {
    let session = sign_in.expires_at.zip(sign_in.last_used_at).map(|(expires_at, last_used_at)| {
        json!({
            "id": crate::kernel::ids::SessionId::from(sign_in.id.uuid()),
            "last_used_at": timestamp(last_used_at),
            "expires_at": timestamp(expires_at),
            "ended_at": sign_in.revoked_at.map(timestamp),
        })
    });
    json!({
        "method": sign_in.method,
        "identity": sign_in.identity,
        "outcome": sign_in.outcome,
        "address": sign_in.address,
        "user_agent": sign_in.user_agent,
        "session": session,
    })
}

fn sent(code: codes::SentCode) -> Value {
    json!({
        "purpose": code.purpose,
        "channel": code.channel,
        "sent_to": code.sent_to,
        "guesses": code.guesses,
        "locked": code.guesses >= codes::MAX_GUESSES && code.used_at.is_none(),
        "used_at": code.used_at.map(timestamp),
    })
}

fn verdict(text: sms_guard::LoggedText) -> Value {
    json!({
        "number": text.number,
        "status": text.status,
        "rule": text.rule,
        "reason": text.reason,
        "delivery": text.delivery,
        "used_at": text.used_at.map(timestamp),
    })
}
