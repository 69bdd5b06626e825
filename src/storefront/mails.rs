//! The limit of mails to one mailbox that somebody named: so many in any day, whoever asks for them. Anybody may name any address, from as
//! many clients and accounts as they like; its owner must not find a flood there. Mails to the address that an account has are not counted:
//! nobody is to be kept out of theirs.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgConnection;

use crate::contact::EmailAddress;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::kernel::secrets::sha256;
use crate::storefront::Storefront;

/// The mailbox was sent its mails of a day.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the mailbox was sent its mails of a day")]
pub(super) struct CoolingDown {
    /// Until there is room for another one.
    seconds: u64,
}

impl From<CoolingDown> for Problem {
    fn from(CoolingDown { seconds }: CoolingDown) -> Self {
        Problem::new(ProblemCode::EmailCooldown).retry_after(seconds)
    }
}

/// Counts a mail as sent, if there is room for it.
pub(super) async fn reserve(
    storefront: &Storefront,
    conn: &mut PgConnection,
    store: StoreId,
    address: &EmailAddress,
    now: DateTime<Utc>,
) -> Result<Result<(), CoolingDown>, sqlx::Error> {
    let rule = Rule { limit: storefront.settings.daily_mails_per_mailbox.get(), window: TimeDelta::days(1) };
    let standing = rate_limit::hit(conn, &bucket(store, address), rule, now).await?;
    Ok(if standing.allowed { Ok(()) } else { Err(CoolingDown { seconds: standing.retry_after() }) })
}

/// A mail that the server did not take counts no more.
pub(super) async fn give_back(
    conn: &mut PgConnection,
    store: StoreId,
    address: &EmailAddress,
    at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    rate_limit::give_back(conn, &bucket(store, address), at).await
}

/// A digest, so that no address stands here to be read.
fn bucket(store: StoreId, address: &EmailAddress) -> String {
    format!("mails:{store}:{}", hex::encode(sha256(address.mailbox())))
}
