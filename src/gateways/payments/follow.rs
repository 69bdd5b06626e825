//! Works out the consequences of callbacks: reads the known facts of each payment and applies the new ones in memory ([`Entry`]).
//! Nothing is written here.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::payments::{Entry, Fact, queries};
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId, PaymentId};

/// The facts of one callback about one payment.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The company that owns the gateway.
    pub company: CompanyId,
    /// The gateway.
    pub gateway: GatewayId,
    /// The gateway's name of the transaction.
    pub transaction: &'a str,
    /// The payment, if it is known.
    pub payment: Option<PaymentId>,
    /// The callback that contains the facts.
    pub callback: CallbackId,
    /// When the facts are recorded.
    pub at: DateTime<Utc>,
    /// The facts.
    pub facts: Vec<Fact>,
}

/// The payments that the reports are about, with their new facts, the resulting states, and the events that became due. Several
/// reports about one payment are applied in order.
pub async fn what_follows<'a>(
    conn: &mut PgConnection,
    reports: &'a [Report<'a>],
    now: DateTime<Utc>,
) -> Result<Vec<Entry<'a>>, sqlx::Error> {
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
async fn known(conn: &mut PgConnection, reports: &[Report<'_>]) -> Result<HashMap<PaymentId, Vec<Fact>>, sqlx::Error> {
    let payments: Vec<_> = reports.iter().filter_map(|report| report.payment).collect();
    let mut known = HashMap::<_, Vec<_>>::new();
    if !payments.is_empty() {
        for (payment, fact) in queries::list_facts(conn, &payments).await? {
            known.entry(payment).or_default().push(fact);
        }
    }
    Ok(known)
}
