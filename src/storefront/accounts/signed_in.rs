//! The end of every flow that signs a customer in: the token, or the question for the second factor; the entry in the audit, and the login
//! response.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::contact::Identity;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CustomerId, SessionId};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::identity::Provider;
use crate::storefront::accounts::{ending, known_devices, review};
use crate::storefront::audit::{self, Method, SignInAttempt};
use crate::storefront::customers::{self, Customer, SecurityEvent};
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::metrics::OWN_PROVIDER;
use crate::storefront::second_factors::{self, Handle, NewPending};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::settings::Settings;
use crate::storefront::state::Storefront;
use crate::storefront::tokens::{self, Before, Issued, TokenId};

/// A customer with a newly issued token.
#[derive(Debug)]
pub struct SignedIn {
    token: SecretString,
    /// The session that the token opens.
    pub(in crate::storefront) session: TokenId,
    session_id: SessionId,
    pub(in crate::storefront) customer: Customer,
    /// What was known of the customer before the sign-in.
    before: Before,
    /// The provider that was linked to an account which was there before.
    pub(super) linked: Option<Provider>,
    /// Whether the customer is told of the new password.
    pub(super) has_new_password: bool,
    /// Whether the customer is told that a recovery code was used.
    pub(super) used_recovery_code: bool,
}

impl SignedIn {
    fn new(Issued { token, number, session, before }: Issued, customer: Customer) -> Self {
        let (linked, has_new_password, used_recovery_code) = (None, false, false);
        Self { token, session: number, session_id: session, customer, before, linked, has_new_password, used_recovery_code }
    }

    /// The login response of interface 1. With `storefront.flat_login` it also contains the customer's fields at its top level.
    pub fn answer(&self, settings: &Settings) -> Value {
        let customer = self.customer.present();
        let mut answer = if settings.flat_login { customer.clone() } else { Map::new() };
        answer.insert("token".to_owned(), json!(self.token.expose_secret()));
        answer.insert("customer".to_owned(), Value::Object(customer));
        Value::Object(answer)
    }

    /// What opens the account now.
    pub async fn review(&self, conn: &mut Connection) -> Result<Value, sqlx::Error> {
        review::of(conn, &self.customer).await
    }
}

/// How a sign-in goes on once its factor was right. Whatever the factor has used up is committed either way.
#[derive(Debug)]
#[must_use = "it takes effect with the commit"]
pub enum Opened {
    Session(Box<SignedIn>),
    /// The customer has a second factor, and the sign-in waits for it.
    Pending(CustomerId, Handle),
}

impl Opened {
    /// The session, with more about it.
    pub(super) fn with(self, tell: impl FnOnce(&mut SignedIn)) -> Self {
        match self {
            Self::Session(mut signed_in) => {
                tell(&mut signed_in);
                Self::Session(signed_in)
            }
            pending @ Self::Pending(..) => pending,
        }
    }
}

impl Storefront {
    /// Whether a sign-in by this method asks the customer for the second factor: the one place that decides it. A first factor does, if the
    /// customer has a second one. A registration does not, because nobody has had the account before, and neither does a passkey, whose device
    /// has verified its user: it is two factors in one.
    ///
    /// Costs a statement only in stores whose customers may have one.
    pub(super) async fn asks_second_factor(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: CustomerId,
    ) -> Result<bool, sqlx::Error> {
        match attempt.method {
            Method::Registration | Method::Passkey | Method::Totp | Method::RecoveryCode => Ok(false),
            Method::Code | Method::Password | Method::PasswordReset | Method::Provider(_) => {
                Ok(attempt.store.asks_second_factor && second_factors::has_second_factor(conn, customer).await?)
            }
        }
    }

    /// Has a sign-in wait for the second factor, in the transaction that uses up the first one. `new_password` is set once both were right.
    pub(super) async fn await_second_factor(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: &Customer,
        new_password: Option<&HashedPassword>,
        now: DateTime<Utc>,
    ) -> Result<Opened, Problem> {
        refuse_banned(customer)?;
        let app = second_factors::app_of(attempt.store.key_id, attempt.client.user_agent.as_deref());
        let identity = attempt.identity.as_ref().map(Identity::key);
        let place = attempt.client.address.place();
        let pending = NewPending { store: attempt.store.id, customer: customer.id, app, place, identity, new_password };
        Ok(Opened::Pending(customer.id, second_factors::insert_pending(conn, &pending, now).await?))
    }

