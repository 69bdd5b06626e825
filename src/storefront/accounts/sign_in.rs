//! Sign-in with a code, or with an identity and a password.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::Value;

use crate::contact::{EmailAddress, Identity};
use crate::kernel::client_address::ClientAddress;
use crate::kernel::json::JsonBody;
use crate::kernel::password_hashing::{Comparison, HashingPlace};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::signed_in::{SignedIn, audited};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::codes::{self, IssueRequest, SubmittedCode, Target};
use crate::storefront::customers::{self, Customer};
use crate::storefront::messages::AcceptedLanguages;
use crate::storefront::passwords;
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Body, Routes, body, describe};
use crate::storefront::sending::{Channel, read_number, send_limit};
use crate::storefront::sms_guard::{Recipient, Standing};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// The number of times a password is compared. A second comparison is needed if the stored hash was replaced in the meantime: a
/// parallel sign-in may have upgraded the hash of the same password.
const MAX_COMPARISONS: usize = 2;

pub fn routes() -> Routes<Storefront> {
    let asking = describe("Send a verification code to sign in with.", routes::sent())
        .refusing(&[ProblemCode::CustomerNotFound])
        .refusing(codes::TEXT_REFUSALS)
        .refusing(codes::MAIL_REFUSALS)
        .taking_body(SmsLoginRequest::schema())
        .needing_one_of(&["phone", "identity"]);
    let by_code = describe("Sign in with a verification code.", routes::login()).refusing(codes::CODE_REFUSALS);
    let by_code = by_code.refusing(&[ProblemCode::AccountBanned]);
    let wrong_password =
        [ProblemCode::CredentialsInvalid, ProblemCode::PasswordAttemptsExceeded, ProblemCode::AccountBanned, ProblemCode::Overloaded];
    let by_password = describe("Sign in with identity and password.", routes::login()).refusing(&wrong_password);
    Routes::none().post("/customers/login-with-sms", asking, login_with_sms).post("/customers/verify-code", by_code, verify_code).post(
        "/customers/login",
        by_password,
        login,
    )
}

body! {
    /// `POST customers/login-with-sms`
    #[derive(Debug)]
    struct SmsLoginRequest {
        /// The phone number that receives the code. Either this field or `identity` is required.
        phone: Option<String>,
        /// A phone number or an email address, instead of `phone`. An email address must be proven; it receives the code by mail.
        identity: Option<String>,
    }
}

/// `POST customers/login-with-sms`: sends a code and responds with the channel that it was sent through. `verify-code` issues the
/// token. Customers who registered by mail and have neither a phone number nor a password sign in with their email address, which
/// receives the code.
async fn login_with_sms(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientAddress,
    languages: AcceptedLanguages,
    body: Result<JsonBody<SmsLoginRequest>, Problem>,
) -> Response {
    let flow = async { send_sign_in_code(&storefront, &store, client, &languages, &body?.0).await };
    send_limit::limited(&storefront, &store, client, flow.boxed()).await
}

async fn send_sign_in_code(
    storefront: &Storefront,
    store: &Store,
    client: ClientAddress,
    languages: &AcceptedLanguages,
    request: &SmsLoginRequest,
) -> Result<Channel, Problem> {
    match (&request.phone, &request.identity) {
        (None, Some(address)) if address.contains('@') => mail_sign_in_code(storefront, store, client, languages, address).await,
        (Some(phone), _) | (None, Some(phone)) => text_sign_in_code(storefront, store, client, languages, phone).await,
        (None, None) => Err(FieldErrors::one("phone", "phone is required.")),
    }
}

/// Sends a code only to a proven address. An account may list an address that belongs to another person, and the owner of that
/// address must not get into the account.
async fn mail_sign_in_code(
    storefront: &Storefront,
    store: &Store,
    client: ClientAddress,
    languages: &AcceptedLanguages,
    address: &str,
) -> Result<Channel, Problem> {
    let address = EmailAddress::parse(address).map_err(|error| FieldErrors::one("identity", error.to_string()))?;
    let identity = Identity::Email(address);
    let customer = customers::find_proven(&mut storefront.pool.acquire().await?, store.id, &identity).await?;
    let customer = customer.ok_or(ProblemCode::CustomerNotFound)?;
    issue(storefront, store, client, languages, (identity, &customer), None).await
}

async fn text_sign_in_code(
    storefront: &Storefront,
    store: &Store,
    client: ClientAddress,
    languages: &AcceptedLanguages,
    phone: &str,
) -> Result<Channel, Problem> {
    let number = read_number(storefront, store, phone).await?;
    let identity = Identity::Phone(number.clone());
    let customer = customers::find_by_identity(&mut storefront.pool.acquire().await?, store.id, &identity).await?;
    let customer = customer.ok_or(ProblemCode::CustomerNotFound)?;
    let standing = if customer.proven_phone().is_some() { Standing::Proven } else { Standing::Unproven };
    let text = Recipient { number, standing };
    issue(storefront, store, client, languages, (identity, &customer), Some(text)).await
}

