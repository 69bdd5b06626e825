//! Account closure: a code confirms the closure; then every session, device, provider link and code of the account is deleted or
//! revoked. The personal fields are blanked later (`storefront.erase_after`).

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::contact::Identity;
use crate::events::Origin;
use crate::events::names::CUSTOMER_CLOSED;
use crate::kernel::database::Connection;
use crate::kernel::ids::CustomerId;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::code_body::CodeBody;
use crate::storefront::accounts::{devices, social};
use crate::storefront::audit::ClientInfo;
use crate::storefront::codes::{self, Asker, IssueRequest, Issued, Submission, Target};
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Routes, describe};
use crate::storefront::sending::send_limit;
use crate::storefront::sending::sms_guard::Recipient;
use crate::storefront::state::Storefront;
use crate::storefront::tokens::revoke_all_tokens;
use crate::storefront::{customers, guessing};

pub fn routes() -> Routes<Storefront> {
    let asking = describe("Send a verification code to close the account with.", routes::sent());
    let asking = asking.refusing(&[ProblemCode::ContactMissing]).refusing(codes::TEXT_REFUSALS);
    let closing = describe("Close the account with a verification code.", routes::done()).refusing(codes::CODE_REFUSALS);
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
    let asker = Asker::new(&client.client(), caller.store.key_id);
    let flow = send_code(&storefront, &caller, asker, &languages);
    send_limit::limited(&storefront, &caller.store, client.address, flow.boxed()).await
}

async fn send_code(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    asker: Asker,
    languages: &AcceptedLanguages,
) -> Result<Issued, Problem> {
    let (phone, email) = (caller.customer.proven_phone(), caller.customer.proven_email());
    let identity = phone.clone().map(Identity::Phone).or_else(|| email.clone().map(Identity::Email)).ok_or(ProblemCode::ContactMissing)?;
    let issue_request = IssueRequest {
        store: &caller.store,
        purpose: Purpose::CloseAccount,
        asker,
        languages,
        identity: &identity,
        requested_by: Some(caller.customer.id),
        customer: Some(caller.customer.id),
        text: phone.map(Recipient::of),
        mail: email,
    };
    Ok(codes::issue(storefront, issue_request).await?)
}

/// `POST customers/confirm-account-closure`
async fn confirm(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    JsonBody(request): JsonBody<CodeBody>,
) -> Result<Json<Value>, Problem> {
    close(&storefront, &caller, Submission::of(&request.code, &client.client(), caller.store.key_id, None)).await?;
    Ok(Json(json!({ "status": "ok" })))
}

async fn close(storefront: &Storefront, caller: &SignedInCustomer, submission: Submission<'_>) -> Result<(), Problem> {
    let id = caller.customer.id;
    let verified_code = codes::check(storefront, caller.store.id, Purpose::CloseAccount, Target::RequestedBy(id), submission).await?;

    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    // Locks the account before its codes. All flows use this order, so they cannot deadlock.
    customers::lock_customer(&mut tx, id).await?.ok_or(ProblemCode::CustomerTokenInvalid)?;
    verified_code.consume(&mut tx, now).await?;
    if !close_account(&mut tx, caller.origin(), id, now).await? {
        return Err(ProblemCode::CustomerTokenInvalid.into());
    }
    tx.commit().await?;
    storefront.caches.invalidate_customer(id);
    Ok(())
}

/// Closes an account that the caller has locked, with all that opens it, and publishes it. Returns `false` if it is closed already.
pub async fn close_account(conn: &mut Connection, origin: Origin, id: CustomerId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let Some(customer) = customers::close_customer(conn, id, now).await? else { return Ok(false) };
    revoke_all_tokens(conn, id, now).await?;
    devices::forget_devices(conn, id).await?;
    social::forget_links(conn, id).await?;
    codes::forget_codes(conn, id).await?;
    guessing::forget_clients(conn, id).await?;
    customers::publish(conn, origin, CUSTOMER_CLOSED, &customer, now).await?;
    Ok(true)
}