    /// Signs `customer` in after a successful `attempt` and records the sign-in in the audit. A banned customer is told so here and
    /// not before: only who has proven to be the customer learns of the ban. A customer with a second factor is asked for it instead.
    pub(in crate::storefront) async fn sign_in(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: Customer,
        now: DateTime<Utc>,
    ) -> Result<Opened, Problem> {
        refuse_banned(&customer)?;
        if self.asks_second_factor(conn, attempt, customer.id).await? {
            return self.await_second_factor(conn, attempt, &customer, None, now).await;
        }
        let issued = tokens::issue(conn, attempt, customer.id, self.settings.session_expires_at(now, now), now).await?;
        announce(conn, attempt, (customer.id, issued.session), now).await?;
        Ok(Opened::Session(Box::new(SignedIn::new(issued, customer))))
    }

    /// The same after a right password. Returns `None` and issues no token if the password hash has been replaced since (even by an
    /// upgrade of the same password) or the account is closed or banned.
    pub(in crate::storefront) async fn sign_in_unless_password_replaced(
        &self,
        conn: &mut Connection,
        attempt: &SignInAttempt<'_>,
        customer: Customer,
        now: DateTime<Utc>,
    ) -> Result<Option<Opened>, Problem> {
        refuse_banned(&customer)?;
        if self.asks_second_factor(conn, attempt, customer.id).await? {
            let mut tx = conn.begin().await?;
            let locked = customers::lock_customer_shared(&mut tx, customer.id).await?;
            let has_password = |now: &Customer| {
                now.password_hash.as_ref().map(HashedPassword::expose) == customer.password_hash.as_ref().map(HashedPassword::expose)
            };
            let Some(locked) = locked.filter(has_password) else { return Ok(None) };
            let pending = self.await_second_factor(&mut tx, attempt, &locked, None, now).await?;
            tx.commit().await?;
            return Ok(Some(pending));
        }
        let expires_at = self.settings.session_expires_at(now, now);
        let issued = match attempt.store.sign_in_events {
            // One statement is a transaction of its own.
            false => tokens::issue_unless_password_replaced(conn, attempt, &customer, expires_at, now).await?,
            true => {
                let mut tx = conn.begin().await?;
                let issued = tokens::issue_unless_password_replaced(&mut tx, attempt, &customer, expires_at, now).await?;
                if let Some(issued) = &issued {
                    announce(&mut tx, attempt, (customer.id, issued.session), now).await?;
                }
                tx.commit().await?;
                issued
            }
        };
        Ok(issued.map(|issued| Opened::Session(Box::new(SignedIn::new(issued, customer)))))
    }
}

/// Publishes the sign-in, if the store wants to know.
async fn announce(
    conn: &mut Connection,
    attempt: &SignInAttempt<'_>,
    (customer, session): (CustomerId, SessionId),
    now: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    if !attempt.store.sign_in_events {
        return Ok(());
    }
    let (method, device, address) = (attempt.method.as_str(), &attempt.client.device(), attempt.client.address);
    let signed_in = SecurityEvent::SignedIn { method, session, device, address };
    customers::publish_security(conn, (attempt.origin(), attempt.store.id), customer, [signed_in], now).await
}

fn refuse_banned(customer: &Customer) -> Result<(), Problem> {
    if customer.banned_at.is_some() { Err(ProblemCode::AccountBanned.into()) } else { Ok(()) }
}

/// The method as metrics count it. Companies name providers of their own as they like, so these are all counted as one.
fn counted_as<'a>(storefront: &Storefront, method: &'a Method) -> &'a str {
    match method {
        Method::Provider(provider) if !storefront.identity_providers.knows(provider) => OWN_PROVIDER,
        method => method.as_str(),
    }
}

