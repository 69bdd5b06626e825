//! Verifying a number after registration: the code goes to the new number, which is saved only once the code comes back.

use axum::Json as Answer;
use axum::extract::State;
use axum::response::Response;
use futures::FutureExt;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::contact::{Identity, PhoneNumber};
use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::database::violated_constraint;
use crate::kernel::json::Json;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::codes::{self, CodeRequest, Method, Order, Purpose, SubmittedCode, Target};
use crate::storefront::customers::{self, Customer};
use crate::storefront::messages::AcceptedLanguages;
use crate::storefront::texts::{self, Recipient};
use crate::storefront::tokens::SignedInCustomer;
use crate::storefront::{Storefront, sending};

/// `POST customers/request-phone-verification`
#[derive(Debug, Deserialize)]
pub(super) struct PhoneRequest {
    phone: String,
}

/// `POST customers/request-phone-verification`
pub(super) async fn request(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientAddress,
    languages: AcceptedLanguages,
    body: Result<Json<PhoneRequest>, Problem>,
) -> Response {
    let flow = async { send_code(&storefront, &caller, &languages, &body?.0.phone).await };
    sending::limited(&storefront, &caller.store, client, flow.boxed()).await
}

async fn send_code(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    languages: &AcceptedLanguages,
    phone: &str,
) -> Result<Method, Problem> {
    let number = texts::read_number(storefront, caller.store.id, phone).await?;
    let identity = Identity::Phone(number.clone());
    let owner = customers::find_proven(&mut *storefront.pool.acquire().await?, caller.store.id, &identity).await?;
    if owner.is_some_and(|owner| owner.id != caller.customer.id) {
        return Err(ProblemCode::PhoneTaken.into());
    }
    let order = Order {
        store: &caller.store,
        purpose: Purpose::VerifyPhone,
        languages,
        identity: &identity,
        requested_by: Some(caller.customer.id),
        customer: Some(caller.customer.id),
        text: Some(Recipient::of(number)),
        mail: None,
    };
    Ok(codes::issue(storefront, order).await?)
}

/// `POST customers/verify-phone-number`
pub(super) async fn confirm(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    Json(request): Json<CodeRequest>,
) -> Result<Answer<Value>, Problem> {
    let customer = save_number(&storefront, &caller, request.code.as_ref()).await?;
    Ok(Answer(json!({ "customer": customer.present() })))
}

async fn save_number(storefront: &Storefront, caller: &SignedInCustomer, code: Option<&SubmittedCode>) -> Result<Customer, Problem> {
    let target = Target::RequestedBy(caller.customer.id);
    let right = codes::check(storefront, caller.store.id, Purpose::VerifyPhone, target, code).await?;
    let number = PhoneNumber::parse(right.identity()).map_err(|_| ProblemCode::Internal)?;

    let (now, identity) = (storefront.clock.now(), Identity::Phone(number.clone()));
    let mut tx = storefront.pool.begin().await?;
    customers::lock_claimants(&mut tx, caller.store.id, caller.customer.id, &identity).await?;
    right.consume(&mut tx, now).await?;
    // A code on its way to the number the customer is leaving must let nobody in who reads it there.
    codes::forget_open_codes(&mut tx, caller.customer.id).await?;
    let saved = customers::set_phone(&mut tx, caller.customer.id, &number, now).await.map_err(refuse_taken)?;
    let customer = saved.ok_or(ProblemCode::CustomerTokenInvalid)?;
    let lost = customers::settle_claims(&mut tx, (caller.store.company_id, caller.store.id), customer.id, &identity, now).await?;
    customers::publish(&mut tx, caller.store.company_id, CUSTOMER_UPDATED, &customer, now).await?;
    tx.commit().await?;
    lost.forget(&storefront.recent);
    storefront.recent.forget_customer(customer.id);
    Ok(customer)
}

/// Two customers verified one number at once: it belongs to the first.
fn refuse_taken(error: sqlx::Error) -> Problem {
    match violated_constraint(&error) {
        Some("customers_proven_phone") => ProblemCode::PhoneTaken.into(),
        _ => error.into(),
    }
}
