//! Contact change: a signed-in customer verifies a phone number or an email address. The session has to be fresh. The code is sent to the
//! new contact, which is saved once the code is confirmed. The contacts that were proven before are told.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::contact::{EmailAddress, Identity};
use crate::events::names::CUSTOMER_UPDATED;
use crate::kernel::database::{repeated, violated_constraint};
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::access::{FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::code_body::CodeBody;
use crate::storefront::accounts::own_code::Asking;
use crate::storefront::accounts::take_back::{self, Remembered};
use crate::storefront::audit::ClientInfo;
use crate::storefront::challenges::{ChallengeAnswer, Shown};
use crate::storefront::codes::{self, Issued, Submission, Target, VerifiedCode};
use crate::storefront::customers::{self, ContactChange, Customer, SecurityEvent};
use crate::storefront::messages::{Notice, Particulars};
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::second_factors;
use crate::storefront::sending::notices::{self, Occurrence};
use crate::storefront::sending::{read_number, send_limit};
use crate::storefront::sms_guard::Recipient;
use crate::storefront::state::Storefront;

pub fn routes() -> Routes<Storefront> {
    let asking = |sentence| describe(sentence, routes::sent());
    let saving = |sentence| describe(sentence, routes::own_record()).refusing(codes::CODE_REFUSALS);
    let to_number = asking("Send a verification code to the customer's new phone number.").refusing(&[ProblemCode::PhoneTaken]);
    let to_address = asking("Send a verification code to the customer's new email address.").refusing(&[ProblemCode::EmailTaken]);
    let number =
        saving("Set the phone number that the code was sent to.").refusing(&[ProblemCode::PhoneTaken, ProblemCode::FreshSignInRequired]);
    let address =
        saving("Set the email address that the code was sent to.").refusing(&[ProblemCode::EmailTaken, ProblemCode::FreshSignInRequired]);
    Routes::none()
        .post("/customers/request-phone-verification", to_number.refusing(codes::TEXT_REFUSALS), request_phone)
        .post("/customers/verify-phone-number", number, confirm_phone)
        .post("/customers/request-email-verification", to_address.refusing(codes::MAIL_REFUSALS), request_email)
        .post("/customers/verify-email", address, confirm_email)
}

body! {
    /// `POST customers/request-phone-verification`
    #[derive(Debug)]
    struct PhoneRequest {
        /// The new phone number, with its international prefix.
        phone: String,
    }
}

/// `POST customers/request-phone-verification`
async fn request_phone(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    body: Result<JsonBody<PhoneRequest>, Problem>,
) -> Response {
    let flow = async {
        let number = read_number(&storefront, &caller.store, &body?.0.phone).await?;
        let challenge = storefront.challenges.admit(&caller.store, answer, storefront.clock.now()).await?;
        let asking = Asking { storefront: &storefront, caller: &caller, client: client.client(), languages: &languages, challenge };
        send_code(asking, Identity::Phone(number)).await
    };
    send_limit::limited(&storefront, &caller.store, client.address, flow.boxed()).await
}

body! {
    /// `POST customers/request-email-verification`
    #[derive(Debug)]
    struct EmailRequest {
        /// The new email address.
        email: String,
    }
}

/// `POST customers/request-email-verification`
async fn request_email(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    body: Result<JsonBody<EmailRequest>, Problem>,
) -> Response {
    let challenge = Shown::nothing();
    let asking = Asking { storefront: &storefront, caller: &caller, client: client.client(), languages: &languages, challenge };
    let flow = async { send_code(asking, Identity::Email(read_address(&body?.0.email)?)).await };
    send_limit::limited(&storefront, &caller.store, client.address, flow.boxed()).await
}

/// Reads the address in lower case: the spelling that the code is stored under. The mail goes to that spelling too, so the
/// address that is saved is the address that was proven.
fn read_address(text: &str) -> Result<EmailAddress, Problem> {
    EmailAddress::parse(&text.to_ascii_lowercase()).map_err(|error| FieldErrors::one("email", error.to_string()))
}

async fn send_code(asking: Asking<'_>, identity: Identity) -> Result<Issued, Problem> {
    let Asking { storefront, caller, .. } = asking;
    let (purpose, taken) = match &identity {
        Identity::Phone(_) => (Purpose::VerifyPhone, ProblemCode::PhoneTaken),
        Identity::Email(_) => (Purpose::VerifyEmail, ProblemCode::EmailTaken),
    };
    let owner = customers::find_proven(&mut storefront.pool.acquire().await?, caller.store.id, &identity).await?;
    if owner.as_ref().is_some_and(|owner| owner.id != caller.customer.id) {
        return Err(taken.into());
    }
    let (text, mail) = codes::channels_for(&identity);
    // Who proves their number again is no stranger.
    let text = text.map(|text| if owner.is_some() { Recipient::proven(text.number) } else { text });
    asking.send(purpose, identity, (text, mail)).await
}

/// Requires a fresh session, or a code that was asked for: only a fresh session can ask for one, and the code lives ten minutes however old the
/// session gets meanwhile (interface 1, rule 7).
async fn require_proof(storefront: &Storefront, caller: &SignedInCustomer, purpose: Purpose) -> Result<(), Problem> {
    let Err(stale) = caller.require_fresh(storefront).await else { return Ok(()) };
    let mut conn = storefront.pool.acquire().await?;
    match codes::was_requested_by(&mut conn, caller.store.id, purpose, caller.customer.id).await? {
        true => Ok(()),
        false => Err(stale),
    }
}

/// `POST customers/verify-phone-number`
async fn confirm_phone(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<CodeBody>,
) -> Result<Json<Value>, Problem> {
    let submission = Submission::of(&request.code, &client.client(), caller.store.key_id, None);
    require_proof(&storefront, &caller, Purpose::VerifyPhone).await?;
    save(&storefront, &caller, &languages, Purpose::VerifyPhone, submission).await
}

/// `POST customers/verify-email`
async fn confirm_email(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<CodeBody>,
) -> Result<Json<Value>, Problem> {
    let submission = Submission::of(&request.code, &client.client(), caller.store.key_id, None);
    require_proof(&storefront, &caller, Purpose::VerifyEmail).await?;
    save(&storefront, &caller, &languages, Purpose::VerifyEmail, submission).await
}

/// Saves the phone number or email address that the code was sent to, and responds with the customer. What was begun is finished even if the
/// client disconnects: a thief must not keep the owner from being told.
async fn save(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    languages: &AcceptedLanguages,
    purpose: Purpose,
    submission: Submission<'_>,
) -> Result<Json<Value>, Problem> {
    let verified_code = codes::check(storefront, caller.store.id, purpose, Target::RequestedBy(caller.customer.id), submission).await?;
    let (this, caller, languages) = (storefront.clone(), caller.clone(), languages.clone());
    storefront.lifecycle.finish(async move { change(&this, &caller, &languages, verified_code).await }).await
}

async fn change(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    languages: &AcceptedLanguages,
    verified_code: VerifiedCode,
) -> Result<Json<Value>, Problem> {
    let Changed { customer, notice, at } = repeated(|| set_proven(storefront, caller, &verified_code)).await?;
    if let Some((about, Remembered { code, owner, newcomer })) = notice {
        let code = code.shown();
        let occurrence = |about, code| {
            let particulars = Particulars { code, name: "" };
            Occurrence { store: &caller.store, languages, about, particulars, at }
        };
        notices::tell(storefront, &owner, occurrence(about, code.as_str())).await;
        notices::tell(storefront, &newcomer, occurrence(Notice::ContactChanged, "")).await;
    }
    Ok(Json(json!({ "customer": customer.present() })))
}

/// A number or an address that was proven.
struct Changed {
    customer: Customer,
    /// What the customer is told, if another contact was proven before.
    notice: Option<(Notice, Remembered)>,
    at: DateTime<Utc>,
}

async fn set_proven(storefront: &Storefront, caller: &SignedInCustomer, verified_code: &VerifiedCode) -> Result<Changed, Problem> {
    let identity = Identity::parse(verified_code.identity()).map_err(|_| ProblemCode::Internal)?;
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    customers::lock_claimants(&mut tx, caller.store.id, caller.customer.id, &identity).await?;
    let before = caller.lock(&mut tx).await?;
    verified_code.consume(&mut tx, now).await?;
    // An unused code that was sent to the old number or address must not sign anybody in, nor must one that waits for a second factor.
    codes::forget_open_codes(&mut tx, caller.customer.id).await?;
    second_factors::forget_pending(&mut tx, caller.customer.id).await?;
    let lost = customers::settle_claims(&mut tx, (caller.origin(), caller.store.id), before.id, &identity, now).await?;
    let saved = customers::set_proven(&mut tx, caller.customer.id, &identity, now).await.map_err(refuse_taken)?;
    let customer = saved.ok_or(ProblemCode::CustomerTokenInvalid)?;
    let notice = match changed(&before, &customer) {
        Some(about) => Some((about, take_back::remember(storefront, &mut tx, caller.store.id, &before, now).await?)),
        None => None,
    };
    customers::publish(&mut tx, caller.origin(), CUSTOMER_UPDATED, &customer, now).await?;
    let changes = ContactChange::between(&before, &customer).into_iter().map(SecurityEvent::ContactChanged);
    customers::publish_security(&mut tx, (caller.origin(), caller.store.id), customer.id, changes, now).await?;
    tx.commit().await?;
    storefront.caches.invalidate_losers(lost);
    storefront.caches.invalidate_customer(customer.id);
    Ok(Changed { customer, notice, at: now })
}

/// Which of the proven contacts is another one now.
fn changed(before: &Customer, after: &Customer) -> Option<Notice> {
    if before.proven_email() != after.proven_email() {
        Some(Notice::EmailChanged)
    } else if before.proven_phone() != after.proven_phone() {
        Some(Notice::PhoneChanged)
    } else {
        None
    }
}

/// Maps the constraint violation of two customers who verify the same number or address at the same time. The first one gets it.
pub(super) fn refuse_taken(error: sqlx::Error) -> Problem {
    match violated_constraint(&error) {
        Some("customers_proven_phone") => ProblemCode::PhoneTaken.into(),
        Some("customers_proven_email") => ProblemCode::EmailTaken.into(),
        _ => error.into(),
    }
}
