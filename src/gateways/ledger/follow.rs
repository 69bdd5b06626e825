//! Works out the consequences of callbacks: reads the known facts of each payment and applies the new ones in memory ([`Entry`]).
//! Nothing is written here.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, Utc};

use crate::gateways::drivers::NotUnderstood;
use crate::gateways::facts::{Entry, Fact, FactKind, KnownFacts, Report};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CallbackId, CustomerId, OrderId, PaymentId};

/// Maximum number of facts about one payment. All of them are read whenever another one arrives.
const MAX_FACTS: usize = 10_000;

/// What follows from some reports.
#[derive(Debug)]
pub struct Consequences<'a> {
    /// The payments that the reports are about, with their new facts, the resulting states, and the events that became due.
    pub entries: Vec<Entry<'a>>,
    /// The callbacks whose facts do not fit: their payment has [`MAX_FACTS`].
    too_many: HashSet<CallbackId>,
}

impl Consequences<'_> {
    /// Why the facts of this callback are not among the entries, if they are not.
    pub fn refusal(&self, callback: CallbackId) -> Option<NotUnderstood> {
        let refusal = || NotUnderstood(format!("There are {MAX_FACTS} facts about this payment, which is the maximum."));
        self.too_many.contains(&callback).then(refusal)
    }
}

/// Works out what follows from the reports. Several reports about one payment are applied in order.
pub async fn what_follows<'a>(
    conn: &mut Connection,
    reports: &'a [Report<'a>],
    now: DateTime<Utc>,
) -> Result<Consequences<'a>, sqlx::Error> {
    let mut known = known(conn, reports).await?;
    let mut by_payment = BTreeMap::<_, Vec<_>>::new();
    for report in reports {
        by_payment.entry((report.gateway, report.transaction)).or_default().push(report);
    }
    let mut follows = Consequences { entries: Vec::with_capacity(by_payment.len()), too_many: HashSet::new() };
    for (_, mut reports) in by_payment {
        let payment = reports[0].payment.unwrap_or_else(|| PaymentId::new(now));
        let known = known.remove(&payment).unwrap_or_default();
        let mut number = known.number();
        reports.retain(|report| {
            let fits = number + report.facts.len() <= MAX_FACTS;
            if fits {
                number += report.facts.len()
            } else {
                _ = follows.too_many.insert(report.callback)
            }
            fits
        });
        if !reports.is_empty() {
            follows.entries.push(Entry::of(payment, known, &reports));
        }
    }
    Ok(follows)
}

/// What is known of the payments in the reports.
async fn known(conn: &mut Connection, reports: &[Report<'_>]) -> Result<HashMap<PaymentId, KnownFacts>, sqlx::Error> {
    let payments: Vec<_> = reports.iter().filter_map(|report| report.payment).collect();
    let mut known = HashMap::<_, KnownFacts>::new();
    if !payments.is_empty() {
        for (payment, fact) in list_facts(conn, &payments).await? {
            known.entry(payment).or_default().add(&fact);
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
