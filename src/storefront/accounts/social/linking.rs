//! From an identity at a provider to an account of this store: the linked one, that of the customer who has proven the address, or a new one.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::contact::{EmailAddress, Identity};
use crate::kernel::crypto::sha256;
use crate::kernel::database::{Connection, Transaction, repeated, violated_constraint};
use crate::kernel::ids::{CustomerId, StoreId};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::providers::identity::{Flaw, PresentedToken, VerifiedIdentity, VerifyError};
use crate::storefront::accounts::signed_in::Opened;
use crate::storefront::accounts::social::grants;
use crate::storefront::accounts::social::queries::{self, Use};
use crate::storefront::audit::SignInAttempt;
use crate::storefront::codes;
use crate::storefront::customers::{self, Customer, LostClaims, NewCustomer, Profile};
use crate::storefront::purpose::CODE_LIFETIME;
use crate::storefront::registration_hooks::StoreHook;
use crate::storefront::second_factors;
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;
use crate::storefront::tokens;

/// How often a sign-in is tried, if a parallel one was faster or a link was deleted. A retry finds what the parallel one has committed.
const MAX_ATTEMPTS: u32 = 4;
/// How often a registration hook is asked about one person: as often as about whoever has a code.
const QUESTIONS: Rule = Rule { limit: codes::MAX_GUESSES.unsigned_abs(), window: CODE_LIFETIME };

/// The optional details of a new customer, as the request has them. They are read when an account is opened: to a customer who has one they
/// mean nothing, not even if they are wrong.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
}

impl Typed {
    fn parse(&self) -> Result<(Option<String>, Option<EmailAddress>), Problem> {
        let mut errors = FieldErrors::default();
        let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
        let name = given(&self.name).and_then(|name| errors.check("name", customers::parse_name(&name)));
        let email = given(&self.email).and_then(|email| errors.check("email", EmailAddress::parse(&email)));
        errors.finish()?;
        Ok((name, email))
    }
}

/// Signs in the person with this identity. Opens an account if there is none yet.
pub(super) async fn sign_in(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    identity: VerifiedIdentity,
    typed: Typed,
) -> Result<Opened, Problem> {
    let mut may_open = false;
    for _ in 0..MAX_ATTEMPTS {
        match repeated(|| try_to_sign_in(storefront, attempt, &identity, (&typed, may_open))).await? {
            Tried::Opened(opened) => return Ok(opened),
            Tried::Overtaken => {}
            Tried::Unasked(hook, newcomer) => {
                ask(storefront, attempt, &identity, (&hook, &newcomer)).await?;
                may_open = true;
            }
        }
    }
    Err(ProblemCode::Overloaded.into())
}

/// What became of a sign-in.
enum Tried {
    Opened(Opened),
    /// A parallel one has linked the subject, deleted the link or proven the address in the meantime. Nothing was changed.
    Overtaken,
    /// It opens an account, about which this hook has to be asked first. Nothing was changed.
    Unasked(Arc<StoreHook>, Box<NewCustomer>),
}

/// Asks whether somebody may register. Unlike a code, a proof of a provider is not used up by questions, so the questions about one person are
/// limited.
async fn ask(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    identity: &VerifiedIdentity,
    (hook, newcomer): (&StoreHook, &NewCustomer),
) -> Result<(), Problem> {
    let person = hex::encode(sha256(format!("{} {}", identity.provider.as_str(), identity.subject.as_str())));
    let bucket = format!("registrations:{}:{person}", attempt.store.id);
    let status = rate_limit::hit(&mut storefront.pool.acquire().await?, &bucket, QUESTIONS, storefront.clock.now()).await?;
    if !status.allowed {
        return Err(status.problem());
    }
    Ok(storefront.registration_hooks.ask(hook, attempt, newcomer).await?)
}

/// Tries the sign-in in one transaction. A token that was used before is refused like one that is not verified, unless it is [repeated](Use).
async fn try_to_sign_in(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    identity: &VerifiedIdentity,
    (typed, may_open): (&Typed, bool),
) -> Result<Tried, Problem> {
    let (store, now) = (attempt.store, storefront.clock.now());
    let mut tx = storefront.pool.begin().await?;
    // Before any lock is taken: parallel requests with the same token wait here. A rollback undoes it if the sign-in fails.
    let token_use = match &identity.token {
        Some(token) => queries::use_token(&mut tx, store.id, token, &attempt.client.client(), now).await?,
        None => Use::First,
    };
    if !may_be_used(&mut tx, attempt, token_use, now).await? {
        return Err(VerifyError::from(Flaw::Used).into());
    }
    let token_use = (identity.token.as_ref(), token_use);
    let linked = queries::find_linked(&mut tx, store.id, identity).await?;
    let is_linked_now = linked.is_none();
    let found = match linked {
        Some(linked) => customers::lock_customer_shared(&mut tx, linked.customer).await?.map(|customer| (customer, None)),
        None => match find_or_open(storefront, &mut tx, (attempt, identity), (typed, may_open), now).await? {
            Found::Account(owner, None) if storefront.asks_second_factor(&mut tx, attempt, owner.id).await? => {
                let pending = storefront.await_second_factor(&mut tx, attempt, &owner, None, now).await?;
                return Ok(Tried::Opened(commit(tx, store.id, token_use, pending).await?));
            }
            Found::Account(customer, lost) if queries::link(&mut tx, store.id, identity, customer.id, now).await? => {
                Some((*customer, lost))
            }
            Found::Account(..) | Found::Overtaken => None,
            Found::Unasked(hook, newcomer) => {
                tx.rollback().await?;
                return Ok(Tried::Unasked(hook, newcomer));
            }
        },
    };
    let Some((customer, lost)) = found else { return Ok(Tried::Overtaken) };
    // The account is locked now. A password reset that committed before has suspended the link.
    match queries::find_linked(&mut tx, store.id, identity).await?.filter(|linked| linked.customer == customer.id) {
        None => return Ok(Tried::Overtaken),
        Some(linked) if !linked.is_suspended => {}
        Some(_) if vouches_for(identity, &customer) => {
            if !storefront.asks_second_factor(&mut tx, attempt, customer.id).await? {
                queries::resume_link(&mut tx, store.id, identity).await?;
            }
        }
        Some(_) => return Err(ProblemCode::ProviderLinkSuspended.into()),
    }
    let is_new = lost.is_some();
    grants::keep(&mut tx, &storefront.application_key, (store.id, customer.id), identity, now).await?;
    let opened = storefront.sign_in(&mut tx, attempt, customer, now).await?;
    let opened = commit(tx, store.id, token_use, opened).await?;
    if let Some(lost) = lost {
        storefront.caches.invalidate_losers(lost);
    }
    let linked = (is_linked_now && !is_new).then(|| identity.provider.clone());
    Ok(Tried::Opened(opened.with(|signed_in| signed_in.linked = linked)))
}

