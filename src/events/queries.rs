//! The SQL of the outbox.

use std::borrow::Borrow;
use std::collections::HashMap;

use chrono::{DateTime, Utc};
use serde_json::Value;
use uuid::Uuid;

use crate::events::NewEvent;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, EventId};
use crate::kernel::request_id::RequestId;
use crate::kernel::traces::TraceContext;

/// The NOTIFY channel for committed events.
pub const PUBLISHED: &str = "portico_published";

/// Events as one array per column, the parameters of one statement.
#[derive(Debug, Default)]
pub struct Columns {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) companies: Vec<Uuid>,
    pub(crate) names: Vec<String>,
    pub(crate) subjects: Vec<Option<Uuid>>,
    pub(crate) bodies: Vec<Vec<u8>>,
    /// Whom each is for, of the company's own customers.
    pub(crate) owners: Vec<Option<String>>,
    /// The request that each follows from.
    pub(crate) requests: Vec<Option<Uuid>>,
    /// The span that each follows from.
    pub(crate) traces: Vec<Option<Vec<u8>>>,
    /// For the first event about each record, the number of events about it.
    pub(crate) totals: Vec<Option<i64>>,
    /// The number of events about the same record that follow.
    pub(crate) later: Vec<i64>,
}

impl Columns {
    /// Assigns ids to events and serializes their bodies.
    pub fn of(events: &[impl Borrow<NewEvent>], now: DateTime<Utc>) -> Self {
        let mut columns = Self::default();
        let mut totals = HashMap::<_, i64>::new();
        for event in events.iter().rev().map(Borrow::borrow) {
            let total = totals.entry((event.company, event.subject)).or_default();
            columns.later.push(*total);
            *total += 1;
        }
        columns.later.reverse();
        for event in events {
            let (event, id) = (event.borrow(), EventId::new(now));
            columns.totals.push(totals.remove(&(event.company, event.subject)));
            columns.ids.push(id.uuid());
            columns.companies.push(event.company.uuid());
            columns.names.push(event.name.as_str().to_owned());
            columns.subjects.push(event.subject);
            columns.owners.push(event.owner.as_ref().map(|owner| owner.as_str().to_owned()));
            columns.requests.push(event.request.map(RequestId::uuid));
            columns.traces.push(event.trace.map(TraceContext::to_bytes));
            columns.bodies.push(event.body(id, now));
        }
        columns
    }
}

/// Inserts events, assigns sequence numbers to those about a record, and adds them to the outbox.
///
/// The position in the outbox is taken after the row of the record's sequence was locked, so it grows with the sequence number. The
/// events are counted before, and arrays are unnested in the select list: most of the time of a small group is the start of each step of
/// the plan.
///
/// The function `publish_events` of the database is the same statement without owners, for another capability that publishes beside its own work in one
/// statement. Calling it here as well would publish 7 % fewer events per second.
///
/// A statement that reaches the server after its time publishes nothing: whoever waited for it was told so, and publishes again.
///
/// With `notifies` the transaction notifies the listeners. A commit with a notification holds a server-wide lock until it is on disk, so
/// such commits run one after another. Therefore only one concurrent transaction notifies. The others find the row of that turn locked and
/// send nothing, and listeners poll again shortly after a notification.
pub(super) async fn insert_events(conn: &mut Connection, events: &Columns, notifies: bool, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let answer_by = conn.answer_by();
    sqlx::query!(
        "with new as (
             select unnest($1::uuid[]) as id, unnest($2::uuid[]) as company_id, unnest($3::text[]) as name, unnest($4::uuid[]) as subject_id,
                    unnest($5::bytea[]) as body, unnest($6::bigint[]) as total, unnest($7::bigint[]) as later,
                    generate_subscripts($1::uuid[], 1) as place, unnest($11::text[]) as owner, unnest($12::uuid[]) as request_id,
                    unnest($14::bytea[]) as trace
             where must_not_be_late($13)
         ), counted as (
             insert into event_sequences as sequences (company_id, subject_id, last)
             select company_id, subject_id, total from new where subject_id is not null and total is not null order by 1, 2
             on conflict (company_id, subject_id) do update set last = sequences.last + excluded.last
             returning company_id, subject_id, last
         ), numbered as (
             select new.*, counted.last - new.later as sequence from new left join counted using (company_id, subject_id) order by place
         ), event as (
             insert into events (id, company_id, name, subject_id, sequence, body, created_at, request_id, trace, owner)
             select id, company_id, name, subject_id, sequence, body, $8, request_id, trace, owner from numbered
         ), entry as (
             insert into outbox (event_id, company_id, name, subject_id, sequence, owner)
             select id, company_id, name, subject_id, sequence, owner from numbered
         )
         select pg_notify(own_channel($9), '') from (select from notifying_turn where $10 for update skip locked) as turn",
        &events.ids,
        &events.companies,
        &events.names,
        &events.subjects as &[Option<Uuid>],
        &events.bodies,
        &events.totals as &[Option<i64>],
        &events.later,
        now,
        PUBLISHED,
        notifies,
        &events.owners as &[Option<String>],
        &events.requests as &[Option<Uuid>],
        answer_by,
        &events.traces as &[Option<Vec<u8>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Notifies the listeners, with `word` as the payload.
pub(super) async fn notify(conn: &mut Connection, word: &str) -> Result<(), sqlx::Error> {
    sqlx::query!("select pg_notify(own_channel($1), $2)", PUBLISHED, word).execute(conn).await?;
    Ok(())
}

/// Every event about a record as it was sent, for the export of a customer.
pub async fn export_events(conn: &mut Connection, company: CompanyId, subject: Uuid) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(json_agg(convert_from(body, 'UTF8')::json order by created_at, id), '[]') as "events!"
           from events where company_id = $1 and subject_id = $2"#,
        company.uuid(),
        subject,
    )
    .fetch_one(conn)
    .await
}

