//! Working out what follows from what callbacks tell: of each payment what is known is read, and what is told is added in memory ([`Entry`]).
//! Nothing is written here.

use std::collections::{BTreeMap, HashMap};

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::payments::{Entry, Fact, queries};
use crate::kernel::ids::{CallbackId, CompanyId, GatewayId, PaymentId};

/// What one callback tells about one payment.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// Whose gateway.
    pub company: CompanyId,
    /// Which.
    pub gateway: GatewayId,
    /// What it calls the payment.
    pub transaction: &'a str,
    /// The payment, if anybody has told of it before.
    pub payment: Option<PaymentId>,
    /// What it sent.
    pub callback: CallbackId,
    /// When that is written down as told.
    pub at: DateTime<Utc>,
    /// What is told.
    pub facts: Vec<Fact>,
}

/// The payments that are told of, with their new facts, the states that follow, and the events that became due. Of several reports about a
/// payment the first is told first.
pub async fn what_follows<'a>(
    conn: &mut PgConnection,
    reports: &'a [Report<'a>],
    now: DateTime<Utc>,
) -> Result<Vec<Entry<'a>>, sqlx::Error> {
    let mut known = known(conn, reports).await?;
    let mut told = BTreeMap::<_, Vec<_>>::new();
    for report in reports {
        told.entry((report.gateway, report.transaction)).or_default().push(report);
    }
    let entry = |reports: Vec<&'a Report<'a>>| {
        let payment = reports[0].payment.unwrap_or_else(|| PaymentId::new(now));
        Entry::of(payment, known.remove(&payment).unwrap_or_default(), &reports)
    };
    Ok(told.into_values().map(entry).collect())
}

/// Every fact that was told before.
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
