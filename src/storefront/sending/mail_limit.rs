//! The limits of mails to one mailbox within 24 hours, across all clients and accounts: `storefront.daily_mails_per_customer` of mails with codes
//! that strangers ask for, and within it `storefront.daily_mails_per_mailbox` of those to addresses that anybody may enter, so that no client can
//! flood a mailbox. What customers ask for is counted by itself, to the same number, so that strangers do not keep them out of their accounts:
//! in a session, or on a client that they have signed in from. [Notices](super::notices) have limits of their own, so that no flood of codes
//! keeps one from the customer.

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::EmailAddress;
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::purpose::Purpose;
use crate::storefront::state::Storefront;

/// The mailbox has reached its limit.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the daily limit of mails to this address is reached")]
pub struct CoolingDown {
    /// Seconds until another mail can be sent.
    seconds: u64,
}

impl From<CoolingDown> for Problem {
    fn from(CoolingDown { seconds }: CoolingDown) -> Self {
        Problem::new(ProblemCode::EmailCooldown).retry_after(seconds)
    }
}

/// What a mail is for.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    pub purpose: Purpose,
    /// Whether the customer whose mailbox it is asks for it, and not just anybody.
    pub is_own: bool,
}

/// Counts a mail as sent if the limits allow it. After a refusal the caller's transaction must be rolled back.
pub async fn reserve(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    cause: Cause,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Result<(), CoolingDown>, sqlx::Error> {
    let limits = [storefront.settings.daily_mails_per_customer, storefront.settings.daily_mails_per_mailbox];
    for (bucket, limit) in buckets(store, cause, address).into_iter().zip(limits) {
        let rule = Rule { limit: limit.get(), window: TimeDelta::days(1) };
        let status = rate_limit::hit(conn, &bucket, rule, now).await?;
        if !status.allowed {
            return Ok(Err(CoolingDown { seconds: status.retry_after() }));
        }
    }
    Ok(Ok(()))
}

/// Takes back the count of a mail that the server did not accept.
pub async fn refund(
    conn: &mut Connection,
    store: StoreId,
    cause: Cause,
    address: &EmailAddress,
    at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    for bucket in buckets(store, cause, address) {
        rate_limit::refund(conn, &bucket, at).await?;
    }
    Ok(())
}

/// The keys of the counters: of the mails that the customer asks for, or else of those that anybody does. Digests, so that the address is not
/// stored in plain text.
fn buckets(store: StoreId, cause: Cause, address: &EmailAddress) -> Vec<String> {
    let mailbox = hex::encode(sha256(address.mailbox()));
    let mut buckets = vec![format!("{} mails:{store}:{mailbox}", if cause.is_own { "own" } else { "all" })];
    if cause.purpose.is_for_whatever_is_named() {
        buckets.push(format!("mails:{store}:{mailbox}"));
    }
    buckets
}
