//! Limits of wrong guesses at passwords and codes, which nobody can use to keep an operator out.

use chrono::{DateTime, TimeDelta, Utc};
use secrecy::SecretString;
use uuid::Uuid;

use crate::kernel::client_address::ClientAddress;
use crate::kernel::crypto::{ApplicationKey, sha256};
use crate::kernel::database::Connection;
use crate::kernel::password_hashing::Asker;
use crate::kernel::rate_limit::{self, RateLimitStatus, Rule};
use crate::kernel::request_id::RequestId;
use crate::operators::known_browser::KnownBrowser;
use crate::operators::operator::Operator;
use crate::operators::session::SessionToken;

/// Wrong guesses from one network, over all operators.
const BY_NETWORK: Rule = Rule { limit: 50, window: TimeDelta::minutes(15) };
/// Wrong guesses at one operator from one place, or in one browser that is known.
const BY_OPERATOR_HERE: Rule = Rule { limit: 10, window: TimeDelta::minutes(15) };
/// Wrong passwords of one operator in browsers that are not known, wherever they are.
const PASSWORDS_BY_OPERATOR: Rule = Rule { limit: 100, window: TimeDelta::hours(24) };
/// The same for codes, of which there are only a million.
const CODES_BY_OPERATOR: Rule = Rule { limit: 30, window: TimeDelta::hours(24) };

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

/// Whose turn it is when a password of an operator is hashed: all operators together have one, as a store has.
pub(super) fn asker(address: ClientAddress) -> Asker {
    Asker { group: Uuid::nil(), network: address.network() }
}

/// A guess, counted before it is judged, so that many at once cannot pass together.
pub(super) struct Guess(Vec<(String, Rule)>);

impl Guess {
    /// A guess at the passwords of an address, whoever has it, and also if nobody does.
    pub(super) fn password(key: &ApplicationKey, email: &str, browser: &Browser) -> Self {
        Self::of("operator_sign_in", PASSWORDS_BY_OPERATOR, &hex::encode(sha256(email)), known(key, email, browser), browser)
    }

    /// A guess at the second factor. Operators of several companies who have the same address have one each.
    pub(super) fn code(key: &ApplicationKey, operator: &Operator, browser: &Browser) -> Self {
        Self::of("operator_code", CODES_BY_OPERATOR, &operator.id.to_string(), known(key, &operator.email, browser), browser)
    }

    fn of(bucket: &str, by_operator: Rule, whose: &str, known: Option<String>, browser: &Browser) -> Self {
        let place = browser.address.place();
        let everywhere = rate_limit::by_network(browser.address.network(), BY_NETWORK);
        let mut counted: Vec<_> = everywhere.map(|(network, rule)| (format!("{bucket}:network:{network}"), rule)).collect();
        match known {
            Some(number) => counted.push((format!("{bucket}:browser:{number}"), BY_OPERATOR_HERE)),
            None => counted.extend([
                (format!("{bucket}:operator:{whose}:{place}"), BY_OPERATOR_HERE),
                (format!("{bucket}:operator:{whose}"), by_operator),
            ]),
        }
        Self(counted)
    }

    /// Counts the guess as wrong. The inner error is the limit that does not allow it.
    pub(super) async fn count(&self, conn: &mut Connection, now: DateTime<Utc>) -> Result<Result<(), RateLimitStatus>, sqlx::Error> {
        for (bucket, rule) in &self.0 {
            let status = rate_limit::hit(conn, bucket, *rule, now).await?;
            if !status.allowed {
                return Ok(Err(status));
            }
        }
        Ok(Ok(()))
    }

    /// It was right.
    pub(super) async fn take_back(&self, conn: &mut Connection, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
        for (bucket, _) in &self.0 {
            rate_limit::refund(conn, bucket, now).await?;
        }
        Ok(())
    }
}

/// The number of the browser, if an operator with this address has signed in with it before.
fn known(key: &ApplicationKey, email: &str, browser: &Browser) -> Option<String> {
    KnownBrowser::number(key, email, browser.known.as_ref()?)
}
