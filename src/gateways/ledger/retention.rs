//! What payers have told, in the bodies of callbacks: how long it is kept, and what of it a customer gets.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId};

/// The number of bodies that one statement erases.
const BATCH: i64 = 500;

/// Erases the bodies of genuine callbacks that came before `before`, except those that are to be tried again. Everything else about them
/// stays: with their keys they are recognised when they are repeated. It is no change of the record.
pub async fn erase_bodies(conn: &mut Connection, before: DateTime<Utc>, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    loop {
        let erased = sqlx::query!(
            "update callbacks set body = '', body_erased_at = $2 where id in (
                 select id from callbacks
                 where status <> 'refused' and body_erased_at is null and created_at < $1 and due_at is null
                 order by created_at limit $3 for no key update skip locked
             )",
            before,
            now,
            BATCH,
        );
        if erased.execute(&mut *conn).await?.rows_affected() == 0 {
            return Ok(());
        }
    }
}

/// Erases the bodies of the callbacks that reported on payments of a customer, whose account is erased.
pub async fn erase_bodies_of(
    conn: &mut Connection,
    company: CompanyId,
    customer: CustomerId,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "update callbacks set body = '', body_erased_at = $3 where body_erased_at is null and id in (
             select callback_id from payment_facts where payment_id in (
                 select id from payments where company_id = $1 and customer_id = $2 and deleted_at is null
             )
         )",
        company.uuid(),
        customer.uuid(),
        now,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A callback that reported on a payment of a customer.
#[derive(Debug)]
pub struct CallbackOfCustomer {
    pub id: CallbackId,
    pub kind: Option<String>,
    pub created_at: DateTime<Utc>,
    pub body: Vec<u8>,
}

/// The callbacks that reported on payments of a customer, the oldest first.
pub async fn list_of_customer(
    conn: &mut Connection,
    company: CompanyId,
    customer: CustomerId,
) -> Result<Vec<CallbackOfCustomer>, sqlx::Error> {
    sqlx::query_as!(
        CallbackOfCustomer,
        r#"select id as "id: CallbackId", kind, created_at, body from callbacks
           where id in (
               select callback_id from payment_facts
               where payment_id in (select payments.id from payments where payments.company_id = $1 and payments.customer_id = $2 and payments.deleted_at is null)
           )
           order by created_at, id"#,
        company.uuid(),
        customer.uuid(),
    )
    .fetch_all(conn)
    .await
}
