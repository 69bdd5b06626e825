//! The limit of mails to one mailbox: `storefront.daily_mails_per_mailbox` within 24 hours, across all clients and accounts. It
//! counts mails to addresses that anybody may enter, so that no client can flood a stranger's mailbox. It does not count mails to an
//! address that belongs to an account, because the limit must not lock customers out of their accounts.

use chrono::{DateTime, TimeDelta, Utc};

use crate::contact::EmailAddress;
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
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

/// Counts a mail as sent if the limit allows it.
pub async fn reserve(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Result<(), CoolingDown>, sqlx::Error> {
    let rule = Rule { limit: storefront.settings.daily_mails_per_mailbox.get(), window: TimeDelta::days(1) };
    let status = rate_limit::hit(conn, &bucket(store, address), rule, now).await?;
    Ok(if status.allowed { Ok(()) } else { Err(CoolingDown { seconds: status.retry_after() }) })
}

/// Takes back the count of a mail that the server did not accept.
pub async fn refund(conn: &mut Connection, store: StoreId, address: &EmailAddress, at: DateTime<Utc>) -> Result<(), sqlx::Error> {
    rate_limit::refund(conn, &bucket(store, address), at).await
}

/// The key of the counter. A digest, so that the address is not stored in plain text.
fn bucket(store: StoreId, address: &EmailAddress) -> String {
    format!("mails:{store}:{}", hex::encode(sha256(address.mailbox())))
}
