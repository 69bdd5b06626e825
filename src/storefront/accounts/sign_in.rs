//! Sign-in with a code, or with an identity and a password.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use secrecy::SecretString;
use serde_json::Value;

use crate::contact::{EmailAddress, Identity};
use crate::kernel::database::repeated;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::password_hashing::{Comparison, HashingBusy, HashingPlace, Password};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::in_flight::InFlight;
use crate::storefront::accounts::signed_in::{Opened, audited};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::challenges::{ChallengeAnswer, Shown};
use crate::storefront::codes::{self, IssueRequest, Issued, Submission, SubmittedCode, Target, VerifiedCode};
use crate::storefront::customers::{self, Customer, PasswordOf};
use crate::storefront::guessing::{Client, Kind};
use crate::storefront::passwords;
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Body, Routes, body, describe};
use crate::storefront::sending::{read_number, send_limit};
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
    let by_code = by_code.refusing(&[ProblemCode::AccountBanned, ProblemCode::SecondFactorRequired]);
    let wrong_password = [
        ProblemCode::CredentialsInvalid,
        ProblemCode::PasswordAttemptsExceeded,
        ProblemCode::GuessesExceeded,
        ProblemCode::AccountBanned,
        ProblemCode::SecondFactorRequired,
        ProblemCode::Overloaded,
    ];
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
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    body: Result<JsonBody<SmsLoginRequest>, Problem>,
) -> Response {
    let flow = async {
        let request = body?.0;
        let challenge = storefront.challenges.admit(&store, answer, storefront.clock.now()).await?;
        let asking = Asking { storefront: &storefront, store: &store, client: client.client(), languages: &languages, challenge };
        send_sign_in_code(&asking, &request).await
    };
    send_limit::limited(&storefront, &store, client.address, flow.boxed()).await
}

/// A request for a sign-in code.
struct Asking<'a> {
    storefront: &'a Storefront,
    store: &'a Store,
    client: Client,
    languages: &'a AcceptedLanguages,
    challenge: Shown,
}

async fn send_sign_in_code(asking: &Asking<'_>, request: &SmsLoginRequest) -> Result<Issued, Problem> {
    match (&request.phone, &request.identity) {
        (None, Some(address)) if address.contains('@') => mail_sign_in_code(asking, address).await,
        (Some(phone), _) | (None, Some(phone)) => text_sign_in_code(asking, phone).await,
        (None, None) => Err(FieldErrors::one("phone", Sentence::new("{} is required.").with("phone"))),
    }
}

/// Sends a code only to a proven address. An account may list an address that belongs to another person, and the owner of that
/// address must not get into the account.
async fn mail_sign_in_code(asking: &Asking<'_>, address: &str) -> Result<Issued, Problem> {
    let address = EmailAddress::parse(address).map_err(|error| FieldErrors::one("identity", error.to_string()))?;
    let identity = Identity::Email(address);
    let customer = customers::find_proven(&mut asking.storefront.code_pool.acquire().await?, asking.store.id, &identity).await?;
    let customer = customer.ok_or(ProblemCode::CustomerNotFound)?;
    issue(asking, (identity, &customer), None).await
}

async fn text_sign_in_code(asking: &Asking<'_>, phone: &str) -> Result<Issued, Problem> {
    let number = read_number(asking.storefront, asking.store, phone).await?;
    let identity = Identity::Phone(number.clone());
    let customer = customers::find_by_identity(&mut asking.storefront.code_pool.acquire().await?, asking.store.id, &identity).await?;
    let customer = customer.ok_or(ProblemCode::CustomerNotFound)?;
    let standing = if customer.proven_phone().is_some() { Standing::Proven } else { Standing::Unproven };
    let text = Recipient { number, standing };
    issue(asking, (identity, &customer), Some(text)).await
}

/// Sends a sign-in code to `text` if it is given and the guard allows it, otherwise to the customer's proven address.
async fn issue(asking: &Asking<'_>, (identity, customer): (Identity, &Customer), text: Option<Recipient>) -> Result<Issued, Problem> {
    let issue_request = IssueRequest {
        store: asking.store.clone(),
        purpose: Purpose::SignIn,
        client: asking.client,
        languages: asking.languages.clone(),
        challenge: asking.challenge.clone(),
        identity,
        requested_by: None,
        customer: Some(customer.id),
        text,
        mail: customer.proven_email(),
    };
    Ok(codes::issue(asking.storefront, issue_request).await?)
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
        /// What the answer to the request for the code had as `request`.
        request: Option<SecretString>,
    }
}

