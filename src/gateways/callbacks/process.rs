//! Letting a genuine callback tell its payment.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::queries::{self, Open};
use crate::gateways::callbacks::record::Genuine;
use crate::gateways::callbacks::retry::{self, Failure};
use crate::gateways::driver::{NotUnderstood, Telling};
use crate::gateways::payments::{Source, apply};
use crate::kernel::ids::CallbackId;

/// Adds what is told to its payment. Orders and customers that are not the company's own are left out.
pub(super) async fn tell(
    conn: &mut PgConnection,
    found: &Found,
    callback: CallbackId,
    key: &str,
    mut telling: Telling,
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    let (order, customer) =
        telling.facts.iter().fold((None, None), |(order, customer), fact| (order.or(fact.order), customer.or(fact.customer)));
    let own = match (order, customer, &telling.payer) {
        (None, None, None) => queries::Own::default(),
        (order, customer, payer) => queries::find_own(conn, found.company, found.id, order, customer, payer.as_deref()).await?,
    };
    for fact in &mut telling.facts {
        (fact.order, fact.customer) = (own.order, own.customer);
        if fact.kind.is_one_of_several() && fact.reference.is_empty() {
            fact.reference = key.to_owned();
        }
    }
    let source = Source { company: found.company, gateway: found.id, callback, transaction: &telling.transaction };
    apply(conn, source, telling.facts, now).await
}

/// Processes a callback that is kept and whose row is locked, with the gateway's settings as they are now. What it tells, if anything, is the
/// answer; that it is still not understood is written down.
pub(super) async fn again(
    conn: &mut PgConnection,
    found: &Found,
    open: &Open,
    now: DateTime<Utc>,
) -> Result<Result<Status, NotUnderstood>, sqlx::Error> {
    let genuine = Genuine::read(found, &open.body);
    match genuine.told {
        Ok(telling) => {
            let status = if telling.is_some() { Status::Processed } else { Status::Ignored };
            if let Some(telling) = telling {
                tell(conn, found, open.id, &open.key, telling, now).await?;
            }
            queries::close(conn, open.id, status, now).await?;
            Ok(Ok(status))
        }
        Err(not_understood) => {
            let failure = Failure::from(not_understood.clone());
            queries::record_failure(conn, open.id, &failure, retry::next_attempt(open.attempts + 1, now), now).await?;
            Ok(Err(not_understood))
        }
    }
}
