//! Claims: identities of accounts that are unproven, or of accounts for tests, and their removal when another account proves them
//! (`docs/specification/decisions.md`, section 3, Proof).

use chrono::{DateTime, Utc};

use crate::contact::Identity;
use crate::events::Origin;
use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::customers::{ContactChange, SecurityEvent, publish, publish_security, queries};

/// The accounts that lost a claim in a transaction that is not yet committed.
#[derive(Debug)]
#[must_use = "the accounts must be evicted from the cache after the commit"]
pub struct LostClaims(Vec<CustomerId>);

impl LostClaims {
    pub fn into_customers(self) -> Vec<CustomerId> {
        self.0
    }
}

/// Removes `identity`, which `owner` proves, from every other account that merely claims it, and publishes events for each of these accounts. An
/// account for tests merely claims all that it has, because a fixed code proves nothing, and takes nothing from others. Comes before the owner
/// gets the identity, which one account has at a time.
pub async fn settle_claims(
    conn: &mut Connection,
    (origin, store): (Origin, StoreId),
    owner: CustomerId,
    identity: &Identity,
    now: DateTime<Utc>,
) -> Result<LostClaims, sqlx::Error> {
    let mut lost = Vec::new();
    for customer in queries::remove_claims(conn, store, owner, identity, now).await? {
        publish(conn, origin, CUSTOMER_UPDATED, &customer, now).await?;
        let removed = SecurityEvent::ContactChanged(ContactChange::removed(identity));
        publish_security(conn, (origin, store), customer.id, [removed], now).await?;
        lost.push(customer.id);
    }
    Ok(LostClaims(lost))
}

impl FromIterator<Self> for LostClaims {
    fn from_iter<I: IntoIterator<Item = Self>>(lost: I) -> Self {
        Self(lost.into_iter().flat_map(|lost| lost.0).collect())
    }
}
