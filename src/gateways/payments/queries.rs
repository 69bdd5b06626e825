//! The SQL that reads payments; [`crate::gateways::ledger`] writes them.

use serde_json::Value;
use sqlx::PgConnection;

use crate::gateways::payments::{Fact, FactKind, HistoryEntry};
use crate::kernel::ids::{CallbackId, CompanyId, CustomerId, OrderId, PaymentId};

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
        r#"select callback_id as "callback: CallbackId", fact as "fact: FactKind", reference, amount, currency, message, recorded_at
           from payment_facts where payment_id = $1 order by sequence"#,
        payment.uuid(),
    )
    .fetch_all(conn)
    .await
}

/// Returns every payment of the customer as JSON, for the export.
pub async fn export_payments(conn: &mut PgConnection, company: CompanyId, customer: CustomerId) -> Result<Value, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select coalesce(jsonb_agg(to_jsonb(payments) - 'version' order by created_at, id), '[]') as "payments!"
         from payments where company_id = $1 and customer_id = $2"#,
        company.uuid(),
        customer.uuid(),
    )
    .fetch_one(conn)
    .await
}
