//! The password of a customer who is signed in, as a proof that it is them. Wrong ones count for the account like those of a sign-in: a thief
//! of the token may not guess for ever.

use secrecy::SecretString;

use crate::kernel::database::repeated;
use crate::kernel::password_hashing::{Comparison, HashingBusy};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::in_flight::InFlight;
use crate::storefront::customers::PasswordOf;
use crate::storefront::guessing::{Client, Kind};
use crate::storefront::passwords;
use crate::storefront::state::Storefront;

pub const REFUSALS: &[ProblemCode] =
    &[ProblemCode::CredentialsInvalid, ProblemCode::PasswordAttemptsExceeded, ProblemCode::GuessesExceeded, ProblemCode::Overloaded];

/// Refuses a password that is not the customer's, or none if the customer has none, after the same work.
pub async fn confirm(storefront: &Storefront, caller: &SignedInCustomer, client: Client, password: &SecretString) -> Result<(), Problem> {
    let (store, id) = (caller.store.id, caller.customer.id);
    let _turn = storefront.guesses.turn((store, client.network)).await.map_err(|_| HashingBusy)?;
    // Before the guess is counted: a full queue must not cost one.
    let place = storefront.reserve_hashing(store, &client)?;
    let guess = storefront.guess(store, client, Kind::Password);
    // With the customer as they are now: the password may have changed since the session was cached.
    let (in_flight, customer) = InFlight::begin(storefront, guess, PasswordOf::SignedIn(id)).await?;
    let stored = customer.ok_or(ProblemCode::CustomerTokenInvalid)?.password_hash;
    match place.compare(password, stored).await {
        Comparison::Wrong => {
            in_flight.wrong().await?;
            Err(ProblemCode::CredentialsInvalid.into())
        }
        Comparison::Right | Comparison::RightButOutdated => {
            // Like a sign-in, it forgets the wrong ones before.
            in_flight.right_in_vain().await?;
            let subject = [id.uuid().to_string()];
            let forget = async || passwords::forget_wrong_passwords(&mut storefront.pool.acquire().await?, store, &subject).await;
            Ok(repeated(forget).await?)
        }
    }
}
