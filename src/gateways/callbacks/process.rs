//! Processing genuine callbacks: adds their facts to payments.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::accounts::Found;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::genuine::Genuine;
use crate::gateways::callbacks::queries::{self, Known, Named, Open};
use crate::gateways::callbacks::retry::Failure;
use crate::gateways::driver::{NotUnderstood, Telling};
use crate::gateways::ledger;
use crate::gateways::payments::{Report, what_follows};
use crate::kernel::ids::CallbackId;

/// A genuine callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct Teller<'a> {
    pub(super) from: &'a Found,
    pub(super) callback: CallbackId,
    pub(super) key: &'a str,
    /// The facts in the callback, if there are any.
    pub(super) telling: Option<&'a Telling>,
    /// When the facts are recorded.
    pub(super) at: DateTime<Utc>,
}

impl<'a> Teller<'a> {
    /// The data that has to be looked up before the callback can be processed.
    pub(super) fn named(&self) -> Named<'a> {
        let facts = self.telling.map_or(&[][..], |telling| &telling.facts);
        Named {
            company: self.from.company,
            gateway: self.from.id,
            key: self.key,
            transaction: self.telling.map(|telling| telling.transaction.as_str()),
            order: facts.iter().find_map(|fact| fact.order),
            customer: facts.iter().find_map(|fact| fact.customer),
            payer: self.telling.and_then(|telling| telling.payer.as_deref()),
        }
    }

    /// The report about the payment. An order or customer that does not belong to the company is omitted.
    pub(super) fn report(&self, known: &Known) -> Option<Report<'a>> {
        let telling = self.telling?;
        let facts = telling.facts.iter().cloned().map(|mut fact| {
            (fact.order, fact.customer) = (known.order, known.customer);
            if fact.kind.is_one_of_several() && fact.reference.is_empty() {
                fact.reference = self.key.to_owned();
            }
            fact
        });
        Some(Report {
            company: self.from.company,
            gateway: self.from.id,
            transaction: &telling.transaction,
            payment: known.payment,
            callback: self.callback,
            at: self.at,
            facts: facts.collect(),
        })
    }

    /// Records the facts, in the caller's transaction.
    async fn tell(&self, conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let known = queries::look_up(conn, &[self.named()]).await?;
        let reports: Vec<_> = known.iter().filter_map(|known| self.report(known)).collect();
        let entries = what_follows(conn, &reports, now).await?;
        ledger::write(conn, &[], &entries, now).await
    }
}

/// Processes a recorded callback, whose row is locked, with the current settings of its gateway. Returns the new status, or the
/// error if the callback still cannot be understood; the error is recorded too.
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
            Teller { from: found, callback: open.id, key: &open.key, telling: telling.as_ref(), at: now }.tell(conn, now).await?;
            queries::close(conn, open.id, status, now).await?;
            Ok(Ok(status))
        }
        Err(not_understood) => {
            let failure = Failure::from(not_understood.clone());
            queries::record_failure(conn, open, &failure, now).await?;
            Ok(Err(not_understood))
        }
    }
}
