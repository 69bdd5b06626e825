//! What a new password must pass on every way to one: the rules, and the list of breached passwords.

use secrecy::SecretString;

use crate::kernel::error_chain::chain;
use crate::kernel::ids::StoreId;
use crate::kernel::password_hashing::Password;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::storefront::passwords::{self, InvalidPassword};
use crate::storefront::state::Storefront;

/// Returns the password that was typed, or the problem with the field.
pub async fn accept(storefront: &Storefront, store: StoreId, typed: &SecretString) -> Result<Password, Problem> {
    let password = passwords::parse(typed).map_err(refusal)?;
    refuse_breached(storefront, store, &password).await?;
    Ok(password)
}

/// Refuses a password that is in the list of breached ones. A list that does not answer refuses nothing: a customer who wants a better password must
/// not wait for it.
pub async fn refuse_breached(storefront: &Storefront, store: StoreId, password: &Password) -> Result<(), Problem> {
    match storefront.breached_passwords.look_up(store, password.secret()).await {
        None => {}
        Some(Ok(false)) => storefront.metrics.looked_up_password("clean"),
        Some(Ok(true)) => {
            storefront.metrics.looked_up_password("breached");
            return Err(refusal(InvalidPassword::Breached));
        }
        Some(Err(error)) => {
            storefront.metrics.looked_up_password("failed");
            tracing::warn!(error = chain(&error), "a new password could not be looked up in the list of breached ones, and is accepted");
        }
    }
    Ok(())
}

fn refusal(error: InvalidPassword) -> Problem {
    FieldErrors::one("password", error.to_string())
}
