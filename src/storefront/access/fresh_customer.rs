//! A customer who has proven a moment ago who they are, as a parameter of a handler.
//!
//! A token is a bearer token: whoever reads it from a lost phone, a log or a backup is the customer for a year. So what would turn the token
//! into the account (contacts, password, providers) asks for a proof that a thief of the token does not have, and takes this parameter.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::customers::Customer;
use crate::storefront::passkeys;
use crate::storefront::state::Storefront;

/// A request of a session that is fresh: `storefront.fresh_for` has not passed since the customer signed in or proved it again.
#[derive(Clone, Debug)]
pub struct FreshCustomer(pub(in crate::storefront) SignedInCustomer);

impl<S> FromRequestParts<S> for FreshCustomer
where
    S: Send + Sync,
    Storefront: FromRef<S>,
{
    type Rejection = Problem;

    /// Refuses a session that is not fresh with the ways in which this customer makes it fresh.
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let caller = SignedInCustomer::from_request_parts(parts, state).await?;
        caller.require_fresh(&Storefront::from_ref(state)).await?;
        Ok(Self(caller))
    }
}

impl SignedInCustomer {
    /// Refuses a session that is not fresh.
    pub(in crate::storefront) async fn require_fresh(&self, storefront: &Storefront) -> Result<(), Problem> {
        if self.is_fresh(storefront, storefront.clock.now()) {
            return Ok(());
        }
        let has_passkey = passkeys::is_way_in(&mut storefront.pool.acquire().await?, &self.store, self.customer.id).await?;
        Err(refusal(&self.customer, has_passkey))
    }

    fn is_fresh(&self, storefront: &Storefront, now: DateTime<Utc>) -> bool {
        now < storefront.settings.fresh_until(self.proven_at)
    }
}

/// Tells which ways are open to the customer. Contacts are masked: who holds only the token need not learn them.
fn refusal(customer: &Customer, has_passkey: bool) -> Problem {
    let (phone, email) = (customer.proven_phone(), customer.proven_email());
    let mut contacts = Map::new();
    contacts.extend(phone.map(|phone| ("sms".to_owned(), Value::from(phone.masked()))));
    contacts.extend(email.map(|email| ("email".to_owned(), Value::from(email.masked()))));
    let by_code = (!contacts.is_empty()).then_some("code");
    let by_password = customer.password_hash.as_ref().map(|_| "password");
    let by_passkey = has_passkey.then_some("passkey");
    let ways: Vec<_> = by_code.into_iter().chain(by_password).chain(by_passkey).chain(["sign_in"]).collect();
    Problem::new(ProblemCode::FreshSignInRequired).member("ways", ways).member("contacts", contacts)
}
