//! Taking a change back: the owner of a contact that was replaced gets the account back within seven days, with the code of the notice.
//!
//! A change of a proven contact is what a thief does who wants to keep the account. So the contacts from before are told of it with a code,
//! and `contact_changes` keeps what they were. The code restores both contacts, voids every later change, ends all sessions and push
//! devices, removes the password, which may be the thief's, and the passkeys that were added since, and suspends the others and all links to
//! identity providers. It signs nobody in: the owner does that with a code to the restored contact, and then reviews what is left. The restored
//! contacts are told of it, and those that are gone.
//!
//! A contact that came by a change which can still be taken back is told of the next one without a code: a thief whose contact the owner replaces
//! must not take that back.
//!
//! Guesses are counted for one client and network and not for the contact: with 80 bits nobody guesses the code, and a thief could otherwise
//! keep the owner from using it. What cannot be a code is no guess, and neither is a code that has just taken its change back.

mod code;
mod queries;

use axum::Json;
use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use ipnet::IpNet;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::contact::Identity;
use crate::events::Origin;
use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::{ContactChangeId, CustomerId, StoreId};
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::{self, Rule};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::{contact_change, ending, known_devices, review, social};
use crate::storefront::audit::ClientInfo;
use crate::storefront::customers::{self, ContactChange, Contacts, Customer, LostClaims, SecurityEvent};
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::routes::{Routes, body, describe};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;
use crate::storefront::{codes, guessing, passkeys};

pub use code::TakeBackCode;
pub use queries::{forget_changes, forget_changes_of};

/// How long a change can be taken back.
const LASTS: TimeDelta = TimeDelta::days(7);
/// Guesses of one client network in one store.
const GUESSES: Rule = Rule { limit: 10, window: TimeDelta::hours(1) };

pub fn routes() -> Routes<Storefront> {
    let answer = object([("status", json!({ "const": "ok" })), ("review", review::schema())]);
    let doc = describe("Take back a change of contacts with the code of its notice: end all sessions and restore the contacts.", answer);
    let doc = doc.refusing(&[ProblemCode::CodeInvalid, ProblemCode::CodeUsed]);
    let doc = doc.refusing(&[ProblemCode::PhoneTaken, ProblemCode::EmailTaken]);
    Routes::none().post("/customers/take-back", doc, take_back)
}

/// A change that was remembered, and who is told of it.
#[derive(Debug)]
pub struct Remembered {
    /// The code that takes it back.
    pub code: TakeBackCode,
    /// The customer from before the change, with those proven contacts only that get the code.
    pub owner: Customer,
    /// The same with the other contacts, which came by a change that can itself be taken back. They may be a thief's, who must not undo what the
    /// owner does about it.
    pub newcomer: Customer,
}

/// Since when contacts of the customer may be a thief's: the first change that can still be taken back.
pub async fn open_since(conn: &mut Connection, customer: CustomerId, now: DateTime<Utc>) -> Result<Option<DateTime<Utc>>, sqlx::Error> {
    queries::find_first_open_change(conn, customer, now).await
}

/// Remembers a change that was made, in its transaction. If there is nobody to give its code to, nobody can take it back.
pub async fn remember(
    storefront: &Storefront,
    conn: &mut Connection,
    store: StoreId,
    before: &Customer,
    now: DateTime<Utc>,
) -> Result<Remembered, sqlx::Error> {
    let since = queries::find_first_open_change(conn, before.id, now).await?;
    let is_new = |proven_at: &DateTime<Utc>| since.is_some_and(|since| *proven_at >= since);
    let (mut owner, mut newcomer) = (before.clone(), before.clone());
    owner.email_verified_at = before.email_verified_at.filter(|at| !is_new(at));
    owner.phone_verified_at = before.phone_verified_at.filter(|at| !is_new(at));
    newcomer.email_verified_at = before.email_verified_at.filter(is_new);
    newcomer.phone_verified_at = before.phone_verified_at.filter(is_new);

    let (email, phone) = (owner.proven_email().map(|email| email.key()), owner.proven_phone().map(String::from));
    let sent_to: Vec<String> = email.into_iter().chain(phone).collect();
    let code = TakeBackCode::generate();
    if !sent_to.is_empty() {
        let change = queries::NewChange {
            id: ContactChangeId::new(now),
            store,
            before,
            sent_to: &sent_to,
            digest: code.digest(&storefront.application_key),
            expires_at: now + LASTS,
        };
        queries::insert_change(conn, &change, now).await?;
    }
    Ok(Remembered { code, owner, newcomer })
}

body! {
    /// `POST customers/take-back`
    #[derive(Debug)]
    struct TakeBackRequest {
        /// The phone number or email address that the notice came to.
        identity: String,
        /// The code of the notice: sixteen letters and digits, in groups or not.
        code: SecretString,
    }
}

