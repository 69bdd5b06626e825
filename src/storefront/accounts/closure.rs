//! Account closure: a code to a contact that was proven before confirms the closure, and is the proof that a stolen token lacks, so the
//! session need not be fresh; then every session, device, provider link and code of the account is deleted or
//! revoked. The personal fields are blanked later (`storefront.erase_after`).
//!
//! An account may have no proven contact: it is known by a provider, a passkey or a password alone. No code can be sent then, and a fresh
//! session is the proof. So every account can be closed by its customer.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::events::Origin;
use crate::events::names::CUSTOMER_CLOSED;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::ids::CustomerId;
use crate::kernel::json::JsonOptions;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::own_code::Asking;
use crate::storefront::accounts::{ending, known_devices, social, take_back};
use crate::storefront::audit::ClientInfo;
use crate::storefront::challenges::Shown;
use crate::storefront::codes::{self, CheckError, Issued, Submission, SubmittedCode, Target, VerifiedCode};
use crate::storefront::guessing::Client;
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::sending::send_limit;
use crate::storefront::state::Storefront;
use crate::storefront::{customers, guessing, passkeys, second_factors};

pub fn routes() -> Routes<Storefront> {
    let way = json!({
        "enum": ["sms", "email", "sign_in"],
        "description": "How the code was sent. `sign_in`: nothing is proven that a code could be sent to, and the fresh session is the proof.",
    });
    let asked = object([("status", json!({ "const": "ok" })), ("method", way)]);
    let asking = describe("Send a verification code to close the account with.", asked);
    let asking = asking
        .refusing(&[ProblemCode::ContactsTooNew, ProblemCode::FreshSignInRequired])
        .refusing(codes::TEXT_REFUSALS)
        .refusing(codes::MAIL_REFUSALS);
    let closing = describe("Close the account with a verification code, or in a fresh session if no contact is proven.", routes::done())
        .refusing(codes::CODE_REFUSALS);
    let closing = closing.refusing(&[ProblemCode::FreshSignInRequired]);
    let routes = Routes::none().post("/customers/account-closure", asking, request);
    routes.post("/customers/confirm-account-closure", closing, confirm)
}

/// `POST customers/account-closure`
async fn request(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
) -> Response {
    let flow = ask(Asking {
        storefront: &storefront,
        caller: &caller,
        client: client.client(),
        languages: &languages,
        challenge: Shown::nothing(),
    });
    send_limit::limited(&storefront, &caller.store, client.address, flow.boxed()).await
}

/// How the customer confirms the closure.
enum Asked {
    ByCode(Issued),
    /// Without anything proven, in a fresh session.
    BySignIn,
}

impl IntoResponse for Asked {
    fn into_response(self) -> Response {
        match self {
            Self::ByCode(issued) => issued.into_response(),
            Self::BySignIn => Json(json!({ "status": "ok", "method": "sign_in" })).into_response(),
        }
    }
}

async fn ask(asking: Asking<'_>) -> Result<Asked, Problem> {
    let Asking { storefront, caller, .. } = asking;
    if !caller.customer.has_proven_contact() {
        caller.require_fresh(storefront).await?;
        return Ok(Asked::BySignIn);
    }
    caller.require_fresh_of_two_factors(storefront).await?;
    // Not to a contact that came by a change which can still be taken back: a thief would end the account, and the owner's way back with it.
    let since = take_back::open_since(&mut storefront.pool.acquire().await?, caller.customer.id, storefront.clock.now()).await?;
    let is_older = |proven_at: Option<DateTime<Utc>>| proven_at.zip(since).is_none_or(|(proven_at, since)| proven_at < since);
    let phone = caller.customer.proven_phone().filter(|_| is_older(caller.customer.phone_verified_at));
    let email = caller.customer.proven_email().filter(|_| is_older(caller.customer.email_verified_at));
    if phone.is_none() && email.is_none() {
        return Err(ProblemCode::ContactsTooNew.into());
    }
    asking.send_to_proven(Purpose::CloseAccount, phone, email).await.map(Asked::ByCode)
}

