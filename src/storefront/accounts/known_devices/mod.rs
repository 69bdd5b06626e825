//! The kinds of devices that a customer signs in from. A sign-in from another one is told to the customer.
//!
//! A device is what the request says of itself ([`ClientInfo::device`](crate::storefront::audit::ClientInfo::device)). A thief can claim to be
//! any device; the notice is for the many who do not. The statement that issues the token looks the device up ([`SeenDevice`]), so that most
//! sign-ins have nothing to do here.

mod queries;

use chrono::{DateTime, Utc};

use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::state::Storefront;
use crate::storefront::tokens::SeenDevice;

pub use queries::forget_known_devices;

/// How many a customer has; the one that was used the longest ago is forgotten.
const MAX_DEVICES: i64 = 20;

/// Remembers the device of a sign-in, unless that was done within a day. Returns `true` if the customer is known to use others, but not this
/// one.
pub async fn remember(
    storefront: &Storefront,
    (store, customer): (StoreId, CustomerId),
    device: &str,
    seen: SeenDevice,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    if seen.is_recent {
        return Ok(false);
    }
    let mut conn = storefront.pool.acquire().await?;
    let known = queries::remember_device(&mut conn, (store, customer), device, now).await?;
    if !known.this && known.others >= MAX_DEVICES {
        queries::forget_oldest(&mut conn, customer, MAX_DEVICES).await?;
    }
    Ok(known.others > 0 && !known.this)
}
