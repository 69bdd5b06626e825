//! The kinds of devices that a customer signs in from. A sign-in from another one is told to the customer.
//!
//! A device is what the request says of itself ([`ClientInfo::device`](crate::storefront::audit::ClientInfo::device)). A thief can claim to be
//! any device; the notice is for the many who do not. The statement that issues the token looks the device up and notes the first one and
//! those that are known ([`Before`](crate::storefront::tokens::Before)), so that most sign-ins have nothing to do here.

mod queries;

use chrono::{DateTime, Utc};

use crate::kernel::ids::{CustomerId, SessionId};
use crate::storefront::audit::SignInAttempt;
use crate::storefront::customers::{self, AddedDevice, SecurityEvent};
use crate::storefront::state::Storefront;

pub use queries::forget_known_devices;

/// How many a customer has; the one that was used the longest ago is forgotten.
const MAX_DEVICES: i64 = 20;

/// Remembers the device of a sign-in as another one. Returns `true` if the customer is known to use others, but still not this one, and
/// publishes that.
pub async fn remember(
    storefront: &Storefront,
    (attempt, device): (&SignInAttempt<'_>, &str),
    (customer, session): (CustomerId, SessionId),
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let store = attempt.store.id;
    let mut tx = storefront.pool.begin().await?;
    let known = queries::remember_device(&mut tx, (store, customer), device, now).await?;
    if !known.this && known.others >= MAX_DEVICES {
        queries::forget_oldest(&mut tx, customer, MAX_DEVICES).await?;
    }
    let is_another = known.others > 0 && !known.this;
    if is_another {
        let address = attempt.client.address;
        let added = SecurityEvent::DeviceAdded { device: AddedDevice::SignIn(device), session, address };
        customers::publish_security(&mut tx, (attempt.origin(), store), customer, [added], now).await?;
    }
    tx.commit().await?;
    Ok(is_another)
}
