//! A customer who has proven a moment ago who they are, as a parameter of a handler.
//!
//! A token is a bearer token: whoever reads it from a lost phone, a log or a backup is the customer for a year. So what would turn the token
//! into the account (contacts, password, providers) asks for a proof that a thief of the token does not have, and takes this parameter.

use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use serde_json::{Map, Value};

use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::state::Storefront;
use crate::storefront::{passkeys, second_factors};

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
        let has_second_factor = self.has_second_factor(storefront).await?;
        Err(self.stale(storefront, has_second_factor).await?)
    }

    /// Refuses a customer with a second factor: the first one alone makes no session fresh that both have opened, because it may be what
    /// the thief of the token has as well (ASVS 5.0, 7.5.1).
    pub(in crate::storefront) async fn refuse_first_factor(&self, storefront: &Storefront) -> Result<(), Problem> {
        if self.has_second_factor(storefront).await? { Err(self.stale(storefront, true).await?) } else { Ok(()) }
    }

    /// Refuses a customer with a second factor whose session is not fresh, where a first factor alone is the proof of the others.
    pub(in crate::storefront) async fn require_fresh_of_two_factors(&self, storefront: &Storefront) -> Result<(), Problem> {
        if self.is_fresh(storefront, storefront.clock.now()) { Ok(()) } else { self.refuse_first_factor(storefront).await }
    }

    async fn has_second_factor(&self, storefront: &Storefront) -> Result<bool, sqlx::Error> {
        if !self.store.asks_second_factor {
            return Ok(false);
        }
        // Boxed, because most requests would copy the large future in vain.
        async { second_factors::has_second_factor(&mut storefront.pool.acquire().await?, self.customer.id).await }.boxed().await
    }

    fn is_fresh(&self, storefront: &Storefront, now: DateTime<Utc>) -> bool {
        now < storefront.settings.fresh_until(self.proven_at)
    }

    /// Tells which ways are open to the customer. Contacts are masked: who holds only the token need not learn them.
    async fn stale(&self, storefront: &Storefront, has_second_factor: bool) -> Result<Problem, sqlx::Error> {
        let mut contacts = Map::new();
        let mut ways = match has_second_factor {
            true => vec!["totp", "recovery_code"],
            false => {
                let (phone, email) = (self.customer.proven_phone(), self.customer.proven_email());
                contacts.extend(phone.map(|phone| ("sms".to_owned(), Value::from(phone.masked()))));
                contacts.extend(email.map(|email| ("email".to_owned(), Value::from(email.masked()))));
                let by_code = (!contacts.is_empty()).then_some("code");
                by_code.into_iter().chain(self.customer.password_hash.as_ref().map(|_| "password")).collect()
            }
        };
        ways.extend(self.has_passkey(storefront).await?.then_some("passkey"));
        ways.push("sign_in");
        Ok(Problem::new(ProblemCode::FreshSignInRequired).member("ways", ways).member("contacts", contacts))
    }

    async fn has_passkey(&self, storefront: &Storefront) -> Result<bool, sqlx::Error> {
        if self.store.passkeys.is_none() {
            return Ok(false);
        }
        async { passkeys::is_way_in(&mut storefront.pool.acquire().await?, &self.store, self.customer.id).await }.boxed().await
    }
}