/// Whether a token may be used: for the first time, or again as long as what it has opened lasts.
async fn may_be_used(conn: &mut Connection, attempt: &SignInAttempt<'_>, token_use: Use, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    match token_use {
        Use::First => Ok(true),
        Use::Repeated { customer, session: Some(session) } => tokens::is_signed_in(conn, customer, session, now).await,
        Use::Repeated { customer, session: None } => {
            let app = second_factors::app_of(attempt.store.key_id, attempt.client.user_agent.as_deref());
            second_factors::is_pending(conn, customer, app, now).await
        }
        Use::Spent => Ok(false),
    }
}

/// Commits a sign-in, with what its token has opened. A repeated one opens nothing more than it did: the same account, and no session if the first
/// sign-in had to wait for the second factor.
async fn commit(
    mut tx: Transaction<'static>,
    store: StoreId,
    (token, token_use): (Option<&PresentedToken>, Use),
    opened: Opened,
) -> Result<Opened, Problem> {
    let (customer, session) = match &opened {
        Opened::Session(signed_in) => (signed_in.customer.id, Some(signed_in.session)),
        Opened::Pending(customer, _) => (*customer, None),
    };
    match (token_use, token) {
        (Use::First, Some(token)) => queries::note_sign_in(&mut tx, store, token, (customer, session)).await?,
        (Use::Repeated { customer: first, session: of_first }, _) if first != customer || of_first.is_none() && session.is_some() => {
            return Err(VerifyError::from(Flaw::Used).into());
        }
        _ => {}
    }
    tx.commit().await?;
    Ok(opened)
}

/// The account of somebody whose subject is not linked yet.
enum Found {
    /// It is locked. One that was opened has taken these claims.
    Account(Box<Customer>, Option<LostClaims>),
    /// The address was proven or given up in the meantime.
    Overtaken,
    /// There is none, and this hook has to be asked before there is.
    Unasked(Arc<StoreHook>, Box<NewCustomer>),
}

/// Returns the account of the customer who has proven the address which the provider vouches for, or opens a new one.
async fn find_or_open(
    storefront: &Storefront,
    tx: &mut Connection,
    (attempt, identity): (&SignInAttempt<'_>, &VerifiedIdentity),
    (typed, may_open): (&Typed, bool),
    now: DateTime<Utc>,
) -> Result<Found, Problem> {
    let store = attempt.store;
    if let Some(email) = identity.vouched_email()
        && let Some(owner) = customers::find_proven(tx, store.id, &Identity::Email(email.clone())).await?
        // One for tests has proven nothing, and gives the address up to the account that is opened.
        && !customers::is_test(tx, owner.id).await?
    {
        let owner = customers::lock_customer_shared(tx, owner.id).await?;
        let owner = owner.filter(|owner| vouches_for(identity, owner));
        return Ok(owner.map_or(Found::Overtaken, |owner| Found::Account(Box::new(owner), None)));
    }
    let newcomer = newcomer(store, identity, typed, now)?;
    if !may_open && let Some(hook) = storefront.registration_hooks.of(tx, store).await? {
        return Ok(Found::Unasked(hook, Box::new(newcomer)));
    }
    match customers::open_account(tx, attempt.origin(), &newcomer, now).await {
        Err(error) if violated_constraint(&error) == Some("customers_proven_email") => Ok(Found::Overtaken),
        Err(error) => Err(error.into()),
        Ok((customer, lost)) => Ok(Found::Account(Box::new(customer), Some(lost))),
    }
}

/// Whether the provider vouches for the address that the customer has proven.
fn vouches_for(identity: &VerifiedIdentity, customer: &Customer) -> bool {
    identity.vouched_email().zip(customer.proven_email()).is_some_and(|(vouched, own)| vouched.key() == own.key())
}

/// The details of a new account. The name is empty until the customer sets one if neither the app nor the provider supplies a
/// name.
fn newcomer(store: &Store, identity: &VerifiedIdentity, typed: &Typed, now: DateTime<Utc>) -> Result<NewCustomer, Problem> {
    let (name, email) = typed.parse()?;
    let name_of_the_token = || identity.name.as_deref().and_then(|name| customers::parse_name(name).ok());
    Ok(NewCustomer {
        id: CustomerId::new(now),
        store: store.id,
        name: name.or_else(name_of_the_token).unwrap_or_default(),
        email: identity.email.clone().or(email),
        email_is_proven: identity.vouched_email().is_some(),
        phone: None,
        phone_is_proven: false,
        password_hash: None,
        test_identity: None,
        profile: Profile::default(),
    })
}
