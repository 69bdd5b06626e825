//! Registration: a code is sent to the identity first; the account is opened with the code and the customer's details.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use futures::FutureExt;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::contact::{EmailAddress, Identity, PhoneNumber};
use crate::kernel::database::{repeated, violated_constraint};
use crate::kernel::ids::CustomerId;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::password_hashing::Password;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode, Sentence};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::new_password;
use crate::storefront::accounts::signed_in::{Opened, audited};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::challenges::ChallengeAnswer;
use crate::storefront::codes::{self, IssueRequest, Issued, Submission, SubmittedCode, Target, VerifiedCode};
use crate::storefront::customers::{self, NewCustomer, Profile};
use crate::storefront::guessing::Client;
use crate::storefront::passwords;
use crate::storefront::purpose::Purpose;
use crate::storefront::registration_hooks;
use crate::storefront::routes::{self, Body, Routes, Sent, body, describe, describe_with};
use crate::storefront::sending::{read_number, send_limit};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

pub fn routes() -> Routes<Storefront> {
    let asking = describe("Send a verification code for a new account.", routes::sent()).refusing(&[ProblemCode::AccountExists]);
    let asking = asking.refusing(codes::TEXT_REFUSALS).refusing(codes::MAIL_REFUSALS);
    let opening = describe_with("Create an account with a verification code, and sign in.", StatusCode::CREATED, routes::login());
    let opening = opening.refusing(codes::CODE_REFUSALS).refusing(&[ProblemCode::AccountExists, ProblemCode::Overloaded]);
    let opening = opening.refusing(registration_hooks::REFUSALS);
    let opening = opening.taking_body(RegistrationRequest::schema()).restricting("password", passwords::length());
    let opening =
        opening.restricting("name", json!({ "maxLength": customers::NAME_MAX_LEN })).needing_one_of(&["identity", "email", "phone"]);
    let routes = Routes::none().post("/customers/request-creation-code", asking, request_creation_code);
    routes.post("/customers", opening, register)
}

body! {
    /// `POST customers/request-creation-code`
    #[derive(Debug)]
    struct CreationCodeRequest {
        /// How the code is sent: `sms` or `email`.
        mode: Option<Mode>,
        /// The phone number or email address that the code is sent to.
        identity: String,
    }
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    Sms,
    Email,
}

/// A `null` is the same as a missing field.
impl Sent for Option<Mode> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        json!({ "enum": ["sms", "email", null], "default": "email" })
    }
}

/// `POST customers/request-creation-code`
async fn request_creation_code(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    body: Result<JsonBody<CreationCodeRequest>, Problem>,
) -> Response {
    let flow = async { send_creation_code(&storefront, &store, (client.client(), answer), &languages, body?.0).await };
    send_limit::limited(&storefront, &store, client.address, flow.boxed()).await
}

async fn send_creation_code(
    storefront: &Storefront,
    store: &Store,
    (client, answer): (Client, ChallengeAnswer),
    languages: &AcceptedLanguages,
    request: CreationCodeRequest,
) -> Result<Issued, Problem> {
    let identity = match request.mode {
        Some(Mode::Sms) => Identity::Phone(read_number(storefront, store, &request.identity).await?),
        // A code goes by mail unless the app says otherwise; a phone number shows that it forgot to.
        None if PhoneNumber::parse(&request.identity).is_ok() => {
            return Err(FieldErrors::one("mode", "This is a phone number. Ask for the code with mode=sms, so that it is sent as a text."));
        }
        None | Some(Mode::Email) => {
            Identity::Email(EmailAddress::parse(&request.identity).map_err(|error| FieldErrors::one("identity", error.to_string()))?)
        }
    };
    let challenge = storefront.challenges.admit(store, answer, storefront.clock.now()).await?;
    let taken = customers::find_proven(&mut storefront.pool.acquire().await?, store.id, &identity).await?;
    if taken.is_some() {
        return Err(ProblemCode::AccountExists.into());
    }
    let (text, mail) = codes::channels_for(&identity);
    let issue_request = IssueRequest {
        store: store.clone(),
        purpose: Purpose::CreateAccount,
        client,
        languages: languages.clone(),
        challenge,
        identity,
        requested_by: None,
        customer: None,
        text,
        mail,
    };
    Ok(codes::issue(storefront, issue_request).await?)
}

body! {
    /// `POST customers`
    #[derive(Debug)]
    struct RegistrationRequest {
        /// The customer's name: 1 to 255 characters.
        #[serde(default)]
        name: String,
        /// The phone number or email address that the code was sent to. One of `identity`, `email` and `phone` is required.
        identity: Option<String>,
        /// The email address. It is proven if the code was sent to it.
        email: Option<String>,
        /// The phone number with its international prefix. It is proven if the code was sent to it.
        phone: Option<String>,
        /// A password of 8 to 256 characters that is not one of the most common passwords.
        password: Option<SecretString>,
        /// The verification code: six digits.
        #[serde(default)]
        code: SubmittedCode,
        /// What the answer to the request for the code had as `request`.
        request: Option<SecretString>,
    }
}

/// A registration request with every field parsed.
struct Registration {
    name: String,
    email: Option<EmailAddress>,
    phone: Option<PhoneNumber>,
    /// The keys that the code may have been requested for: `identity` if it is given, otherwise `email` and `phone`.
    candidates: Vec<String>,
    password: Option<Password>,
}

