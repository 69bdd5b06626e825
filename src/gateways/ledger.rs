//! Writing the ledger: callbacks, the facts in them, and the events that follow, in one statement and one commit.
//!
//! The ledger uses optimistic concurrency. A writer reads the existing callbacks ([`crate::gateways::callbacks`]) and facts
//! ([`crate::gateways::payments`]), works out what follows without holding locks, and writes as if nothing had changed since. If a
//! concurrent writer has recorded the same callback, the same payment or another fact about it meanwhile, a unique constraint is
//! violated. Then nothing is written, and the writer reads again ([`retry_on_conflict`]). All rows are written in a fixed order, so no
//! deadlock occurs.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::events;
use crate::gateways::callbacks;
use crate::gateways::money::Currency;
use crate::gateways::payments::{Dispute, Entry, FactKind, Kind, Status};
use crate::kernel::database::{column, violated_constraint};
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

/// Maximum number of attempts. Every conflict means that another writer has finished, so the number of competing writers shrinks.
const MAX_ATTEMPTS: usize = 20;

/// A callback to insert.
#[derive(Debug)]
pub(super) struct NewCallback<'a> {
    pub(super) id: CallbackId,
    pub(super) at: DateTime<Utc>,
    pub(super) company: CompanyId,
    pub(super) gateway: Option<GatewayId>,
    pub(super) key: &'a str,
    pub(super) kind: Option<&'a str>,
    pub(super) status: callbacks::Status,
    pub(super) reason: Option<&'a str>,
    pub(super) detail: Option<String>,
    pub(super) body: &'a [u8],
    pub(super) body_size: usize,
    pub(super) due_at: Option<DateTime<Utc>>,
}