/// Sends a sign-in code to `text` if it is given and the guard allows it, otherwise to the customer's proven address.
async fn issue(
    storefront: &Storefront,
    store: &Store,
    client: ClientAddress,
    languages: &AcceptedLanguages,
    (identity, customer): (Identity, &Customer),
    text: Option<Recipient>,
) -> Result<Channel, Problem> {
    let issue_request = IssueRequest {
        store: store.clone(),
        purpose: Purpose::SignIn,
        network: client.network(),
        languages: languages.clone(),
        identity,
        requested_by: None,
        customer: Some(customer.id),
        text,
        mail: customer.proven_email(),
    };
    Ok(codes::issue(storefront, issue_request).await?)
}

body! {
    /// `POST customers/verify-code`
    #[derive(Debug)]
    struct CodeLoginRequest {
        /// The identity that the code was requested for, or the phone number or email address that it was sent to.
        identity: String,
        /// The verification code: six digits.
        #[serde(default)]
        code: SubmittedCode,
    }
}

/// `POST customers/verify-code`
async fn verify_code(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<CodeLoginRequest>,
) -> Result<Json<Value>, Problem> {
    let attempt = SignInAttempt::new(&store, Method::Code, Some(&request.identity), client);
    let signed_in = audited(&storefront, (&attempt, &languages), sign_in_by_code(&storefront, &attempt, &request.code).boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

async fn sign_in_by_code(storefront: &Storefront, attempt: &SignInAttempt<'_>, code: &SubmittedCode) -> Result<SignedIn, Problem> {
    let (store, identity) = (attempt.store.id, attempt.identity.as_ref().ok_or(ProblemCode::CodeInvalid)?);
    let verified_code = codes::check(storefront, store, Purpose::SignIn, Target::Identities(vec![identity.key()]), code).await?;

    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    let customer = verified_code.consume_for_account(&mut tx, now).await?;
    let signed_in = storefront.sign_in(&mut tx, attempt, customer, now).await?;
    tx.commit().await?;
    Ok(signed_in)
}

body! {
    /// `POST customers/login`
    #[derive(Debug)]
    struct PasswordLoginRequest {
        /// The phone number or email address.
        identity: String,
        /// The password.
        password: SecretString,
    }
}

/// `POST customers/login`
async fn login(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<PasswordLoginRequest>,
) -> Result<Json<Value>, Problem> {
    let attempt = SignInAttempt::new(&store, Method::Password, Some(&request.identity), client);
    let signed_in = audited(&storefront, (&attempt, &languages), sign_in_by_password(&storefront, &attempt, &request).boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

async fn sign_in_by_password(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    request: &PasswordLoginRequest,
) -> Result<SignedIn, Problem> {
    let (store, identity) = (attempt.store.id, attempt.identity.as_ref());
    // Text that is no valid identity costs the same work and is limited too, under the text itself.
    let bucket = passwords::bucket(store, &identity.map_or_else(|| request.identity.clone(), Identity::key));
    // Before the guess is counted: a full queue must not cost one.
    let place = storefront.hashing.reserve()?;
    let now = storefront.clock.now();
    // The guess is counted before it is compared, so parallel guesses cannot get past the limit. A right password clears the count.
    let limit = (bucket.as_str(), passwords::WRONG_PASSWORDS);
    let (status, mut customer) =
        customers::count_password_guess(&mut storefront.password_pool.acquire().await?, store, limit, identity, now).await?;
    if !status.allowed {
        return Err(Problem::new(ProblemCode::PasswordAttemptsExceeded).retry_after(status.retry_after()));
    }
    for _ in 0..MAX_COMPARISONS {
        let stored = customer.as_ref().and_then(|customer| customer.password_hash.clone());
        let compared = passwords::compare(&place, &request.password, stored).await;
        let mut right = match (customer, compared) {
            (Some(customer), Comparison::Right | Comparison::RightButOutdated) => customer,
            _ => return Err(ProblemCode::CredentialsInvalid.into()),
        };
        if compared == Comparison::RightButOutdated {
            hash_anew(storefront, &place, &request.password, &mut right).await?;
        }
        let id = right.id;
        let mut conn = storefront.password_pool.acquire().await?;
        if let Some(signed_in) = storefront.sign_in_unless_password_replaced(&mut conn, attempt, right, now).await? {
            return Ok(signed_in);
        }
        customer = customers::find_customer(&mut conn, store, id).await?;
    }
    Err(ProblemCode::CredentialsInvalid.into())
}

/// Replaces the hash of a right password with one that has the current parameters and the one spelling.
async fn hash_anew(
    storefront: &Storefront,
    place: &HashingPlace,
    password: &SecretString,
    customer: &mut Customer,
) -> Result<(), sqlx::Error> {
    let Some(older) = &customer.password_hash else { return Ok(()) };
    let newer = place.hash(passwords::normalized(password)).await;
    if customers::set_password_hash(&mut storefront.pool.acquire().await?, customer.id, older, &newer).await? {
        customer.password_hash = Some(newer);
    }
    Ok(())
}
