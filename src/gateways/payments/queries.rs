//! The SQL of payments and their facts.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::gateways::payments::{Dispute, Fact, FactKind, Kind, Source, State, Status, Told};
use crate::kernel::ids::{CallbackId, CustomerId, OrderId, PaymentId};

/// Facts as columns, the way one statement takes many.
struct FactColumns {
    positions: Vec<i16>,
    facts: Vec<FactKind>,
    references: Vec<String>,
    amounts: Vec<Option<i64>>,
    totals: Vec<Option<i64>>,
    currencies: Vec<Option<String>>,
    orders: Vec<Option<Uuid>>,
    customers: Vec<Option<Uuid>>,
    messages: Vec<Option<String>>,
}

impl FactColumns {
    fn of(facts: &[Fact]) -> Self {
        Self {
            positions: (0..).take(facts.len()).collect(),
            facts: facts.iter().map(|fact| fact.kind).collect(),
            references: facts.iter().map(|fact| fact.reference.clone()).collect(),
            amounts: facts.iter().map(|fact| fact.amount).collect(),
            totals: facts.iter().map(|fact| fact.total).collect(),
            currencies: facts.iter().map(|fact| fact.currency.clone().map(String::from)).collect(),
            orders: facts.iter().map(|fact| fact.order.map(OrderId::uuid)).collect(),
            customers: facts.iter().map(|fact| fact.customer.map(CustomerId::uuid)).collect(),
            messages: facts.iter().map(|fact| fact.message.clone()).collect(),
        }
    }
}

/// A payment with its first facts, in one statement; `false` when it is there already.
pub(super) async fn insert_payment(
    conn: &mut PgConnection,
    payment: PaymentId,
    source: Source<'_>,
    state: &State,
    facts: &[Fact],
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let columns = FactColumns::of(facts);
    let inserted = sqlx::query!(
        r#"with payment as (
             insert into payments (id, company_id, version, created_at, updated_at, gateway_id, transaction_id, kind, status, amount, refunded,
                                   currency, dispute, order_id, customer_id)
             values ($1, $2, 1, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
             on conflict on constraint payments_transaction_key do nothing
             returning id
           )
           insert into payment_facts (callback_id, payment_id, recorded_at, position, fact, reference, amount, total, currency, order_id,
                                      customer_id, message)
           select $14, payment.id, $3, told.*
           from payment, unnest($15::smallint[], $16::text[], $17::text[], $18::bigint[], $19::bigint[], $20::text[], $21::uuid[],
                                $22::uuid[], $23::text[]) as told"#,
        payment.uuid(),
        source.company.uuid(),
        now,
        source.gateway.uuid(),
        source.transaction,
        state.kind as Kind,
        state.status as Status,
        state.amount,
        state.refunded,
        state.currency.as_ref().map(|currency| currency.as_str()),
        state.dispute as Option<Dispute>,
        state.order.map(OrderId::uuid),
        state.customer.map(CustomerId::uuid),
        source.callback.uuid(),
        &columns.positions,
        &columns.facts as &[FactKind],
        &columns.references,
        &columns.amounts as &[Option<i64>],
        &columns.totals as &[Option<i64>],
        &columns.currencies as &[Option<String>],
        &columns.orders as &[Option<Uuid>],
        &columns.customers as &[Option<Uuid>],
        &columns.messages as &[Option<String>],
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() > 0)
}

pub(super) async fn lock_payment(conn: &mut PgConnection, source: Source<'_>) -> Result<PaymentId, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: PaymentId" from payments where gateway_id = $1 and transaction_id = $2 for no key update"#,
        source.gateway.uuid(),
        source.transaction,
    )
    .fetch_one(conn)
    .await
}

pub(super) async fn list_facts(conn: &mut PgConnection, payment: PaymentId) -> Result<Vec<Fact>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"select fact as "fact: FactKind", reference, amount, total, currency, order_id as "order: OrderId",
                  customer_id as "customer: CustomerId", message
           from payment_facts where payment_id = $1"#,
        payment.uuid(),
    )
    .fetch_all(conn)
    .await?;
    let facts = rows.into_iter().map(|row| Fact {
        kind: row.fact,
        reference: row.reference,
        amount: row.amount,
        total: row.total,
        currency: row.currency.and_then(|text| text.parse().ok()),
        message: row.message,
        order: row.order,
        customer: row.customer,
    });
    Ok(facts.collect())
}

pub(super) async fn insert_facts(
    conn: &mut PgConnection,
    payment: PaymentId,
    source: Source<'_>,
    facts: &[Fact],
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let columns = FactColumns::of(facts);
    sqlx::query!(
        "insert into payment_facts (callback_id, payment_id, recorded_at, position, fact, reference, amount, total, currency, order_id,
                                    customer_id, message)
         select $1, $2, $3, told.*
         from unnest($4::smallint[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[], $10::uuid[], $11::uuid[], $12::text[])
              as told",
        source.callback.uuid(),
        payment.uuid(),
        now,
        &columns.positions,
        &columns.facts as &[FactKind],
        &columns.references,
        &columns.amounts as &[Option<i64>],
        &columns.totals as &[Option<i64>],
        &columns.currencies as &[Option<String>],
        &columns.orders as &[Option<Uuid>],
        &columns.customers as &[Option<Uuid>],
        &columns.messages as &[Option<String>],
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn set_state(conn: &mut PgConnection, payment: PaymentId, state: &State, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update payments set version = version + 1, updated_at = $2, kind = $3, status = $4, amount = $5, refunded = $6, currency = $7,
                             dispute = $8, order_id = $9, customer_id = $10
         where id = $1",
        payment.uuid(),
        now,
        state.kind as Kind,
        state.status as Status,
        state.amount,
        state.refunded,
        state.currency.as_ref().map(|currency| currency.as_str()),
        state.dispute as Option<Dispute>,
        state.order.map(OrderId::uuid),
        state.customer.map(CustomerId::uuid),
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
