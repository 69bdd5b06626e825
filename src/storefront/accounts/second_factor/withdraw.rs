//! The way back for a customer who has lost the app and the recovery codes: the shop removes the factor, and the customer is told on every
//! proven channel. Who talks the shop into it must not go unnoticed.

use chrono::{DateTime, Utc};

use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::languages::AcceptedLanguages;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;
use crate::storefront::{customers, stores};

/// Tells a customer that the factor was removed, in English: no request of theirs says which language they read. Whatever goes wrong, the caller
/// goes on.
pub async fn tell_removed(storefront: &Storefront, (store, customer): (StoreId, CustomerId), at: DateTime<Utc>) {
    let found = async {
        let mut conn = storefront.pool.acquire().await?;
        Ok::<_, sqlx::Error>((stores::find_sender(&mut conn, store).await?, customers::find_customer(&mut conn, store, customer).await?))
    };
    match found.await {
        Ok((Some(store), Some(customer))) => {
            let (about, particulars, languages) = (Notice::SecondFactorOff, Particulars::default(), &AcceptedLanguages::default());
            notices::tell(storefront, &customer, Occurrence { store: &store, languages, about, particulars, at }).await;
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(error = chain(&error), "a customer could not be told that the second factor was removed"),
    }
}