/// Inserts callbacks, updates payments to their states, inserts the new facts, and publishes the events that became due. Sends no
/// notification; the caller signals the events after the commit ([`events::CommitNotifier`]).
pub(super) async fn write(
    conn: &mut PgConnection,
    callbacks: &[NewCallback<'_>],
    entries: &[Entry<'_>],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    // The fixed order of the rows; arrays are unnested in their order.
    let mut callbacks: Vec<_> = callbacks.iter().collect();
    callbacks.sort_unstable_by_key(|new| (new.gateway, new.key));
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|entry| (entry.about.gateway, entry.about.transaction));
    let moved: Vec<_> = entries.iter().copied().filter(|entry| entry.has_moved).collect();
    let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
    let due: Vec<_> = entries.iter().flat_map(|entry| &entry.events).collect();
    let events = events::Columns::of(&due, now);
    // The events are $1 to $8, the callbacks $9 to $20, the payments $21 to $32, the facts $33 to $45.
    sqlx::query!(
        "with callback as (
             insert into callbacks (id, company_id, version, created_at, updated_at, gateway_id, key, kind, status, reason, detail, body,
                                    body_size, attempts, due_at)
             select id, company_id, 1, created_at, created_at, gateway_id, key, kind, status, reason, detail, body, body_size,
                    (status <> 'refused')::integer, due_at
             from (select unnest($9::uuid[]) as id, unnest($10::uuid[]) as company_id, unnest($11::timestamptz[]) as created_at,
                          unnest($12::uuid[]) as gateway_id, unnest($13::text[]) as key, unnest($14::text[]) as kind,
                          unnest($15::text[]) as status, unnest($16::text[]) as reason, unnest($17::text[]) as detail,
                          unnest($18::bytea[]) as body, unnest($19::integer[]) as body_size, unnest($20::timestamptz[]) as due_at)
                  as new
         ), payment as (
             insert into payments (id, company_id, version, created_at, updated_at, gateway_id, transaction_id, kind, status, amount,
                                   refunded, currency, dispute, order_id, customer_id)
             select id, company_id, 1, $8, $8, gateway_id, transaction_id, kind, status, amount, refunded, currency, dispute, order_id,
                    customer_id
             from (select unnest($21::uuid[]) as id, unnest($22::uuid[]) as company_id, unnest($23::uuid[]) as gateway_id,
                          unnest($24::text[]) as transaction_id, unnest($25::text[]) as kind, unnest($26::text[]) as status,
                          unnest($27::bigint[]) as amount, unnest($28::bigint[]) as refunded, unnest($29::text[]) as currency,
                          unnest($30::text[]) as dispute, unnest($31::uuid[]) as order_id, unnest($32::uuid[]) as customer_id)
                  as new
             on conflict on constraint payments_pkey do update set
                 version = payments.version + 1, updated_at = excluded.updated_at, kind = excluded.kind, status = excluded.status,
                 amount = excluded.amount, refunded = excluded.refunded, currency = excluded.currency, dispute = excluded.dispute,
                 order_id = excluded.order_id, customer_id = excluded.customer_id
         ), fact as (
             insert into payment_facts (payment_id, sequence, callback_id, position, recorded_at, fact, reference, amount, total, currency,
                                        order_id, customer_id, message)
             select unnest($33::uuid[]), unnest($34::integer[]), unnest($35::uuid[]), unnest($36::smallint[]), unnest($37::timestamptz[]),
                    unnest($38::text[]), unnest($39::text[]), unnest($40::bigint[]), unnest($41::bigint[]), unnest($42::text[]),
                    unnest($43::uuid[]), unnest($44::uuid[]), unnest($45::text[])
         )
         select publish_events(ids => $1, companies => $2, names => $3, subjects => $4, bodies => $5, totals => $6, later => $7, at => $8)",
        &events.ids,
        &events.companies,
        &events.names,
        &events.subjects as &[Option<Uuid>],
        &events.bodies,
        &events.totals as &[Option<i64>],
        &events.later,
        now,
        &column(&callbacks, |new| new.id) as &[CallbackId],
        &column(&callbacks, |new| new.company) as &[CompanyId],
        &column(&callbacks, |new| new.at),
        &column(&callbacks, |new| new.gateway) as &[Option<GatewayId>],
        &column(&callbacks, |new| new.key) as &[&str],
        &column(&callbacks, |new| new.kind) as &[Option<&str>],
        &column(&callbacks, |new| new.status) as &[callbacks::Status],
        &column(&callbacks, |new| new.reason) as &[Option<&str>],
        &column(&callbacks, |new| new.detail.as_deref()) as &[Option<&str>],
        &column(&callbacks, |new| new.body) as &[&[u8]],
        &column(&callbacks, |new| i32::try_from(new.body_size).unwrap_or(i32::MAX)),
        &column(&callbacks, |new| new.due_at) as &[Option<DateTime<Utc>>],
        &column(&moved, |entry| entry.payment) as &[PaymentId],
        &column(&moved, |entry| entry.about.company) as &[CompanyId],
        &column(&moved, |entry| entry.about.gateway) as &[GatewayId],
        &column(&moved, |entry| entry.about.transaction) as &[&str],
        &column(&moved, |entry| entry.state.kind) as &[Kind],
        &column(&moved, |entry| entry.state.status) as &[Status],
        &column(&moved, |entry| entry.state.amount) as &[Option<i64>],
        &column(&moved, |entry| entry.state.refunded),
        &column(&moved, |entry| entry.state.currency.as_ref().map(Currency::as_str)) as &[Option<&str>],
        &column(&moved, |entry| entry.state.dispute) as &[Option<Dispute>],
        &column(&moved, |entry| entry.state.order) as &[Option<OrderId>],
        &column(&moved, |entry| entry.state.customer) as &[Option<CustomerId>],
        &column(&facts, |new| new.payment) as &[PaymentId],
        &column(&facts, |new| new.sequence),
        &column(&facts, |new| new.report.callback) as &[CallbackId],
        &column(&facts, |new| new.position),
        &column(&facts, |new| new.report.at),
        &column(&facts, |new| new.fact.kind) as &[FactKind],
        &column(&facts, |new| new.fact.reference.as_str()) as &[&str],
        &column(&facts, |new| new.fact.amount) as &[Option<i64>],
        &column(&facts, |new| new.fact.total) as &[Option<i64>],
        &column(&facts, |new| new.fact.currency.as_ref().map(Currency::as_str)) as &[Option<&str>],
        &column(&facts, |new| new.fact.order) as &[Option<OrderId>],
        &column(&facts, |new| new.fact.customer) as &[Option<CustomerId>],
        &column(&facts, |new| new.fact.message.as_deref()) as &[Option<&str>]
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Repeats reading and writing until no conflict with a concurrent writer occurs, at most [`MAX_ATTEMPTS`] times.
pub(super) async fn retry_on_conflict<T, F>(attempt: impl Fn() -> F) -> Result<T, sqlx::Error>
where
    F: Future<Output = Result<T, sqlx::Error>>,
{
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(error) if is_conflict(&error) => {}
            ended => return ended,
        }
    }
    attempt().await
}

/// Whether a concurrent writer has already written what was to be written.
pub(super) fn is_conflict(error: &sqlx::Error) -> bool {
    matches!(violated_constraint(error), Some("callbacks_once" | "payments_transaction_key" | "payment_facts_sequence_key"))
}
