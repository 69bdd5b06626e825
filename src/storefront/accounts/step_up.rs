//! Step-up: a signed-in customer proves again who they are, which makes the session fresh for `storefront.fresh_for`. A thief of the token
//! can neither read the code, which goes to a contact that was proven before, nor knows the password, nor has the passkey.
//!
//! A customer with a second factor proves that one, or has a passkey (ASVS 5.0, 7.5.1): two factors have opened the session, and a code or the
//! password alone would make the account as weak as without the second one.

use axum::Json;
use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use futures::FutureExt;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::kernel::clock::timestamp;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::json::{JsonBody, JsonOptions};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::accounts::own_code::Asking;
use crate::storefront::accounts::passkeys::CredentialBody;
use crate::storefront::accounts::second_factor::{self, Answer};
use crate::storefront::accounts::{failed_proof, own_password, passkeys};
use crate::storefront::audit::ClientInfo;
use crate::storefront::challenges::Shown;
use crate::storefront::codes::{self, Issued, Submission, SubmittedCode, Target};
use crate::storefront::guessing::Client;
use crate::storefront::messages::Notice;
use crate::storefront::purpose::Purpose;
use crate::storefront::routes::{self, Body, Routes, Sent, body, describe};
use crate::storefront::sending::send_limit;
use crate::storefront::state::Storefront;
use crate::storefront::tokens;

pub fn routes() -> Routes<Storefront> {
    let asking = describe("Send a verification code to a proven contact, to confirm that it is the customer.", routes::sent());
    let asking = asking
        .refusing(&[ProblemCode::ContactMissing, ProblemCode::FreshSignInRequired])
        .refusing(codes::TEXT_REFUSALS)
        .refusing(codes::MAIL_REFUSALS);
    let until = json!({ "type": "string", "format": "date-time", "description": "Until when the session is fresh." });
    let confirmed = object([("status", json!({ "const": "ok" })), ("fresh_until", until)]);
    let confirming = describe("Confirm with one proof that it is the customer, which makes the session fresh.", confirmed);
    let confirming = confirming.refusing(codes::CODE_REFUSALS).refusing(own_password::REFUSALS).refusing(passkeys::REFUSALS);
    let confirming = confirming.refusing(second_factor::REFUSALS).refusing(&[ProblemCode::FreshSignInRequired]);
    let confirming = confirming.taking_body(Proof::schema()).needing_one_of(&["code", "password", "passkey", "totp", "recovery_code"]);
    let routes = Routes::none().post("/customers/request-step-up", asking, request);
    routes.post("/customers/confirm-step-up", confirming, confirm)
}

