//! Sign-in with a passkey.

use axum::Json;
use axum::extract::State;
use futures::FutureExt;
use serde_json::{Value, json};

use crate::kernel::database::repeated;
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::failed_proof;
use crate::storefront::accounts::passkeys::{CredentialBody, Proof, relying_party};
use crate::storefront::accounts::signed_in::{Opened, audited};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::customers;
use crate::storefront::passkeys::{Asked, Base64Url, Challenge, Flaw, LASTS};
use crate::storefront::routes::{self, Routes, body, describe};
use crate::storefront::state::Storefront;

/// What a proof with a passkey is refused with.
pub const REFUSALS: &[ProblemCode] = &[
    ProblemCode::PasskeysNotConfigured,
    ProblemCode::PasskeyNotVerified,
    ProblemCode::CodeUsed,
    ProblemCode::PasskeySuspended,
    ProblemCode::AccountBanned,
    ProblemCode::GuessesExceeded,
];

pub(super) fn routes() -> Routes<Storefront> {
    let options = json!({ "type": "object", "description": "For `PublicKeyCredential.parseRequestOptionsFromJSON()`." });
    let asking = describe("Ask for a challenge that a passkey answers, to sign in or to step up.", object([("publicKey", options)]));
    let asking = asking.refusing(&[ProblemCode::PasskeysNotConfigured]);
    let signing_in = describe("Sign in with a passkey.", routes::login()).refusing(REFUSALS);
    Routes::none().post("/customers/login-with-passkey/request", asking, request).post("/customers/login-with-passkey", signing_in, login)
}

/// `POST customers/login-with-passkey/request`: the same for everybody, and nothing is stored.
async fn request(State(storefront): State<Storefront>, CallingStore { store }: CallingStore) -> Result<Json<Value>, Problem> {
    let relying_party = relying_party(&store)?;
    let challenge = Challenge::new(storefront.clock.now()).signed(&storefront.application_key, store.id, Asked::Proof);
    Ok(Json(json!({
        "publicKey": {
            "challenge": Base64Url::encode(challenge),
            "rpId": relying_party.domain,
            "timeout": LASTS.num_milliseconds(),
            "userVerification": "required",
            "allowCredentials": [],
        }
    })))
}

body! {
    /// `POST customers/login-with-passkey`
    #[derive(Debug)]
    struct PasskeyLoginRequest {
        /// What `navigator.credentials.get()` returns, as JSON.
        credential: CredentialBody,
    }
}

/// `POST customers/login-with-passkey`
async fn login(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<PasskeyLoginRequest>,
) -> Result<Json<Value>, Problem> {
    let who = (store.id, client.client());
    let attempt = SignInAttempt::new(&store, Method::Passkey, None, client);
    let flow = async {
        let opened = sign_in(&storefront, &attempt, &request.credential).await;
        failed_proof::counted(&storefront, who, ProblemCode::PasskeyNotVerified, opened).await
    };
    let signed_in = audited(&storefront, (&attempt, &languages), flow.boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

async fn sign_in(storefront: &Storefront, attempt: &SignInAttempt<'_>, credential: &CredentialBody) -> Result<Opened, Problem> {
    let proof = Proof::verify(storefront, attempt.store, credential).await?;
    repeated(|| open_by_proof(storefront, attempt, &proof)).await
}

async fn open_by_proof(storefront: &Storefront, attempt: &SignInAttempt<'_>, proof: &Proof) -> Result<Opened, Problem> {
    let now = storefront.clock.now();
    let mut tx = storefront.pool.begin().await?;
    proof.answer(&mut tx).await?;
    let customer = customers::lock_customer_shared(&mut tx, proof.customer()).await?.ok_or(Flaw::Unknown)?;
    proof.note(&mut tx, now).await?;
    let opened = storefront.sign_in(&mut tx, attempt, customer, now).await?;
    tx.commit().await?;
    Ok(opened)
}