/// The events about a record, with their bytes.
pub(super) async fn find_about(conn: &mut Connection, company: CompanyId, subject: Uuid) -> Result<Vec<(EventId, Vec<u8>)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select id as "id: EventId", body from events where company_id = $1 and subject_id = $2 for no key update"#,
        company.uuid(),
        subject,
    );
    Ok(rows.fetch_all(conn).await?.into_iter().map(|row| (row.id, row.body)).collect())
}

/// Gives events other bytes.
pub(super) async fn replace_bodies(conn: &mut Connection, events: &[EventId], bodies: &[Vec<u8>]) -> Result<(), sqlx::Error> {
    let events: Vec<_> = events.iter().map(|event| event.uuid()).collect();
    sqlx::query!(
        "update events set body = new.body from unnest($1::uuid[], $2::bytea[]) as new (id, body)
         where events.id = new.id and events.body is distinct from new.body",
        &events,
        bodies,
    )
    .execute(conn)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    const SCHEMA: &str = include_str!("../../migrations/20261127190000_traces_of_events.sql");
    const SOURCE: &str = include_str!("queries.rs");

    /// The words from `with new as` to `end`.
    fn statement(text: &str, end: &str) -> String {
        let (_, statement) = text.split_once("with new as").unwrap();
        statement.split_once(end).unwrap().0.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_function_of_the_database_is_the_same_statement() {
        let parameters = [
            ("$1::uuid[]", "ids"),
            ("$2::uuid[]", "companies"),
            ("$3::text[]", "names"),
            ("$4::uuid[]", "subjects"),
            ("$5::bytea[]", "bodies"),
            ("$6::bigint[]", "totals"),
            ("$7::bigint[]", "publish_events.later"),
            ("$8", "at"),
            // Who publishes by the function publishes for no owner.
            (", unnest($11::text[]) as owner", ""),
            ("$12::uuid[]", "requests"),
            ("$14::bytea[]", "traces"),
            (", owner", ""),
            // There the transaction has other statements before and after.
            (" where must_not_be_late($13)", ""),
            // The last insert is the statement itself there.
            (", entry as ( insert", " insert"),
        ];
        let here = statement(SOURCE, "select pg_notify(");
        let here = parameters.iter().fold(here, |text, (number, name)| text.replace(number, name));
        assert_eq!(here.trim_end_matches(" )"), statement(SCHEMA, ";\nend\n"));
    }
}
