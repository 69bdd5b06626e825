//! The SQL of callbacks and of the records that they name; [`crate::gateways::ledger`] inserts new callbacks.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::accounts::CallbackGateway;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::retry::{Failure, next_attempt};
use crate::kernel::database::column;
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

/// A recorded callback that has not been processed.
#[derive(Debug)]
pub(super) struct PendingCallback {
    pub(super) id: CallbackId,
    pub(super) gateway: GatewayId,
    pub(super) key: String,
    pub(super) body: Vec<u8>,
    pub(super) came_at: DateTime<Utc>,
}

/// Locks the callback of this gateway with this key if its status is `failed`.
pub(super) async fn lock_failed(
    conn: &mut PgConnection,
    from: &CallbackGateway,
    key: &str,
) -> Result<Option<PendingCallback>, sqlx::Error> {
    sqlx::query_as!(
        PendingCallback,
        r#"select id, gateway_id as "gateway!: GatewayId", key, body, created_at as came_at from callbacks
           where company_id = $1 and gateway_id = $2 and key = $3 and status = 'failed' for no key update"#,
        from.company.uuid(),
        from.id.uuid(),
        key,
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn find_pending(conn: &mut PgConnection, id: CallbackId) -> Result<PendingCallback, sqlx::Error> {
    sqlx::query_as!(
        PendingCallback,
        r#"select id, gateway_id as "gateway!: GatewayId", key, body, created_at as came_at from callbacks where id = $1"#,
        id.uuid(),
    )
    .fetch_one(conn)
    .await
}

/// Claims the callback that has been due longest; no other instance claims it before `until`.
pub(super) async fn claim_due(
    conn: &mut PgConnection,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Option<PendingCallback>, sqlx::Error> {
    sqlx::query_as!(
        PendingCallback,
        r#"update callbacks set due_at = $2
           where id = (select id from callbacks where due_at <= $1 order by due_at limit 1 for no key update skip locked)
           returning id, gateway_id as "gateway!: GatewayId", key, body, created_at as came_at"#,
        now,
        until,
    )
    .fetch_optional(conn)
    .await
}

/// Locks the callback; `false` if it has been processed meanwhile.
pub(super) async fn lock_unprocessed(conn: &mut PgConnection, id: CallbackId) -> Result<bool, sqlx::Error> {
    let locked =
        sqlx::query_scalar!("select id from callbacks where id = $1 and status in ('failed', 'ignored') for no key update", id.uuid())
            .fetch_optional(conn)
            .await?;
    Ok(locked.is_some())
}

pub(super) async fn close(conn: &mut PgConnection, id: CallbackId, status: Status, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set status = $2, reason = null, detail = null, due_at = null, attempts = attempts + 1, version = version + 1,
                              updated_at = $3
         where id = $1",
        id.uuid(),
        status as Status,
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn record_failure(
    conn: &mut PgConnection,
    pending: &PendingCallback,
    failure: &Failure,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set status = 'failed', reason = $2, detail = $3, due_at = $4, attempts = attempts + 1, version = version + 1,
                              updated_at = $5
         where id = $1 and status in ('failed', 'ignored')",
        pending.id.uuid(),
        failure.reason,
        failure.detail,
        next_attempt(pending.came_at, now),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

pub(super) async fn forget_refused(conn: &mut PgConnection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from callbacks where status = 'refused' and created_at < $1", before).execute(conn).await?;
    Ok(())
}

pub(super) async fn find_body(conn: &mut PgConnection, id: CallbackId) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar!("select body from callbacks where id = $1", id.uuid()).fetch_one(conn).await
}

pub(super) async fn list_payments(conn: &mut PgConnection, id: CallbackId) -> Result<Vec<PaymentId>, sqlx::Error> {
    sqlx::query_scalar!(r#"select distinct payment_id as "payment: PaymentId" from payment_facts where callback_id = $1"#, id.uuid(),)
        .fetch_all(conn)
        .await
}

/// What a callback names: its own key, its payment, and records that may belong to another company.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lookup<'a> {
    pub(super) company: CompanyId,
    pub(super) gateway: GatewayId,
    pub(super) key: &'a str,
    /// The gateway's own name for the payment.
    pub(super) transaction: Option<&'a str>,
    pub(super) order: Option<OrderId>,
    pub(super) customer: Option<CustomerId>,
    /// The gateway's own name for the customer.
    pub(super) payer: Option<&'a str>,
}

/// The result of looking up a [`Lookup`].
#[derive(Clone, Debug)]
pub(super) struct LookupResult {
    /// Whether this callback was recorded before.
    pub(super) is_here: bool,
    /// The payment, if it is known.
    pub(super) payment: Option<PaymentId>,
    /// The order, if it belongs to the company.
    pub(super) order: Option<OrderId>,
    /// The customer, if they belong to the company.
    pub(super) customer: Option<CustomerId>,
}

/// The statement that looks up what callbacks name, in their order; `$more` is the columns of orders and customers.
macro_rules! looking_up {
    ($more:literal, $from:literal, $named:expr $(, $column:expr)*) => {
        sqlx::query_as!(
            LookupResult,
            r#"select (select id from callbacks
                       where company_id = named.company_id and key = named.key
                       and (case when status <> 'refused' then gateway_id end) = named.gateway_id) is not null as "is_here!",
                      (select id from payments
                       where company_id = named.company_id and transaction_id = named.transaction_id
                       and gateway_id = named.gateway_id) as "payment: PaymentId", "#
                + $more
                + r#"
               from (select unnest($1::uuid[]) as company_id, unnest($2::uuid[]) as gateway_id, unnest($3::text[]) as key,
                            unnest($4::text[]) as transaction_id, "#
                + $from
                + r#"generate_subscripts($1::uuid[], 1) as place) as named
               order by place"#,
            &column($named, |named| named.company) as &[CompanyId],
            &column($named, |named| named.gateway) as &[GatewayId],
            &column($named, |named| named.key) as &[&str],
            &column($named, |named| named.transaction) as &[Option<&str>],
            $($column),*
        )
    };
}

/// Looks up what callbacks name, in the order of `named`. Orders and customers belong to other modules; this one reads them and
/// never writes them. If none are named, as in most groups of some gateways, the statement is half as large, and starts faster.
pub(super) async fn look_up(conn: &mut PgConnection, named: &[Lookup<'_>]) -> Result<Vec<LookupResult>, sqlx::Error> {
    if named.iter().all(|named| named.order.is_none() && named.customer.is_none() && named.payer.is_none()) {
        return looking_up!(r#"null::uuid as "order: OrderId", null::uuid as "customer: CustomerId""#, "", named).fetch_all(conn).await;
    }
    // `offset 0` makes it certain that an order or customer is found by its id, even with a plan that was made while there were none.
    looking_up!(
        r#"(select id from (select id, company_id from orders where id = named.order_id offset 0) as found
            where company_id = named.company_id) as "order: OrderId",
           coalesce(
               (select id from (select id, store_id from customers where id = named.customer_id offset 0) as found
                where (select company_id from stores where stores.id = found.store_id) = named.company_id),
               (select customer_id from card_customers where gateway_id = named.gateway_id and provider_id = named.payer limit 1)
           ) as "customer: CustomerId""#,
        "unnest($5::uuid[]) as order_id, unnest($6::uuid[]) as customer_id, unnest($7::text[]) as payer, ",
        named,
        &column(named, |named| named.order) as &[Option<OrderId>],
        &column(named, |named| named.customer) as &[Option<CustomerId>],
        &column(named, |named| named.payer) as &[Option<&str>]
    )
    .fetch_all(conn)
    .await
}
