//! The limits of card set-up intents: `storefront.card_setups_per_customer` and `storefront.card_setups_per_address` within an hour. Each
//! intent lets somebody find out whether a card number works, so whoever tests stolen ones wants many.

use std::num::NonZeroU32;

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
    let [of_customer, of_network] = [settings.card_setups_per_customer, settings.card_setups_per_address];
    let rule = |limit: NonZeroU32| Rule { limit: limit.get(), window: WINDOW };
    let (now, mut conn) = (storefront.clock.now(), storefront.pool.acquire().await?);
    let status = rate_limit::hit(&mut conn, &format!("card setups:{}", caller.customer.id), rule(of_customer), now).await?;
    if !status.allowed {
        return Err(status.problem());
    }
    let bucket = format!("card setups:{}", caller.store.id);
    let status = rate_limit::hit_network(&mut conn, &bucket, client.network(), rule(of_network), now).await?;
    if status.allowed { Ok(()) } else { Err(status.problem()) }
}
