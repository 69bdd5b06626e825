//! How an operator signs in with a password, or once with a link.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;
use sqlx::{Connection, PgConnection};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::{Caller, Who};
use crate::contact::EmailAddress;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::crypto::sha256;
use crate::kernel::ids::OperatorSessionId;
use crate::kernel::password_hashing::{Comparison, HashingBusy};
use crate::kernel::rate_limit::{self, RateLimitStatus, Rule};
use crate::kernel::request_id::RequestId;
use crate::operators::known_browser::KnownBrowser;
use crate::operators::one_time_link::OneTimeLink;
use crate::operators::operator::Operator;
use crate::operators::queries;
use crate::operators::session::{NewSession, SessionToken};
use crate::operators::state::Operators;

/// Wrong passwords from one network, over all operators.
const BY_NETWORK: Rule = Rule { limit: 50, window: TimeDelta::minutes(15) };
/// Wrong passwords of one operator from one network, or in one browser that is known.
const BY_OPERATOR_HERE: Rule = Rule { limit: 10, window: TimeDelta::minutes(15) };
/// Wrong passwords of one operator in browsers that are not known, wherever they are.
const BY_OPERATOR: Rule = Rule { limit: 100, window: TimeDelta::hours(24) };

/// The browser in which somebody wants to sign in.
#[derive(Clone, Debug)]
pub struct Browser {
    /// The address of the client.
    pub address: ClientAddress,
    /// What the browser says it is.
    pub user_agent: String,
    /// The proof that an operator has signed in with it before.
    pub known: Option<SecretString>,
    /// The session that the browser has at the moment; it ends with the new one.
    pub session: Option<SessionToken>,
    /// The request, for the audit trail.
    pub request: Option<RequestId>,
}

/// An operator has signed in.
#[derive(Debug)]
pub struct SignedIn {
    /// The token of the session, for the cookie.
    pub token: SessionToken,
    /// The proof that this browser is known, for a cookie that outlives the session.
    pub browser: KnownBrowser,
}

/// The reason why somebody is not signed in.
#[derive(Debug, thiserror::Error)]
pub enum SignInRefusal {
    /// There is no such operator, or the password is another one.
    #[error("the address or the password is wrong")]
    Wrong,
    /// There is no such link, or it was used or has expired.
    #[error("the link is not valid any more")]
    LinkEnded,
    /// Too many passwords were wrong.
    #[error("too many attempts")]
    TooMany(RateLimitStatus),
    /// The password could not be compared at this time.
    #[error(transparent)]
    Busy(#[from] HashingBusy),
    /// A database error.
    #[error("the sign-in could not be stored")]
    Database(#[from] sqlx::Error),
}

impl Operators {
    /// Signs the operator with this address and password in. It takes as long if there is none.
    pub async fn sign_in(&self, email: &str, password: SecretString, browser: &Browser) -> Result<SignedIn, SignInRefusal> {
        let place = self.hashing.reserve()?;
        let (now, email) = (self.clock.now(), EmailAddress::parse(email).map(|email| email.key()).unwrap_or_default());
        let mut conn = self.pool.acquire().await?;
        let (operator, hash) = queries::find_credentials(&mut conn, &email).await?.unzip();
        let limits = self.limits(&email, operator.as_ref(), browser);
        for (bucket, rule) in &limits {
            let status = rate_limit::hit(&mut conn, bucket, *rule, now).await?;
            if !status.allowed {
                return Err(SignInRefusal::TooMany(status));
            }
        }
        drop(conn);
        let compared = place.compare(password, hash).await;
        let Some(operator) = operator.filter(|_| compared != Comparison::Wrong) else {
            tracing::warn!(address = %browser.address.ip(), "an operator's sign-in failed");
            return Err(SignInRefusal::Wrong);
        };
        let mut conn = self.pool.acquire().await?;
        for (bucket, _) in &limits {
            rate_limit::refund(&mut conn, bucket, now).await?;
        }
        Ok(self.start_session(&mut conn, &operator, browser, now).await?)
    }

    /// Signs the operator of a link in. The link is used up by that.
    pub async fn sign_in_by_link(&self, link: &OneTimeLink, browser: &Browser) -> Result<SignedIn, SignInRefusal> {
        let (now, mut conn) = (self.clock.now(), self.pool.acquire().await?);
        let mut transaction = conn.begin().await?;
        let operator = queries::use_link(&mut transaction, &link.digest(), now).await?.ok_or(SignInRefusal::LinkEnded)?;
        let signed_in = self.start_session(&mut transaction, &operator, browser, now).await?;
        transaction.commit().await?;
        Ok(signed_in)
    }

    /// The limits that a wrong password counts against, and their buckets.
    fn limits(&self, email: &str, operator: Option<&Operator>, browser: &Browser) -> Vec<(String, Rule)> {
        let (network, address) = (browser.address.network(), hex::encode(sha256(email)));
        let known = operator.and_then(|operator| KnownBrowser::number(&self.key, operator.id, browser.known.as_ref()?));
        let everywhere = (format!("operator_sign_in:network:{network}"), BY_NETWORK);
        match known {
            Some(number) => vec![everywhere, (format!("operator_sign_in:browser:{number}"), BY_OPERATOR_HERE)],
            None => vec![
                everywhere,
                (format!("operator_sign_in:operator:{address}:{network}"), BY_OPERATOR_HERE),
                (format!("operator_sign_in:operator:{address}"), BY_OPERATOR),
            ],
        }
    }

    async fn start_session(
        &self,
        conn: &mut PgConnection,
        operator: &Operator,
        browser: &Browser,
        now: DateTime<Utc>,
    ) -> Result<SignedIn, sqlx::Error> {
        let (id, token) = (OperatorSessionId::new(now), SessionToken::generate());
        let who = Who::Operator(operator.id);
        let caller = Caller { company: operator.company, grant: operator.role.grant(), who, request: browser.request };
        let user_agent = browser.user_agent.chars().take(200).collect();
        let session = NewSession { id, operator: operator.id, address: browser.address.ip().to_string(), user_agent };
        let mut transaction = conn.begin().await?;
        if let Some(before) = &browser.session {
            queries::delete_session_by_token(&mut transaction, operator.id, &before.digest()).await?;
        }
        queries::insert_session(&mut transaction, &session, &token.digest(), now).await?;
        audit_trail::record(&mut transaction, &caller, Action::Created, ChangedRecord::OperatorSession(id), now).await?;
        transaction.commit().await?;
        Ok(SignedIn { token, browser: KnownBrowser::new(&self.key, operator.id, browser.known.as_ref()) })
    }
}
