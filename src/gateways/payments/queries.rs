//! The SQL of payments and their facts. Whoever takes several payments takes them in one order, so that nobody waits in a circle.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::money::Currency;
use crate::gateways::payments::entry::Entry;
use crate::gateways::payments::{Dispute, Fact, FactKind, Kind, Status, Told};
use crate::kernel::database::column;
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

/// Inserts the payments that are new, in the states that follow, and answers which those are. Whoever comes while another inserts the same
/// one waits for that one to end.
pub(super) async fn insert_payments(
    conn: &mut PgConnection,
    entries: &[Entry<'_>],
    now: DateTime<Utc>,
) -> Result<HashSet<PaymentId>, sqlx::Error> {
    let inserted = sqlx::query_scalar!(
        r#"insert into payments (id, company_id, version, created_at, updated_at, gateway_id, transaction_id, kind, status, amount, refunded,
                                 currency, dispute, order_id, customer_id)
           select id, company_id, 1, $1, $1, gateway_id, transaction_id, kind, status, amount, refunded, currency, dispute, order_id,
                  customer_id
           from unnest($2::uuid[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::text[],
                       $11::text[], $12::uuid[], $13::uuid[])
                as new (company_id, gateway_id, transaction_id, id, kind, status, amount, refunded, currency, dispute, order_id, customer_id)
           order by gateway_id, transaction_id
           on conflict on constraint payments_transaction_key do nothing
           returning id as "id: PaymentId""#,
        now,
        &column(entries, |entry| entry.about().company) as &[CompanyId],
        &column(entries, |entry| entry.about().gateway) as &[GatewayId],
        &column(entries, |entry| entry.about().transaction) as &[&str],
        &column(entries, |entry| entry.payment) as &[PaymentId],
        &column(entries, |entry| entry.state.kind) as &[Kind],
        &column(entries, |entry| entry.state.status) as &[Status],
        &column(entries, |entry| entry.state.amount) as &[Option<i64>],
        &column(entries, |entry| entry.state.refunded),
        &column(entries, |entry| entry.state.currency.as_ref().map(Currency::as_str)) as &[Option<&str>],
        &column(entries, |entry| entry.state.dispute) as &[Option<Dispute>],
        &column(entries, |entry| entry.state.order) as &[Option<OrderId>],
        &column(entries, |entry| entry.state.customer) as &[Option<CustomerId>],
    )
    .fetch_all(conn)
    .await?;
    Ok(inserted.into_iter().collect())
}

/// Locks payments that are there, and answers which they are, in the order of the entries.
pub(super) async fn lock_payments(conn: &mut PgConnection, entries: &[&mut Entry<'_>]) -> Result<Vec<PaymentId>, sqlx::Error> {
    let locked = sqlx::query!(
        r#"select payments.id as "id: PaymentId", place as "place!"
           from unnest($1::uuid[], $2::text[]) with ordinality as told (gateway_id, transaction_id, place)
           join payments using (gateway_id, transaction_id)
           order by gateway_id, transaction_id for no key update of payments"#,
        &column(entries, |entry| entry.about().gateway) as &[GatewayId],
        &column(entries, |entry| entry.about().transaction) as &[&str],
    )
    .fetch_all(conn)
    .await?;
    let mut places: Vec<_> = locked.into_iter().map(|row| (row.place, row.id)).collect();
    places.sort_unstable();
    Ok(places.into_iter().map(|(_, payment)| payment).collect())
}

/// Every fact that is known of the payments.
pub(super) async fn list_facts(conn: &mut PgConnection, payments: &[PaymentId]) -> Result<Vec<(PaymentId, Fact)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select payment_id as "payment: PaymentId", fact as "fact: FactKind", reference, amount, total, currency,
                  order_id as "order: OrderId", customer_id as "customer: CustomerId", message
           from payment_facts where payment_id = any($1)"#,
        payments as &[PaymentId],
    )
    .fetch_all(conn)
    .await?;
    let facts = rows.into_iter().map(|row| {
        let fact = Fact {
            kind: row.fact,
            reference: row.reference,
            amount: row.amount,
            total: row.total,
            currency: row.currency.and_then(|text| text.parse().ok()),
            message: row.message,
            order: row.order,
            customer: row.customer,
        };
        (row.payment, fact)
    });
    Ok(facts.collect())
}

pub(super) async fn insert_facts(conn: &mut PgConnection, entries: &[Entry<'_>]) -> Result<(), sqlx::Error> {
    let facts: Vec<_> = entries.iter().flat_map(|entry| &entry.facts).collect();
    sqlx::query!(
        "insert into payment_facts (callback_id, position, payment_id, recorded_at, fact, reference, amount, total, currency, order_id,
                                    customer_id, message)
         select * from unnest($1::uuid[], $2::smallint[], $3::uuid[], $4::timestamptz[], $5::text[], $6::text[], $7::bigint[], $8::bigint[],
                              $9::text[], $10::uuid[], $11::uuid[], $12::text[])",
        &column(&facts, |new| new.report.callback) as &[CallbackId],
        &column(&facts, |new| new.position),
        &column(&facts, |new| new.payment) as &[PaymentId],
        &column(&facts, |new| new.report.at),
        &column(&facts, |new| new.fact.kind) as &[FactKind],
        &column(&facts, |new| new.fact.reference.as_str()) as &[&str],
        &column(&facts, |new| new.fact.amount) as &[Option<i64>],
        &column(&facts, |new| new.fact.total) as &[Option<i64>],
        &column(&facts, |new| new.fact.currency.as_ref().map(Currency::as_str)) as &[Option<&str>],
        &column(&facts, |new| new.fact.order) as &[Option<OrderId>],
        &column(&facts, |new| new.fact.customer) as &[Option<CustomerId>],
        &column(&facts, |new| new.fact.message.as_deref()) as &[Option<&str>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// Brings payments that are locked to their states.
pub(super) async fn set_states(conn: &mut PgConnection, entries: &[&Entry<'_>], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update payments set version = version + 1, updated_at = $1, kind = state.kind, status = state.status, amount = state.amount,
                             refunded = state.refunded, currency = state.currency, dispute = state.dispute, order_id = state.order_id,
                             customer_id = state.customer_id
         from unnest($2::uuid[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::uuid[], $10::uuid[])
              as state (id, kind, status, amount, refunded, currency, dispute, order_id, customer_id)
         where payments.id = state.id",
        now,
        &column(entries, |entry| entry.payment) as &[PaymentId],
        &column(entries, |entry| entry.state.kind) as &[Kind],
        &column(entries, |entry| entry.state.status) as &[Status],
        &column(entries, |entry| entry.state.amount) as &[Option<i64>],
        &column(entries, |entry| entry.state.refunded),
        &column(entries, |entry| entry.state.currency.as_ref().map(Currency::as_str)) as &[Option<&str>],
        &column(entries, |entry| entry.state.dispute) as &[Option<Dispute>],
        &column(entries, |entry| entry.state.order) as &[Option<OrderId>],
        &column(entries, |entry| entry.state.customer) as &[Option<CustomerId>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn list_history(conn: &mut PgConnection, payment: PaymentId) -> Result<Vec<Told>, sqlx::Error> {
    sqlx::query_as!(
        Told,
        r#"select callback_id as "callback: CallbackId", fact as "fact: FactKind", reference, amount, currency, message, recorded_at
           from payment_facts where payment_id = $1 order by recorded_at, callback_id, position"#,
        payment.uuid(),
    )
    .fetch_all(conn)
    .await
}