/// `POST customers/verify-code`
async fn verify_code(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<CodeLoginRequest>,
) -> Result<Json<Value>, Problem> {
    let attempt = SignInAttempt::new(&store, Method::Code, Some(&request.identity), client);
    let flow = async {
        storefront.challenges.admit(&store, answer, storefront.clock.now()).await?;
        sign_in_by_code(&storefront, &attempt, &request).await
    };
    let signed_in = audited(&storefront, (&attempt, &languages), flow.boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

async fn sign_in_by_code(storefront: &Storefront, attempt: &SignInAttempt<'_>, request: &CodeLoginRequest) -> Result<Opened, Problem> {
    let (store, identity) = (attempt.store.id, attempt.identity.as_ref().ok_or(ProblemCode::CodeInvalid)?);
    let target = Target::Identities(vec![identity.key()]);
    let submission = Submission::of(&request.code, &attempt.client.client(), attempt.store.key_id, request.request.as_ref());
    let verified_code = codes::check(storefront, store, Purpose::SignIn, target, submission).await?;

    repeated(|| open_by_code(storefront, attempt, &verified_code)).await
}

async fn open_by_code(storefront: &Storefront, attempt: &SignInAttempt<'_>, verified_code: &VerifiedCode) -> Result<Opened, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.code_pool.begin().await?;
    let customer = verified_code.consume_for_account(&mut tx, now).await?;
    let opened = storefront.sign_in(&mut tx, attempt, customer, now).await?;
    tx.commit().await?;
    Ok(opened)
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
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<PasswordLoginRequest>,
) -> Result<Json<Value>, Problem> {
    let attempt = SignInAttempt::new(&store, Method::Password, Some(&request.identity), client);
    let flow = async {
        storefront.challenges.admit(&store, answer, storefront.clock.now()).await?;
        sign_in_by_password(&storefront, &attempt, &request).await
    };
    let signed_in = audited(&storefront, (&attempt, &languages), flow.boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

async fn sign_in_by_password(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    request: &PasswordLoginRequest,
) -> Result<Opened, Problem> {
    let (store, identity) = (attempt.store.id, attempt.identity.as_ref());
    let client = attempt.client.client();
    let _turn = storefront.guesses.turn((store, client.network)).await.map_err(|_| HashingBusy)?;
    // Before the guess is counted: a full queue must not cost one.
    let place = storefront.reserve_hashing(store, &client)?;
    // Text that is no valid identity costs the same work and is limited too, under the text itself.
    let otherwise = passwords::subject_of(&identity.map_or_else(|| request.identity.clone(), Identity::key));
    let guess = storefront.guess(store, client, Kind::Password);
    // The guess is counted before it is compared, so parallel guesses cannot get past the limit. A right password clears the count.
    let (in_flight, mut customer) = InFlight::begin(storefront, guess, PasswordOf::Named(identity.cloned(), otherwise)).await?;
    for _ in 0..MAX_COMPARISONS {
        let stored = customer.as_ref().and_then(|customer| customer.password_hash.clone());
        let compared = place.compare(&request.password, stored).await;
        let mut right = match (customer, compared) {
            (Some(customer), Comparison::Right | Comparison::RightButOutdated) => customer,
            _ => break,
        };
        if compared == Comparison::RightButOutdated {
            hash_anew(storefront, &place, &request.password, &mut right).await?;
        }
        if right.banned_at.is_some() {
            in_flight.right_in_vain().await?;
            return Err(ProblemCode::AccountBanned.into());
        }
        let opened = repeated(|| open_by_password(storefront, attempt, &right, guess.now)).await?;
        if let Some(opened) = opened {
            match opened {
                Opened::Session(_) => in_flight.signed_in().await?,
                Opened::Pending(..) => in_flight.right_in_vain().await?,
            }
            return Ok(opened);
        }
        customer = customers::find_customer(&mut storefront.password_pool.acquire().await?, store, right.id).await?;
    }
    in_flight.wrong().await?;
    Err(ProblemCode::CredentialsInvalid.into())
}

async fn open_by_password(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    customer: &Customer,
    now: DateTime<Utc>,
) -> Result<Option<Opened>, Problem> {
    let mut conn = storefront.password_pool.acquire().await?;
    storefront.sign_in_unless_password_replaced(&mut conn, attempt, customer.clone(), now).await
}

/// Replaces the hash of a right password with one that has the current parameters and the one spelling.
async fn hash_anew(
    storefront: &Storefront,
    place: &HashingPlace,
    password: &SecretString,
    customer: &mut Customer,
) -> Result<(), sqlx::Error> {
    let (Some(older), Some(password)) = (&customer.password_hash, Password::read(password)) else { return Ok(()) };
    let newer = place.hash(password).await;
    if customers::set_password_hash(&mut storefront.pool.acquire().await?, customer.id, older, &newer).await? {
        customer.password_hash = Some(newer);
    }
    Ok(())
}