/// Runs a sign-in and records a refusal, which the question for the second factor is too. A success is recorded together with its token
/// ([`Storefront::sign_in`]).
///
/// The flow is boxed, so that the large state of its queries is not moved from future to future.
pub async fn audited(
    storefront: &Storefront,
    (attempt, languages): (&SignInAttempt<'_>, &AcceptedLanguages),
    flow: BoxFuture<'_, Result<Opened, Problem>>,
) -> Result<SignedIn, Problem> {
    let (result, customer, outcome) = match flow.await {
        Ok(Opened::Session(signed_in)) => (Ok(*signed_in), None, "signed_in"),
        Ok(Opened::Pending(customer, handle)) => {
            let problem = Problem::new(ProblemCode::SecondFactorRequired).member("second_factor", handle.reveal());
            (Err(problem), Some(customer), "second_factor")
        }
        Err(problem) => (Err(problem), None, "refused"),
    };
    storefront.metrics.tried(counted_as(storefront, &attempt.method), outcome);
    match &result {
        // Boxed, because the flow's caller would otherwise carry the state of all notices.
        Ok(signed_in) => Box::pin(follow_up(storefront, (attempt, languages), signed_in)).await,
        Err(problem) => {
            let now = storefront.clock.now();
            let is_recorded = storefront.refusals.is_recorded(attempt, now);
            let written = async {
                let mut conn = storefront.pool.acquire().await?;
                match is_recorded {
                    true => audit::insert_refusal(&mut conn, attempt, (problem.code(), customer), now).await,
                    false => audit::count_refusal(&mut conn, attempt, problem.code(), now).await,
                }
            };
            if let Err(error) = written.await {
                // The failure to record a refusal does not change the response.
                tracing::error!(error = chain(&error), "a refused sign-in could not be recorded in the audit log");
            }
        }
    }
    result
}

/// What follows a sign-in that has committed: the sessions beyond `storefront.sessions_per_customer` end, and the customer is told of what
/// may be news. After the commit, because only then the last of several parallel sign-ins sees all of them.
async fn follow_up(storefront: &Storefront, (attempt, languages): (&SignInAttempt<'_>, &AcceptedLanguages), signed_in: &SignedIn) {
    let (customer, at) = (&signed_in.customer, storefront.clock.now());
    let device = attempt.client.device();
    let is_new_device = match settle(storefront, (attempt, &device), signed_in, at).await {
        Ok(is_new_device) => is_new_device,
        Err(error) => {
            tracing::error!(error = chain(&error), "what follows a sign-in could not be recorded");
            false
        }
    };
    let mut told = Vec::new();
    if signed_in.used_recovery_code {
        told.push((Notice::RecoveryCodeUsed, String::new()));
    }
    if signed_in.has_new_password {
        told.push((Notice::PasswordChanged, String::new()));
    } else if let Some(provider) = &signed_in.linked {
        told.push((Notice::ProviderLinked, storefront.identity_providers.name_of(provider)));
    } else if is_new_device {
        told.push((Notice::NewSignIn, device));
    }
    for (about, name) in told {
        let particulars = Particulars { code: "", name: &name };
        notices::tell(storefront, customer, Occurrence { store: attempt.store, languages, about, particulars, at }).await;
    }
    if let Err(error) = keep_languages(storefront, signed_in, languages).await {
        tracing::warn!(error = chain(&error), "the language of a customer could not be kept");
    }
}

/// Keeps the languages of the request for later notices, unless they are kept already or the device may be a thief's. To be called after the notices
/// of this sign-in, which are in the languages from before.
async fn keep_languages(
    storefront: &Storefront,
    SignedIn { customer, before, .. }: &SignedIn,
    languages: &AcceptedLanguages,
) -> Result<(), sqlx::Error> {
    match languages.to_keep().filter(|languages| before.on_own_device && before.languages.as_ref() != Some(languages)) {
        Some(languages) => {
            repeated(async || customers::keep_languages(&mut storefront.pool.acquire().await?, customer.id, &languages).await).await
        }
        None => Ok(()),
    }
}

/// Ends surplus sessions and remembers another device. Returns whether it is a new one. Whoever has few sessions and signs in on the same device
/// waits for no further statement.
async fn settle(
    storefront: &Storefront,
    (attempt, device): (&SignInAttempt<'_>, &str),
    SignedIn { customer, session_id, before, .. }: &SignedIn,
    now: DateTime<Utc>,
) -> Result<bool, sqlx::Error> {
    let kept = storefront.settings.sessions_per_customer.get();
    // Also below the limit: parallel sign-ins do not see each other before they commit, and ending one needs to know when each session was used.
    if before.sessions >= i64::from(kept / 2) {
        let mut conn = storefront.pool.acquire().await?;
        tokens::note_closely(&mut conn, customer.id).await?;
        if ending::end_surplus(&mut conn, customer.id, kept, now).await? {
            storefront.caches.invalidate_customer(customer.id);
        }
    }
    match before.on_another_device {
        true => repeated(|| known_devices::remember(storefront, (attempt, device), (customer.id, *session_id), now)).await,
        false => Ok(false),
    }
}