body! {
    /// `POST customers/request-step-up`
    #[derive(Debug, Default)]
    struct CodeRequest {
        /// How the code is sent: `sms` (default, with a mail in place of a text that cannot be sent) or `email`.
        method: Option<Way>,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Way {
    #[default]
    Sms,
    Email,
}

impl Sent for Option<Way> {
    const NEEDED: bool = false;

    fn schema() -> Value {
        json!({ "enum": ["sms", "email", null], "default": "sms" })
    }
}

/// `POST customers/request-step-up`
async fn request(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    body: Result<JsonOptions<CodeRequest>, Problem>,
) -> Response {
    let asking =
        Asking { storefront: &storefront, caller: &caller, client: client.client(), languages: &languages, challenge: Shown::nothing() };
    let flow = async {
        let method = body?.0.method.unwrap_or_default();
        caller.refuse_first_factor(&storefront).await?;
        send_code(asking, method).await
    };
    send_limit::limited(&storefront, &caller.store, client.address, flow.boxed()).await
}

async fn send_code(asking: Asking<'_>, way: Way) -> Result<Issued, Problem> {
    let mail = asking.caller.customer.proven_email();
    let phone = asking.caller.customer.proven_phone().filter(|_| way == Way::Sms || mail.is_none());
    asking.send_to_proven(Purpose::StepUp, phone, mail).await
}

body! {
    /// `POST customers/confirm-step-up`
    #[derive(Debug)]
    struct Proof {
        /// The verification code: six digits. One of the fields is required.
        code: Option<SubmittedCode>,
        /// The customer's password.
        password: Option<SecretString>,
        /// What `navigator.credentials.get()` returns for the options of `login-with-passkey/request`, as JSON.
        passkey: Option<CredentialBody>,
        /// The code of the authenticator app: six digits.
        totp: Option<SubmittedCode>,
        /// A recovery code, in groups or not.
        recovery_code: Option<SecretString>,
    }
}

/// `POST customers/confirm-step-up`
async fn confirm(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(proof): JsonBody<Proof>,
) -> Result<Json<Value>, Problem> {
    let second_factor = (proof.totp.is_some() || proof.recovery_code.is_some()).then_some((proof.totp, proof.recovery_code));
    let now = match (&proof.code, &proof.password, &proof.passkey, second_factor) {
        (Some(code), None, None, None) => {
            by_code(&storefront, &caller, Submission::of(code, &client.client(), caller.store.key_id, None)).await?
        }
        (None, Some(password), None, None) => by_password(&storefront, &caller, client.client(), password).await?,
        (None, None, Some(passkey), None) => by_passkey(&storefront, &caller, client.client(), passkey).await?,
        (None, None, None, Some((totp, recovery_code))) => {
            let answer = Answer::read(totp, recovery_code.as_ref())?;
            by_second_factor(&storefront, (caller.clone(), client.client()), languages, answer).await?
        }
        (None, None, None, None) => return Err(FieldErrors::one("code", "The code or the password is required.")),
        _ => return Err(FieldErrors::one("code", "Only one of the proofs must be sent.")),
    };
    storefront.caches.sessions.invalidate(&caller.token);
    Ok(Json(json!({ "status": "ok", "fresh_until": timestamp(storefront.settings.fresh_until(now)) })))
}

async fn by_code(storefront: &Storefront, caller: &SignedInCustomer, submission: Submission<'_>) -> Result<DateTime<Utc>, Problem> {
    caller.refuse_first_factor(storefront).await?;
    let id = caller.customer.id;
    let verified_code = codes::check(storefront, caller.store.id, Purpose::StepUp, Target::RequestedBy(id), submission).await?;
    repeated(async || {
        let now = storefront.clock.now();
        let mut tx = storefront.pool.begin().await?;
        caller.lock(&mut tx).await?;
        verified_code.consume(&mut tx, now).await?;
        note_proof(&mut tx, caller, now).await?;
        tx.commit().await?;
        Ok(now)
    })
    .await
}

async fn by_password(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    client: Client,
    password: &SecretString,
) -> Result<DateTime<Utc>, Problem> {
    caller.refuse_first_factor(storefront).await?;
    own_password::confirm(storefront, caller, client, password).await?;
    let now = storefront.clock.now();
    repeated(async || note_proof(&mut storefront.pool.acquire().await?, caller, now).await).await?;
    Ok(now)
}

async fn by_second_factor(
    storefront: &Storefront,
    (caller, client): (SignedInCustomer, Client),
    languages: AcceptedLanguages,
    answer: Answer,
) -> Result<DateTime<Utc>, Problem> {
    let is_recovery_code = matches!(answer, Answer::RecoveryCode(_));
    let proven = second_factor::prove(storefront, (caller.store.id, client), caller.customer.id, answer).await?;
    // To its end even if the client disconnects: a thief of a recovery code must not keep the owner from being told.
    let this = storefront.clone();
    let noting = async move {
        repeated(async || {
            let mut tx = proven.begin(&this, &caller).await?;
            note_proof(&mut tx, &caller, proven.at()).await?;
            Ok::<_, Problem>(tx.commit().await?)
        })
        .await?;
        if is_recovery_code {
            second_factor::tell(&this, &caller, &languages, Notice::RecoveryCodeUsed).await;
        }
        Ok(proven.at())
    };
    storefront.lifecycle.finish(noting).await
}

async fn by_passkey(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    client: Client,
    credential: &CredentialBody,
) -> Result<DateTime<Utc>, Problem> {
    let confirmed = confirm_passkey(storefront, caller, credential).await;
    failed_proof::counted(storefront, (caller.store.id, client), ProblemCode::PasskeyNotVerified, confirmed).await
}

async fn confirm_passkey(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    credential: &CredentialBody,
) -> Result<DateTime<Utc>, Problem> {
    let proof = passkeys::Proof::verify(storefront, &caller.store, credential).await?;
    if proof.customer() != caller.customer.id {
        return Err(ProblemCode::PasskeyNotVerified.into());
    }
    repeated(async || {
        let now = storefront.clock.now();
        let mut tx = storefront.pool.begin().await?;
        proof.answer(&mut tx).await?;
        caller.lock(&mut tx).await?;
        proof.note(&mut tx, now).await?;
        note_proof(&mut tx, caller, now).await?;
        tx.commit().await?;
        Ok(now)
    })
    .await
}

async fn note_proof(conn: &mut Connection, caller: &SignedInCustomer, now: DateTime<Utc>) -> Result<(), Problem> {
    if tokens::note_proof(conn, caller.token, now).await? { Ok(()) } else { Err(ProblemCode::CustomerTokenInvalid.into()) }
}
