//! A request that comes twice where authorization codes are exchanged. The provider exchanges a code once, so it refuses that of the second
//! request, which is right all the same: the client has used this token with this code a moment ago.

use std::time::Duration;

use tokio::time::sleep;

use crate::kernel::ids::StoreId;
use crate::kernel::problem::Problem;
use crate::providers::identity::{Flaw, PresentedToken, VerifiedIdentity, VerifyError};
use crate::storefront::accounts::social::queries;
use crate::storefront::guessing::Client;
use crate::storefront::state::Storefront;

/// The pauses before the first request is looked for: it may still be on its way, with the answer of the provider or of a registration hook.
const PAUSES: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1_600),
];

/// Returns the identity, also if the provider has refused the code because the same client has used it with the same token. The token has been
/// used then, so it does no more than a [repeated](queries::Use) one. Another code has to be exchanged.
pub(super) async fn or_repeated(
    storefront: &Storefront,
    who: (StoreId, &Client),
    verified: Result<VerifiedIdentity, VerifyError>,
) -> Result<VerifiedIdentity, Problem> {
    let identity = match verified {
        Err(VerifyError::CodeRefused(identity)) => identity,
        verified => return Ok(verified?),
    };
    let is_repeated = match &identity.token {
        // Boxed, because most sign-ins would carry the large future in vain.
        Some(token) => Box::pin(was_used(storefront, who, token)).await?,
        None => false,
    };
    if is_repeated { Ok(*identity) } else { Err(VerifyError::from(Flaw::NotConfirmed).into()) }
}

/// Whether this client has used the token with its code, or does so within the pauses.
async fn was_used(storefront: &Storefront, (store, client): (StoreId, &Client), token: &PresentedToken) -> Result<bool, sqlx::Error> {
    for pause in PAUSES {
        sleep(pause).await;
        let now = storefront.clock.now();
        if queries::was_used_with_code(&mut storefront.pool.acquire().await?, (store, client), token, now).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
