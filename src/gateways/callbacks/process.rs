//! Letting genuine callbacks tell their payments.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::genuine::Genuine;
use crate::gateways::callbacks::queries::{self, Named, Open, Own};
use crate::gateways::callbacks::retry::{self, Failure};
use crate::gateways::driver::{NotUnderstood, Telling};
use crate::gateways::payments::{Report, apply};
use crate::kernel::ids::CallbackId;

/// A callback that is recorded and has something to tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Teller<'a> {
    pub(super) from: &'a Found,
    pub(super) callback: CallbackId,
    pub(super) key: &'a str,
    pub(super) telling: &'a Telling,
    /// When it is told.
    pub(super) at: DateTime<Utc>,
}

/// Adds what is told to its payments. Orders and customers that are not the company's own are left out.
pub(super) async fn tell(conn: &mut PgConnection, tellers: &[Teller<'_>], now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    if tellers.is_empty() {
        return Ok(());
    }
    let named: Vec<_> = tellers.iter().map(Teller::named).collect();
    let owned = match named.iter().any(Named::is_any) {
        true => queries::list_own(conn, &named).await?,
        false => vec![Own::default(); tellers.len()],
    };
    let reports: Vec<_> = tellers.iter().zip(owned).map(|(teller, own)| teller.report(own)).collect();
    apply(conn, &reports, now).await
}

impl<'a> Teller<'a> {
    /// What it names that may be others'.
    fn named(&self) -> Named<'a> {
        let Telling { facts, payer, .. } = self.telling;
        Named {
            company: self.from.company,
            gateway: self.from.id,
            order: facts.iter().find_map(|fact| fact.order),
            customer: facts.iter().find_map(|fact| fact.customer),
            payer: payer.as_deref(),
        }
    }

    fn report(&self, own: Own) -> Report<'a> {
        let facts = self.telling.facts.iter().cloned().map(|mut fact| {
            (fact.order, fact.customer) = (own.order, own.customer);
            if fact.kind.is_one_of_several() && fact.reference.is_empty() {
                fact.reference = self.key.to_owned();
            }
            fact
        });
        Report {
            company: self.from.company,
            gateway: self.from.id,
            transaction: &self.telling.transaction,
            callback: self.callback,
            at: self.at,
            facts: facts.collect(),
        }
    }
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
            if let Some(telling) = &telling {
                tell(conn, &[Teller { from: found, callback: open.id, key: &open.key, telling, at: now }], now).await?;
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
