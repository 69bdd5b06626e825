//! Processing genuine callbacks: adds their facts to payments.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::gateways::accounts::CallbackGateway;
use crate::gateways::callbacks::Status;
use crate::gateways::callbacks::parsed::ParsedCallback;
use crate::gateways::callbacks::queries::{self, Lookup, LookupResult, PendingCallback};
use crate::gateways::callbacks::retry::Failure;
use crate::gateways::driver::{NotUnderstood, PaymentUpdate};
use crate::gateways::ledger;
use crate::gateways::payments::{Report, what_follows};
use crate::kernel::ids::CallbackId;

/// A genuine callback.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerifiedCallback<'a> {
    pub(super) from: &'a CallbackGateway,
    pub(super) callback: CallbackId,
    pub(super) key: &'a str,
    /// The facts in the callback, if there are any.
    pub(super) update: Option<&'a PaymentUpdate>,
    /// When the facts are recorded.
    pub(super) at: DateTime<Utc>,
}

impl<'a> VerifiedCallback<'a> {
    /// The data that has to be looked up before the callback can be processed.
    pub(super) fn lookup(&self) -> Lookup<'a> {
        let facts = self.update.map_or(&[][..], |update| &update.facts);
        Lookup {
            company: self.from.company,
            gateway: self.from.id,
            key: self.key,
            transaction: self.update.map(|update| update.transaction.as_str()),
            order: facts.iter().find_map(|fact| fact.order),
            customer: facts.iter().find_map(|fact| fact.customer),
            payer: self.update.and_then(|update| update.payer.as_deref()),
        }
    }

    /// The report about the payment. An order or customer that does not belong to the company is omitted.
    pub(super) fn report(&self, known: &LookupResult) -> Option<Report<'a>> {
        let update = self.update?;
        let facts = update.facts.iter().cloned().map(|mut fact| {
            (fact.order, fact.customer) = (known.order, known.customer);
            if fact.kind.is_one_of_several() && fact.reference.is_empty() {
                fact.reference = self.key.to_owned();
            }
            fact
        });
        Some(Report {
            company: self.from.company,
            gateway: self.from.id,
            transaction: &update.transaction,
            payment: known.payment,
            callback: self.callback,
            at: self.at,
            facts: facts.collect(),
        })
    }

    /// Records the facts, in the caller's transaction.
    async fn apply(&self, conn: &mut PgConnection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        let known = queries::look_up(conn, &[self.lookup()]).await?;
        let reports: Vec<_> = known.iter().filter_map(|known| self.report(known)).collect();
        let entries = what_follows(conn, &reports, now).await?;
        ledger::write(conn, &[], &entries, now).await
    }
}

/// Processes a recorded callback, whose row is locked, with the current settings of its gateway. Returns the new status, or the
/// error if the callback still cannot be understood; the error is recorded too.
pub(super) async fn reprocess(
    conn: &mut PgConnection,
    found: &CallbackGateway,
    pending: &PendingCallback,
    now: DateTime<Utc>,
) -> Result<Result<Status, NotUnderstood>, sqlx::Error> {
    let parsed = ParsedCallback::read(found, &pending.body);
    match parsed.update {
        Ok(update) => {
            let status = if update.is_some() { Status::Processed } else { Status::Ignored };
            VerifiedCallback { from: found, callback: pending.id, key: &pending.key, update: update.as_ref(), at: now }
                .apply(conn, now)
                .await?;
            queries::close(conn, pending.id, status, now).await?;
            Ok(Ok(status))
        }
        Err(not_understood) => {
            let failure = Failure::from(not_understood.clone());
            queries::record_failure(conn, pending, &failure, now).await?;
            Ok(Err(not_understood))
        }
    }
}
