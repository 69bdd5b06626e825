//! The password of a customer who is signed in, as a proof that it is them. Wrong ones count for the account like those of a sign-in: a thief
//! of the token may not guess for ever.

use secrecy::SecretString;

use crate::kernel::password_hashing::Comparison;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::in_flight::InFlight;
use crate::storefront::guessing::{Client, Kind};
use crate::storefront::state::Storefront;
use crate::storefront::{customers, passwords};

pub const REFUSALS: &[ProblemCode] =
    &[ProblemCode::CredentialsInvalid, ProblemCode::PasswordAttemptsExceeded, ProblemCode::GuessesExceeded, ProblemCode::Overloaded];

/// Refuses a password that is not the customer's, or none if the customer has none, after the same work.
pub async fn confirm(storefront: &Storefront, caller: &SignedInCustomer, client: Client, password: &SecretString) -> Result<(), Problem> {
    let (store, id) = (caller.store.id, caller.customer.id);
    // Before the guess is counted: a full queue must not cost one.
    let place = storefront.reserve_hashing(store, &client)?;
    let guess = storefront.guess(store, client, Kind::Password);
    let mut conn = storefront.pool.acquire().await?;
    let counted = customers::count_password_guess(&mut conn, &guess, None, &id.uuid().to_string()).await?;
    let (counted, _) = counted.inspect_err(|_| storefront.metrics.refused_guess("password", "locked_out"))?;
    let in_flight = InFlight::new(storefront, guess, counted);
    // Not the cached customer: the password may have changed within the last second.
    let customer = customers::find_customer(&mut conn, store, id).await?;
    drop(conn);
    let stored = customer.ok_or(ProblemCode::CustomerTokenInvalid)?.password_hash;
    match passwords::compare(&place, password, stored).await {
        Comparison::Wrong => {
            in_flight.wrong().await?;
            Err(ProblemCode::CredentialsInvalid.into())
        }
        Comparison::Right | Comparison::RightButOutdated => {
            // Like a sign-in, it forgets the wrong ones before.
            let mut conn = storefront.pool.acquire().await?;
            in_flight.right_in_vain(&mut conn).await?;
            passwords::forget_wrong_passwords(&mut conn, store, &[id.uuid().to_string()]).await?;
            Ok(())
        }
    }
}