impl RegistrationRequest {
    fn parse(&self) -> Result<Registration, Problem> {
        let mut errors = FieldErrors::default();
        let given = |member: &Option<String>| member.clone().filter(|text| !text.trim().is_empty());
        let identity = given(&self.identity).and_then(|text| errors.check("identity", Identity::parse(&text)));
        let mut email = given(&self.email).and_then(|text| errors.check("email", EmailAddress::parse(&text)));
        let mut phone = given(&self.phone).and_then(|text| errors.check("phone", PhoneNumber::parse(&text)));
        let candidates = match &identity {
            Some(identity) => vec![identity.key()],
            None => email.iter().map(EmailAddress::key).chain(phone.iter().map(|phone| phone.as_str().to_owned())).collect(),
        };
        let (email_differs, phone_differs) = match &identity {
            Some(Identity::Email(address)) => (email.as_ref().is_some_and(|email| email != address), false),
            Some(Identity::Phone(number)) => (false, phone.as_ref().is_some_and(|phone| phone != number)),
            None => (false, false),
        };
        for (member, differs) in [("email", email_differs), ("phone", phone_differs)] {
            if differs {
                errors.add(member, Sentence::new("{} and identity must be the same when both are given.").with(member));
            }
        }
        match identity {
            Some(Identity::Email(address)) => email = email.or(Some(address)),
            Some(Identity::Phone(number)) => phone = phone.or(Some(number)),
            None if given(&self.identity).or(given(&self.email)).or(given(&self.phone)).is_none() => {
                errors.add("identity", "An email address or a phone number is required.");
            }
            None => {}
        }
        let name = errors.check("name", customers::parse_name(&self.name));
        if matches!(self.code, SubmittedCode::Missing) {
            errors.add("code", Sentence::new("{} is required.").with("code"));
        }
        let password = self.password.as_ref().and_then(|password| errors.check("password", passwords::parse(password)));
        errors.finish()?;
        Ok(Registration { name: name.unwrap_or_default(), email, phone, candidates, password })
    }
}

/// `POST customers`
async fn register(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    answer: ChallengeAnswer,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<RegistrationRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    // To its end even if the client disconnects while a hook is asked: a right code must not stay counted as a wrong one.
    let this = storefront.clone();
    let registering = async move {
        let identity = [&request.identity, &request.email, &request.phone].into_iter().flatten().next();
        let attempt = SignInAttempt::new(&store, Method::Registration, identity.map(String::as_str), client);
        let flow = async {
            this.challenges.admit(&store, answer, this.clock.now()).await?;
            create_account(&this, &attempt, &request).await
        };
        let signed_in = audited(&this, (&attempt, &languages), flow.boxed()).await?;
        Ok((StatusCode::CREATED, Json(signed_in.answer(&this.settings))))
    };
    storefront.lifecycle.finish(registering).await
}

async fn create_account(storefront: &Storefront, attempt: &SignInAttempt<'_>, request: &RegistrationRequest) -> Result<Opened, Problem> {
    let registration = request.parse()?;
    if let Some(password) = &registration.password {
        new_password::refuse_breached(storefront, attempt.store.id, password).await?;
    }
    let store = attempt.store;
    // Before the code is checked: a full queue must not cost a guess.
    let client = attempt.client.client();
    let place = registration.password.as_ref().map(|_| storefront.reserve_hashing(store.id, &client)).transpose()?;
    let target = Target::Identities(registration.candidates);
    let submission = Submission::of(&request.code, &client, store.key_id, request.request.as_ref());
    let verified_code = codes::check(storefront, store.id, Purpose::CreateAccount, target, submission).await?;
    let password_hash = match place.zip(registration.password) {
        Some((place, password)) => Some(place.hash(password).await),
        None => None,
    };

    let newcomer = NewCustomer {
        id: CustomerId::new(storefront.clock.now()),
        store: store.id,
        name: registration.name,
        email_is_proven: registration.email.as_ref().is_some_and(|email| email.key() == verified_code.identity()),
        phone_is_proven: registration.phone.as_ref().is_some_and(|phone| phone.as_str() == verified_code.identity()),
        email: registration.email,
        phone: registration.phone,
        password_hash,
        test_identity: None,
        profile: Profile::default(),
    };
    // The hashing threads wait for nobody: the place there is free again.
    let hook = storefront.registration_hooks.of(&mut storefront.pool.acquire().await?, store).await?;
    if let Some(hook) = hook
        && let Err(refusal) = storefront.registration_hooks.ask(&hook, attempt, &newcomer).await
    {
        verified_code.give_back(&mut storefront.pool.acquire().await?).await?;
        return Err(refusal.into());
    }

    repeated(|| open_account(storefront, attempt, &verified_code, newcomer.clone())).await
}

async fn open_account(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    verified_code: &VerifiedCode,
    mut newcomer: NewCustomer,
) -> Result<Opened, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    newcomer.test_identity = verified_code.test_identity(&mut tx).await?;
    customers::lock_claims(&mut tx, &newcomer).await?;
    verified_code.consume(&mut tx, now).await?;
    let (customer, lost) = customers::open_account(&mut tx, attempt.origin(), &newcomer, now).await.map_err(refuse_taken)?;
    let opened = storefront.sign_in(&mut tx, attempt, customer, now).await?;
    tx.commit().await?;
    storefront.caches.invalidate_losers(lost);
    Ok(opened)
}

/// Maps the constraint violation of an identity that was proven after the code was checked: by an identity provider, or by a
/// parallel registration.
fn refuse_taken(error: sqlx::Error) -> Problem {
    match violated_constraint(&error) {
        Some("customers_proven_email" | "customers_proven_phone") => ProblemCode::AccountExists.into(),
        _ => error.into(),
    }
}