/// `POST customers/take-back`
async fn take_back(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<TakeBackRequest>,
) -> Result<Json<Value>, Problem> {
    let code = TakeBackCode::parse(request.code.expose_secret()).ok_or(ProblemCode::CodeInvalid)?;
    let counted = count_guess(&storefront, store.id, client.address).await?;
    let origin = Origin { company: store.company_id, request: Some(client.request) };
    // To its end even if the client disconnects: whoever loses a contact is told.
    let this = storefront.clone();
    let restoring = async move {
        let restored = repeated(|| restore(&this, &store, origin, (&request.identity, &code))).await;
        if let Err(problem) = &restored
            && problem.code() == ProblemCode::CodeUsed
        {
            rate_limit::refund_network(&mut this.pool.acquire().await?, &counted.bucket, counted.network, counted.at).await?;
        }
        let Restored { contacts, lost, review, at } = restored?;
        for told in [contacts, lost] {
            let (about, particulars) = (Notice::ChangeTakenBack, Particulars::default());
            notices::tell(&this, &told, Occurrence { store: &store, languages: &languages, about, particulars, at }).await;
        }
        Ok(Json(json!({ "status": "ok", "review": review })))
    };
    storefront.lifecycle.finish(restoring).await
}

/// A change that was taken back.
struct Restored {
    /// The customer with the contacts from before the change.
    contacts: Customer,
    /// The customer with those proven contacts only that are gone.
    lost: Customer,
    review: Value,
    at: DateTime<Utc>,
}

/// A guess that was counted.
struct CountedGuess {
    /// What the buckets of the client's networks begin with.
    bucket: String,
    network: IpNet,
    at: DateTime<Utc>,
}

async fn count_guess(storefront: &Storefront, store: StoreId, client: ClientAddress) -> Result<CountedGuess, Problem> {
    let (bucket, network, at) = (format!("take-backs:{store}"), client.network(), storefront.clock.now());
    let status = rate_limit::hit_network(&mut storefront.pool.acquire().await?, &bucket, network, GUESSES, at).await?;
    if status.allowed { Ok(CountedGuess { bucket, network, at }) } else { Err(status.problem()) }
}

async fn restore(
    storefront: &Storefront,
    store: &Store,
    origin: Origin,
    (identity, code): (&str, &TakeBackCode),
) -> Result<Restored, Problem> {
    let identity = Identity::parse(identity).map_err(|_| ProblemCode::CodeInvalid)?.key();
    let (digests, now) = (code.digests(&storefront.application_key), storefront.clock.now());
    let mut tx = storefront.pool.begin().await?;
    let found = queries::find_change(&mut tx, store.id, &digests, &identity, now).await?;
    let change = found.ok_or(ProblemCode::CodeInvalid)?;
    if change.is_taken_back {
        return Err(ProblemCode::CodeUsed.into());
    }
    let id = change.customer;
    customers::lock_claimants_of(&mut tx, store.id, id, &change.before).await?;
    let mut lost_contacts = customers::find_customer(&mut tx, store.id, id).await?.ok_or(ProblemCode::CodeInvalid)?;
    if !queries::consume_change(&mut tx, &change, now).await? {
        return Err(ProblemCode::CodeUsed.into());
    }
    let lost = settle_claims(&mut tx, (origin, store.id), (id, &change.before), now).await?;
    let restored = customers::restore_contacts(&mut tx, id, &change.before, now).await.map_err(contact_change::refuse_taken)?;
    let customer = restored.ok_or(ProblemCode::CodeInvalid)?;
    customers::remove_password(&mut tx, id).await?;
    ending::end_all(&mut tx, id, now).await?;
    social::suspend_links(&mut tx, id, now).await?;
    passkeys::remove_added_since(&mut tx, id, change.changed_at).await?;
    passkeys::suspend_passkeys(&mut tx, id, now).await?;
    guessing::forget_clients(&mut tx, id).await?;
    known_devices::forget_known_devices(&mut tx, id).await?;
    // An unused code that was sent to a contact of the thief must not sign anybody in.
    codes::forget_open_codes(&mut tx, id).await?;
    customers::publish(&mut tx, origin, CUSTOMER_UPDATED, &customer, now).await?;
    let changes = ContactChange::taken_back(&lost_contacts, &customer).into_iter().map(SecurityEvent::ContactChanged);
    customers::publish_security(&mut tx, (origin, store.id), id, changes, now).await?;
    let review = review::of(&mut tx, &customer).await?;
    tx.commit().await?;
    storefront.caches.invalidate_losers(lost);
    storefront.caches.invalidate_customer(id);
    if lost_contacts.proven_email() == customer.proven_email() {
        lost_contacts.email_verified_at = None;
    }
    if lost_contacts.proven_phone() == customer.proven_phone() {
        lost_contacts.phone_verified_at = None;
    }
    Ok(Restored { contacts: customer, lost: lost_contacts, review, at: now })
}

/// Whoever merely claims a contact that belongs to the account again loses it.
async fn settle_claims(
    conn: &mut Connection,
    store: (Origin, StoreId),
    (owner, contacts): (CustomerId, &Contacts),
    now: DateTime<Utc>,
) -> Result<LostClaims, sqlx::Error> {
    let mut lost = Vec::new();
    for identity in contacts.proven() {
        lost.push(customers::settle_claims(conn, store, owner, &identity, now).await?);
    }
    Ok(lost.into_iter().collect())
}
