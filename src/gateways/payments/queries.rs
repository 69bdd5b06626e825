//! The SQL that reads payments; [`crate::gateways::ledger`] writes them.

use sqlx::PgConnection;

use crate::gateways::payments::{Fact, FactKind, HistoryEntry};
use crate::kernel::ids::{CallbackId, CustomerId, OrderId, PaymentId};

/// All known facts about the payments.
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

pub(super) async fn list_history(conn: &mut PgConnection, payment: PaymentId) -> Result<Vec<HistoryEntry>, sqlx::Error> {
    sqlx::query_as!(
        HistoryEntry,
        r#"select callback_id as "callback: CallbackId", fact as "fact: FactKind", reference, amount, total, currency, message, recorded_at
           from payment_facts where payment_id = $1 order by sequence"#,
        payment.uuid(),
    )
    .fetch_all(conn)
    .await
}
