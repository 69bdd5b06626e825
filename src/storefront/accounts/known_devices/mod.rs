//! The kinds of devices that a customer signs in from. A sign-in from another one is told to the customer.
//!
//! A device is what the request says of itself: the browser or app, the system, and the name that the app gives it. Versions change with every
//! update and addresses with every network, so neither counts. A thief can claim to be any device; the notice is for the many who do not.

mod description;
mod queries;

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::storefront::audit::ClientInfo;

pub use description::describe;
pub use queries::forget_known_devices;

/// How many a customer has; the one that was used the longest ago is forgotten.
const MAX_DEVICES: i64 = 20;

/// Remembers the device of a sign-in. Returns `true` if the customer is known to use others, but not this one.
pub async fn remember(
    conn: &mut Connection,
    (store, customer): (StoreId, CustomerId),
    client: &ClientInfo,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let device = describe(client.user_agent.as_deref(), client.device_name.as_ref());
    let known = queries::remember_device(conn, (store, customer), &device, now).await?;
    let is_news = known.others > 0 && !known.this;
    if !known.this && known.others >= MAX_DEVICES {
        queries::forget_oldest(conn, customer, MAX_DEVICES).await?;
    }
    Ok(is_news)
}
