//! Works out the consequences of callbacks: reads the known facts of each payment and applies the new ones in memory ([`Entry`]).
//! Nothing is written here.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};

use crate::gateways::facts::{Entry, Fact, FactKind, Report};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, OrderId, PaymentId};

/// The payments that the reports are about, with their new facts, the resulting states, and the events that became due. Several
/// reports about one payment are applied in order.
pub async fn what_follows<'a>(conn: &mut Connection, reports: &'a [Report<'a>], now: DateTime<Utc>) -> Result<Vec<Entry<'a>>, sqlx::Error> {
    let mut known = known(conn, reports).await?;
    let mut by_payment = BTreeMap::<_, Vec<_>>::new();
    for report in reports {
        by_payment.entry((report.gateway, report.transaction)).or_default().push(report);
    }
    let entry = |reports: Vec<&'a Report<'a>>| {
        let payment = reports[0].payment.unwrap_or_else(|| PaymentId::new(now));
        Entry::of(payment, known.remove(&payment).unwrap_or_default(), &reports)
    };
    Ok(by_payment.into_values().map(entry).collect())
}

/// All facts recorded before about the payments in the reports.
async fn known(conn: &mut Connection, reports: &[Report<'_>]) -> Result<HashMap<PaymentId, Vec<Fact>>, sqlx::Error> {
    let payments: Vec<_> = reports.iter().filter_map(|report| report.payment).collect();
    let mut known = HashMap::<_, Vec<_>>::new();
    if !payments.is_empty() {
        for (payment, fact) in list_facts(conn, &payments).await? {
            known.entry(payment).or_default().push(fact);
        }
    }
    Ok(known)
}

/// All known facts about the payments.
async fn list_facts(conn: &mut Connection, payments: &[PaymentId]) -> Result<Vec<(PaymentId, Fact)>, sqlx::Error> {
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
