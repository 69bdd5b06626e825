//! The one statement that writes the ledger: callbacks, the facts in them, the payments they move, and the events that follow.

use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::events;
use crate::gateways::facts::{self, Dispute, Entry, FactKind, Kind};
use crate::gateways::genuine::GenuineCallback;
use crate::gateways::ledger::Status;
use crate::gateways::ledger::closed::Closed;
use crate::gateways::ledger::look_up::Known;
use crate::gateways::ledger::unprocessed::{Failure, next_attempt};
use crate::gateways::money::Currency;
use crate::kernel::database::{Connection, column};
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

#[derive(Debug)]
pub struct NewCallback<'a> {
    pub id: CallbackId,
    pub at: DateTime<Utc>,
    pub company: CompanyId,
    pub gateway: Option<GatewayId>,
    pub key: &'a str,
    /// What tells callbacks with the same key apart.
    pub variant: &'a str,
    pub kind: Option<&'a str>,
    pub status: Status,
    pub reason: Option<&'a str>,
    pub detail: Option<String>,
    pub body: &'a [u8],
    pub body_size: usize,
    pub due_at: Option<DateTime<Utc>>,
}

impl<'a> NewCallback<'a> {
    /// A callback that is recorded together with what it contains, or with the reason why that was not understood.
    pub fn read(callback: &'a GenuineCallback, known: &Known) -> Self {
        match Closed::of(callback, known) {
            Ok(Closed { status, reason, detail }) => Self { reason, detail, ..Self::with_status(callback, status) },
            Err(not_understood) => Self::failed(callback, not_understood.into()),
        }
    }

    /// A callback whose processing failed, to be tried again.
    pub fn failed(callback: &'a GenuineCallback, failure: Failure) -> Self {
        Self {
            reason: Some(failure.reason),
            detail: Some(failure.detail),
            due_at: next_attempt(callback.at, callback.at),
            ..Self::with_status(callback, Status::Failed)
        }
    }

    fn with_status(callback: &'a GenuineCallback, status: Status) -> Self {
        Self {
            id: callback.id,
            at: callback.at,
            company: callback.gateway.company,
            gateway: Some(callback.gateway.id),
            key: &callback.key,
            variant: &callback.variant,
            kind: callback.kind.as_deref(),
            status,
            reason: None,
            detail: None,
            body: &callback.body,
            body_size: callback.body.len(),
            due_at: None,
        }
    }
}

/// Inserts callbacks, updates payments to their states, inserts the new facts, and publishes the events that became due. Sends no
/// notification; the caller signals the events after the commit ([`events::CommitNotifier`]).
pub async fn write(
    conn: &mut Connection,
    callbacks: &[NewCallback<'_>],
    entries: &[Entry<'_>],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    // The fixed order of the rows; arrays are unnested in their order.
    let mut callbacks: Vec<_> = callbacks.iter().collect();
    callbacks.sort_unstable_by_key(|new| (new.gateway, new.key, new.variant));
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_unstable_by_key(|entry| (entry.about.gateway, entry.about.transaction));
    let moved: Vec<_> = entries.iter().copied().filter(|entry| entry.has_moved).collect();
    let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
    let due: Vec<_> = entries.iter().flat_map(|entry| &entry.events).collect();
    let events = events::Columns::of(&due, now);
    // The events are $1 to $8, the callbacks $9 to $20, the payments $21 to $32, the facts $33 to $45; $46 are the requests
    // of the events, $47 the variants of the callbacks, $48 the traces of the events.
    sqlx::query!(
        "with callback as (
             insert into callbacks (id, company_id, version, created_at, updated_at, gateway_id, key, variant, kind, status, reason, detail, body,
                                    body_size, attempts, due_at)
             select id, company_id, 1, created_at, created_at, gateway_id, key, variant, kind, status, reason, detail, body, body_size,
                    (status <> 'refused')::integer, due_at
             from (select unnest($9::uuid[]) as id, unnest($10::uuid[]) as company_id, unnest($11::timestamptz[]) as created_at,
                          unnest($12::uuid[]) as gateway_id, unnest($13::text[]) as key, unnest($14::text[]) as kind,
                          unnest($15::text[]) as status, unnest($16::text[]) as reason, unnest($17::text[]) as detail,
                          unnest($18::bytea[]) as body, unnest($19::integer[]) as body_size, unnest($20::timestamptz[]) as due_at,
                          unnest($47::text[]) as variant)
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
         select publish_events(ids => $1, companies => $2, names => $3, subjects => $4, bodies => $5, totals => $6, later => $7, at => $8,
                               requests => $46, traces => $48)",
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
        &column(&callbacks, |new| new.status) as &[Status],
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
        &column(&moved, |entry| entry.state.status) as &[facts::Status],
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
        &column(&facts, |new| new.fact.message.as_deref()) as &[Option<&str>],
        &events.requests as &[Option<Uuid>],
        &column(&callbacks, |new| new.variant) as &[&str],
        &events.traces as &[Option<Vec<u8>>],
    )
    .execute(conn)
    .await?;
    Ok(())
}
