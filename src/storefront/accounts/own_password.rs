//! The password of a customer who is signed in, as a proof that it is them. Wrong ones are counted for the account, like those of a sign-in
//! for an identity: a thief of the token may not guess for ever.

use secrecy::SecretString;

use crate::kernel::password_hashing::Comparison;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit;
use crate::storefront::access::SignedInCustomer;
use crate::storefront::state::Storefront;
use crate::storefront::{customers, passwords};

pub const REFUSALS: &[ProblemCode] = &[ProblemCode::CredentialsInvalid, ProblemCode::PasswordAttemptsExceeded, ProblemCode::Overloaded];

/// Refuses a password that is not the customer's, or none if the customer has none, after the same work.
pub async fn confirm(storefront: &Storefront, caller: &SignedInCustomer, password: &SecretString) -> Result<(), Problem> {
    let bucket = passwords::bucket(caller.store.id, &caller.customer.id.to_string());
    // Before the guess is counted: a full queue must not cost one.
    let place = storefront.hashing.reserve()?;
    let mut conn = storefront.pool.acquire().await?;
    let status = rate_limit::hit(&mut conn, &bucket, passwords::WRONG_PASSWORDS, storefront.clock.now()).await?;
    if !status.allowed {
        return Err(Problem::new(ProblemCode::PasswordAttemptsExceeded).retry_after(status.retry_after()));
    }
    // Not the cached customer: the password may have changed within the last second.
    let customer = customers::find_customer(&mut conn, caller.store.id, caller.customer.id).await?;
    drop(conn);
    let stored = customer.ok_or(ProblemCode::CustomerTokenInvalid)?.password_hash;
    match passwords::compare(&place, password, stored).await {
        Comparison::Wrong => Err(ProblemCode::CredentialsInvalid.into()),
        Comparison::Right | Comparison::RightButOutdated => {
            rate_limit::clear(&mut storefront.pool.acquire().await?, &[bucket]).await?;
            Ok(())
        }
    }
}
