//! The SQL of callbacks, and of what they name that belongs to others.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::retry::Failure;
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, GatewayId, OrderId, PaymentId};

/// A callback to be kept.
#[derive(Debug)]
pub(super) struct NewCallback<'a> {
    pub(super) id: CallbackId,
    pub(super) company: CompanyId,
    pub(super) gateway: Option<GatewayId>,
    pub(super) key: &'a str,
    pub(super) kind: Option<&'a str>,
    pub(super) status: Status,
    pub(super) reason: Option<&'a str>,
    pub(super) detail: Option<&'a str>,
    pub(super) body: &'a [u8],
    pub(super) body_size: usize,
    pub(super) due_at: Option<DateTime<Utc>>,
}

/// `false` when this gateway's callback is here already. Whoever comes while another is still recording it waits for that one to end.
pub(super) async fn insert_callback(conn: &mut PgConnection, new: &NewCallback<'_>, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let inserted = sqlx::query!(
        "insert into callbacks (id, company_id, version, created_at, updated_at, gateway_id, key, kind, status, reason, detail, body,
                                body_size, attempts, due_at)
         values ($1, $2, 1, $3, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
         on conflict (gateway_id, key) where status <> 'refused' do nothing",
        new.id.uuid(),
        new.company.uuid(),
        now,
        new.gateway.map(GatewayId::uuid),
        new.key,
        new.kind,
        new.status as Status,
        new.reason,
        new.detail,
        new.body,
        i32::try_from(new.body_size).unwrap_or(i32::MAX),
        i16::from(new.status != Status::Refused),
        new.due_at,
    )
    .execute(conn)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

/// A callback that is kept and has not been processed.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: CallbackId,
    pub(super) gateway: GatewayId,
    pub(super) key: String,
    pub(super) body: Vec<u8>,
    pub(super) attempts: i16,
}

/// The callback with this key, if it has failed so far; its row is locked.
pub(super) async fn lock_failed(conn: &mut PgConnection, gateway: GatewayId, key: &str) -> Result<Option<Open>, sqlx::Error> {
    sqlx::query_as!(
        Open,
        r#"select id, gateway_id as "gateway!: GatewayId", key, body, attempts from callbacks
           where gateway_id = $1 and key = $2 and status = 'failed' for no key update"#,
        gateway.uuid(),
        key,
    )
    .fetch_optional(conn)
    .await
}

pub(super) async fn find_open(conn: &mut PgConnection, id: CallbackId) -> Result<Open, sqlx::Error> {
    sqlx::query_as!(Open, r#"select id, gateway_id as "gateway!: GatewayId", key, body, attempts from callbacks where id = $1"#, id.uuid(),)
        .fetch_one(conn)
        .await
}

/// Takes the callback that has been due longest, and lets nobody else take it before `until`.
pub(super) async fn claim_due(conn: &mut PgConnection, now: DateTime<Utc>, until: DateTime<Utc>) -> Result<Option<Open>, sqlx::Error> {
    sqlx::query_as!(
        Open,
        r#"update callbacks set due_at = $2
           where id = (select id from callbacks where due_at <= $1 order by due_at limit 1 for no key update skip locked)
           returning id, gateway_id as "gateway!: GatewayId", key, body, attempts"#,
        now,
        until,
    )
    .fetch_optional(conn)
    .await
}

/// Locks the callback; `false` when it has been processed meanwhile.
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
    id: CallbackId,
    failure: &Failure,
    next: Option<DateTime<Utc>>,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set status = 'failed', reason = $2, detail = $3, due_at = $4, attempts = attempts + 1, version = version + 1,
                              updated_at = $5
         where id = $1 and status in ('failed', 'ignored')",
        id.uuid(),
        failure.reason,
        failure.detail,
        next,
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

/// What a callback names that is the company's own.
#[derive(Debug, Default)]
pub(super) struct Own {
    pub(super) order: Option<OrderId>,
    pub(super) customer: Option<CustomerId>,
}

/// Of the order and the customer those that are the company's; a customer may also be known by the gateway's own name for them. The tables
/// are other parts', which this one reads and never writes.
pub(super) async fn find_own(
    conn: &mut PgConnection,
    company: CompanyId,
    gateway: GatewayId,
    order: Option<OrderId>,
    customer: Option<CustomerId>,
    payer: Option<&str>,
) -> Result<Own, sqlx::Error> {
    sqlx::query_as!(
        Own,
        r#"select (select id from orders where id = $2 and company_id = $1) as "order: OrderId",
                  coalesce(
                      (select customers.id from customers join stores on stores.id = customers.store_id
                       where customers.id = $3 and stores.company_id = $1),
                      (select customer_id from card_customers where gateway_id = $4 and provider_id = $5 limit 1)
                  ) as "customer: CustomerId""#,
        company.uuid(),
        order.map(OrderId::uuid),
        customer.map(CustomerId::uuid),
        gateway.uuid(),
        payer,
    )
    .fetch_one(conn)
    .await
}
