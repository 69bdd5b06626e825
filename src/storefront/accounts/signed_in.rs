//! The end of every flow that signs a customer in: the token, the entry in the audit, and the login response.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::kernel::database::Connection;
use crate::kernel::error_chain::chain;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::audit::{self, SignInAttempt};
use crate::storefront::customers::Customer;
use crate::storefront::state::{Settings, Storefront};
use crate::storefront::tokens::{self, TokenId};

/// A customer with a newly issued token.
#[derive(Debug)]
pub struct SignedIn {
    token: SecretString,
    /// The session that the token opens.
    pub(in crate::storefront) session: TokenId,
    pub(in crate::storefront) customer: Customer,
}

impl SignedIn {
    /// The login response of interface 1. With `storefront.flat_login` it also contains the customer's fields at its top level.
    pub fn answer(&self, settings: &Settings) -> Value {
        let customer = self.customer.present();
        let mut answer = if settings.flat_login { customer.clone() } else { Map::new() };
        answer.insert("token".to_owned(), json!(self.token.expose_secret()));
        answer.insert("customer".to_owned(), Value::Object(customer));
        Value::Object(answer)
    }
}

impl Storefront {
    /// Signs `customer` in after a successful `attempt` and records the sign-in in the audit. A banned customer is told so here and
    /// not before: only who has proven to be the customer learns of the ban.
    pub(in crate::storefront) async fn sign_in(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: Customer,
        now: DateTime<Utc>,
    ) -> Result<SignedIn, Problem> {
        refuse_banned(&customer)?;
        let (session, token) = tokens::issue(conn, attempt, customer.id, self.settings.token_expires_at(now), now).await?;
        Ok(SignedIn { token, session, customer })
    }

    /// The same after a right password. Returns `None` and issues no token if the password hash has been replaced since (even by an
    /// upgrade of the same password) or the account is closed or banned.
    pub(in crate::storefront) async fn sign_in_unless_password_replaced(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: Customer,
        now: DateTime<Utc>,
    ) -> Result<Option<SignedIn>, Problem> {
        refuse_banned(&customer)?;
        let expires_at = self.settings.token_expires_at(now);
        let token = tokens::issue_unless_password_replaced(conn, attempt, &customer, expires_at, now).await?;
        Ok(token.map(|(session, token)| SignedIn { token, session, customer }))
    }
}

fn refuse_banned(customer: &Customer) -> Result<(), Problem> {
    if customer.banned_at.is_some() { Err(ProblemCode::AccountBanned.into()) } else { Ok(()) }
}

/// Runs a sign-in and records a refusal. A success is recorded together with its token ([`Storefront::sign_in`]).
///
/// The flow is boxed, so that the large state of its queries is not moved from future to future.
pub async fn audited(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    flow: BoxFuture<'_, Result<SignedIn, Problem>>,
) -> Result<SignedIn, Problem> {
    let result = flow.await;
    storefront.metrics.tried(attempt.method.as_str(), result.is_ok());
    if let Err(problem) = &result {
        let now = storefront.clock.now();
        let is_recorded = storefront.refusals.is_recorded(attempt, now);
        let written = async {
            let mut conn = storefront.pool.acquire().await?;
            match is_recorded {
                true => audit::insert_refusal(&mut conn, attempt, problem.code(), now).await,
                false => audit::count_refusal(&mut conn, attempt, problem.code(), now).await,
            }
        };
        if let Err(error) = written.await {
            // The failure to record a refusal does not change the response.
            tracing::error!(error = chain(&error), "a refused sign-in could not be recorded in the audit log");
        }
    }
    result
}
