//! Change of the password by a signed-in customer, who knows the old one or has a fresh session. Every other session ends with its push
//! devices; links to identity providers stay, because who asks has proven to be the customer, and the answer lists them for review.

use axum::Json;
use axum::extract::State;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::kernel::database::repeated;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::password_hashing::HashedPassword;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::{ending, new_password, own_password, review};
use crate::storefront::audit::ClientInfo;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::routes::{Body, Routes, body, describe};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::state::Storefront;
use crate::storefront::{codes, customers, guessing, passwords};

pub fn routes() -> Routes<Storefront> {
    let answer = object([("status", json!({ "const": "ok" })), ("review", review::schema())]);
    let doc = describe("Change the password with the old one or in a fresh session, and end all other sessions.", answer);
    let doc = doc.taking_body(ChangeRequest::schema()).restricting("password", passwords::length());
    let doc = doc.refusing(&[ProblemCode::FreshSignInRequired]).refusing(own_password::REFUSALS);
    Routes::none().post("/customers/change-password", doc, change)
}

body! {
    /// `POST customers/change-password`
    #[derive(Debug)]
    struct ChangeRequest {
        /// The password so far. Not needed in a fresh session.
        old_password: Option<SecretString>,
        /// The new password: 8 to 256 characters, neither one of the most common passwords nor one that was found in a breach.
        password: SecretString,
    }
}

/// `POST customers/change-password`
async fn change(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<ChangeRequest>,
) -> Result<Json<Value>, Problem> {
    match &request.old_password {
        Some(old) => {
            caller.require_fresh_of_two_factors(&storefront).await?;
            own_password::confirm(&storefront, &caller, client.client(), old).await?;
        }
        None => caller.require_fresh(&storefront).await?,
    }
    let password = new_password::accept(&storefront, caller.store.id, &request.password).await?;
    let hash = storefront.reserve_hashing(caller.store.id, &client.client())?.hash(password).await;
    // To its end even if the client disconnects: a thief must not keep the owner from being told.
    let this = storefront.clone();
    let saving = async move {
        let review = repeated(|| save(&this, &caller, &hash)).await?;
        let (about, particulars, at) = (Notice::PasswordChanged, Particulars::default(), this.clock.now());
        let occurrence = Occurrence { store: &caller.store, languages: &languages, about, particulars, at };
        notices::tell(&this, &caller.customer, occurrence).await;
        Ok(Json(json!({ "status": "ok", "review": review })))
    };
    storefront.lifecycle.finish(saving).await
}

async fn save(storefront: &Storefront, caller: &SignedInCustomer, hash: &HashedPassword) -> Result<Value, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    let customer = caller.lock(&mut tx).await?;
    customers::reset_password(&mut tx, customer.id, hash).await?;
    ending::end_others(&mut tx, customer.id, caller.session, now).await?;
    guessing::forget_clients(&mut tx, customer.id).await?;
    codes::forget_open_codes(&mut tx, customer.id).await?;
    let review = review::of(&mut tx, &customer).await?;
    tx.commit().await?;
    storefront.caches.invalidate_customer(customer.id);
    Ok(review)
}