body! {
    /// `POST customers/confirm-account-closure`
    #[derive(Debug, Default)]
    struct Confirmation {
        /// The verification code: six digits. Not needed if the answer to the request was `sign_in`.
        #[serde(default)]
        code: SubmittedCode,
    }
}

/// `POST customers/confirm-account-closure`
async fn confirm(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonOptions(request): JsonOptions<Confirmation>,
) -> Result<Json<Value>, Problem> {
    let verified_code = verify(&storefront, &caller, client.client(), request.code).await?;
    // To its end even if the client disconnects: a thief must not keep the owner from being told.
    let this = storefront.clone();
    let closing = async move {
        let at = repeated(|| close(&this, &caller, verified_code.as_ref())).await?;
        let (about, particulars) = (Notice::AccountClosed, Particulars::default());
        let occurrence = Occurrence { store: &caller.store, languages: &languages, about, particulars, at };
        notices::tell(&this, &caller.customer, occurrence).await;
        social::give_back_at_once(&this, at).await;
        Ok(Json(json!({ "status": "ok" })))
    };
    storefront.lifecycle.finish(closing).await
}

/// Verifies that the customer wants it: by the code, or by the fresh session of one who can get none.
async fn verify(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    client: Client,
    code: SubmittedCode,
) -> Result<Option<VerifiedCode>, Problem> {
    if matches!(code, SubmittedCode::Missing) && !caller.customer.has_proven_contact() {
        caller.require_fresh(storefront).await?;
        return Ok(None);
    }
    caller.require_fresh_of_two_factors(storefront).await?;
    let (submission, target) = (Submission::of(&code, &client, caller.store.key_id, None), Target::RequestedBy(caller.customer.id));
    Ok(Some(codes::check(storefront, caller.store.id, Purpose::CloseAccount, target, submission).await?))
}

/// Closes the account and returns when that was. What is logged of the notice is of the same instant, and is erased with the account.
async fn close(storefront: &Storefront, caller: &SignedInCustomer, verified_code: Option<&VerifiedCode>) -> Result<DateTime<Utc>, Problem> {
    let (id, now) = (caller.customer.id, storefront.clock.now());
    let mut tx = storefront.pool.begin().await?;
    // Locks the account before its codes. All flows use this order, so they cannot deadlock.
    let customer = caller.lock(&mut tx).await?;
    match verified_code {
        Some(verified_code) => verified_code.consume(&mut tx, now).await?,
        // A contact was proven meanwhile, in another session: now a code can be sent.
        None if customer.has_proven_contact() => return Err(CheckError::Missing.into()),
        None => {}
    }
    if !close_account(&mut tx, caller.origin(), id, now).await? {
        return Err(ProblemCode::CustomerTokenInvalid.into());
    }
    tx.commit().await?;
    storefront.caches.invalidate_customer(id);
    Ok(now)
}

/// Closes an account that the caller has locked, with all that opens it, and publishes it. Returns `false` if it is closed already.
pub async fn close_account(conn: &mut Connection, origin: Origin, id: CustomerId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let Some(customer) = customers::close_customer(conn, id, now).await? else { return Ok(false) };
    ending::end_all(conn, id, now).await?;
    social::forget_links(conn, id).await?;
    social::end_grants(conn, id, now).await?;
    passkeys::forget_passkeys(conn, id).await?;
    take_back::forget_changes_of(conn, id).await?;
    known_devices::forget_known_devices(conn, id).await?;
    codes::forget_codes_of_closed(conn, id).await?;
    second_factors::forget(conn, id).await?;
    guessing::forget_clients(conn, id).await?;
    customers::publish(conn, origin, CUSTOMER_CLOSED, &customer, now).await?;
    Ok(true)
}
