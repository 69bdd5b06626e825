//! The customer's own links to identity providers: listed, made with an identity token, and removed. A fresh session links and unlinks.

use axum::Json;
use axum::extract::{Path, State};
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::CustomerId;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::identity::{Flaw, Provider, VerifiedIdentity, VerifyError};
use crate::storefront::access::{FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::social::queries::{self, Link, Use};
use crate::storefront::accounts::social::{grants, repeats, trouble};
use crate::storefront::accounts::ways_in;
use crate::storefront::customers::Customer;
use crate::storefront::guessing::Client;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::passkeys;
use crate::storefront::routes::{self, Routes, describe};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;

pub(super) fn routes() -> Routes<Storefront> {
    let listing = describe("List the identity providers that open the account.", listed());
    let unlinking = describe("Remove the links to an identity provider, which then no longer opens the account.", routes::done());
    let unlinking = unlinking.at("name", "The name of the provider, as the list shows it.");
    let unlinking = unlinking.refusing(&[ProblemCode::RecordNotFound, ProblemCode::LastWayIn]);
    Routes::none().get("/customers/providers", listing, list).delete("/customers/providers/{name}", unlinking, unlink)
}

/// The description of a route that links, with a body of this schema.
pub(super) fn linking(body: Value) -> OperationDoc {
    describe("Link an identity of a provider to the account, which it then opens.", listed())
        .taking_body(body)
        .refusing(&[ProblemCode::ProviderNotConfigured, ProblemCode::IdentityNotVerified, ProblemCode::ProviderLinkedElsewhere])
        .refusing(&[ProblemCode::ProviderUnavailable])
}

fn listed() -> Value {
    object([("providers", links_schema())])
}

pub fn links_schema() -> Value {
    let link = object([
        ("provider", json!({ "type": "string" })),
        ("state", json!({ "enum": ["active", "suspended"], "description": "A suspended link signs nobody in until it is linked again." })),
        ("linked_at", json!({ "type": "string", "format": "date-time" })),
    ]);
    json!({ "type": "array", "items": link })
}

/// The links of a customer as responses show them, oldest first.
pub async fn show_links(conn: &mut Connection, customer: CustomerId) -> Result<Value, sqlx::Error> {
    let present = |link: Link| {
        let state = if link.suspended_at.is_some() { "suspended" } else { "active" };
        json!({ "provider": link.provider.replace('_', "-"), "state": state, "linked_at": timestamp(link.linked_at) })
    };
    Ok(queries::list_links(conn, customer).await?.into_iter().map(present).collect())
}

/// `GET customers/providers`
async fn list(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    answer(&storefront, &caller).await
}

async fn answer(storefront: &Storefront, caller: &SignedInCustomer) -> Result<Json<Value>, Problem> {
    Ok(Json(json!({ "providers": show_links(&mut storefront.pool.acquire().await?, caller.customer.id).await? })))
}

/// `POST customers/link-<provider>`: links the person whom the provider identified to the account of the caller.
pub(super) async fn link(
    storefront: &Storefront,
    (caller, client): (&SignedInCustomer, &Client),
    languages: &AcceptedLanguages,
    (provider, verifying): (&Provider, impl Future<Output = Result<VerifiedIdentity, VerifyError>> + Send),
) -> Result<Json<Value>, Problem> {
    let verified = trouble::verified(storefront, (caller.company_id(), provider), verifying).await;
    let identity = repeats::or_repeated(storefront, (caller.store.id, client), verified).await?;
    let (customer, is_new) = repeated(|| link_once(storefront, (caller, client), &identity)).await?;
    if is_new {
        tell(storefront, &customer, (caller, languages), &identity).await;
    }
    answer(storefront, caller).await
}

/// Links the person in one transaction. Returns the customer, and whether the link is new. A token that was used before links nothing, but a link
/// that is there already is what was asked for: the request may have come twice.
async fn link_once(
    storefront: &Storefront,
    (caller, client): (&SignedInCustomer, &Client),
    identity: &VerifiedIdentity,
) -> Result<(Customer, bool), Problem> {
    let (store, now) = (caller.store.id, storefront.clock.now());
    let mut tx = storefront.pool.begin().await?;
    let token_use = match &identity.token {
        Some(token) => queries::use_token(&mut tx, store, token, client, now).await?,
        None => Use::First,
    };
    let customer = caller.lock(&mut tx).await?;
    let is_new = match queries::find_linked(&mut tx, store, identity).await? {
        Some(linked) if linked.customer == customer.id && !linked.is_suspended => false,
        _ if !matches!(token_use, Use::First) => return Err(VerifyError::from(Flaw::Used).into()),
        Some(linked) if linked.customer == customer.id => {
            queries::resume_link(&mut tx, store, identity).await?;
            true
        }
        Some(_) => return Err(ProblemCode::ProviderLinkedElsewhere.into()),
        None if queries::link(&mut tx, store, identity, customer.id, now).await? => true,
        // A parallel sign-in has opened another account with it.
        None => return Err(ProblemCode::ProviderLinkedElsewhere.into()),
    };
    grants::keep(&mut tx, &storefront.application_key, (store, customer.id), identity, now).await?;
    tx.commit().await?;
    Ok((customer, is_new))
}

async fn tell(
    storefront: &Storefront,
    customer: &Customer,
    (caller, languages): (&SignedInCustomer, &AcceptedLanguages),
    identity: &VerifiedIdentity,
) {
    let particulars = Particulars { code: "", name: &storefront.identity_providers.name_of(&identity.provider) };
    let (about, at) = (Notice::ProviderLinked, storefront.clock.now());
    notices::tell(storefront, customer, Occurrence { store: &caller.store, languages, about, particulars, at }).await;
}

/// `DELETE customers/providers/{name}`
async fn unlink(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    Path(name): Path<String>,
) -> Result<Json<Value>, Problem> {
    let word = storefront.identity_providers.word_of(&name);
    // Before there is a transaction: it may take a connection of its own.
    let providers = storefront.company_providers.of(caller.company_id()).await?;
    let now = storefront.clock.now();
    repeated(async || {
        let mut tx = storefront.pool.begin().await?;
        let customer = caller.lock(&mut tx).await?;
        let links = queries::list_links(&mut tx, customer.id).await?;
        if !links.iter().any(|link| link.provider == word) {
            return Err(ProblemCode::RecordNotFound.into());
        }
        let others = links.iter().filter(|link| link.provider != word);
        let has_passkey = passkeys::is_way_in(&mut tx, &caller.store, customer.id).await?;
        if !ways_in::remain(&customer, has_passkey, &providers, others) {
            return Err(Problem::from(ProblemCode::LastWayIn));
        }
        queries::unlink(&mut tx, customer.id, &word).await?;
        grants::end_grants_of(&mut tx, customer.id, &word, now).await?;
        Ok(tx.commit().await?)
    })
    .await?;
    grants::give_back_at_once(&storefront, now).await;
    Ok(Json(json!({ "status": "ok" })))
}
