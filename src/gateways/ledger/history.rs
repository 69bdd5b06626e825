//! What the ledger shows of a callback and of a payment beside their own fields.

use chrono::{DateTime, Utc};

use crate::gateways::facts::FactKind;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CallbackId, PaymentId};

/// A fact as the history of its payment shows it.
#[derive(Debug)]
pub struct HistoryEntry {
    pub callback: CallbackId,
    pub fact: FactKind,
    pub reference: String,
    pub amount: Option<i64>,
    pub total: Option<i64>,
    pub currency: Option<String>,
    pub message: Option<String>,
    pub recorded_at: DateTime<Utc>,
}

/// Every fact about a payment, oldest first.
pub async fn list_history(conn: &mut Connection, payment: PaymentId) -> Result<Vec<HistoryEntry>, sqlx::Error> {
    sqlx::query_as!(
        HistoryEntry,
        r#"select callback_id as "callback: CallbackId", fact as "fact: FactKind", reference, amount, total, currency, message, recorded_at
           from payment_facts where payment_id = $1 order by sequence"#,
        payment.uuid(),
    )
    .fetch_all(conn)
    .await
}

pub async fn find_body(conn: &mut Connection, id: CallbackId) -> Result<Vec<u8>, sqlx::Error> {
    sqlx::query_scalar!("select body from callbacks where id = $1", id.uuid()).fetch_one(conn).await
}

/// The payments that a callback reported on.
pub async fn list_payments(conn: &mut Connection, id: CallbackId) -> Result<Vec<PaymentId>, sqlx::Error> {
    sqlx::query_scalar!(r#"select distinct payment_id as "payment: PaymentId" from payment_facts where callback_id = $1"#, id.uuid(),)
        .fetch_all(conn)
        .await
}
