//! The limits of card set-up intents: `storefront.card_setups_per_customer` and `storefront.card_setups_per_address` within an hour. Each
//! intent lets somebody find out whether a card number works, so whoever tests stolen ones wants many.

use chrono::TimeDelta;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::state::Storefront;

const WINDOW: TimeDelta = TimeDelta::hours(1);

/// Counts an intent, if both limits allow it. An intent that the provider does not create counts too.
pub(super) async fn count(storefront: &Storefront, caller: &SignedInCustomer, client: ClientAddress) -> Result<(), Problem> {
    let settings = &storefront.settings;
    let limits = [
        (format!("card setups:{}", caller.customer.id), settings.card_setups_per_customer),
        (format!("card setups:{}:{}", caller.store.id, client.network()), settings.card_setups_per_address),
    ];
    let (now, mut conn) = (storefront.clock.now(), storefront.pool.acquire().await?);
    for (bucket, limit) in limits {
        let status = rate_limit::hit(&mut conn, &bucket, Rule { limit: limit.get(), window: WINDOW }, now).await?;
        if !status.allowed {
            return Err(status.problem());
        }
    }
    Ok(())
}
