//! Making a passkey, in a fresh session.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::kernel::crypto::random_bytes;
use crate::kernel::database::{Connection, repeated};
use crate::kernel::json::JsonBody;
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::{FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::failed_proof;
use crate::storefront::accounts::passkeys::bodies::NewCredentialBody;
use crate::storefront::accounts::passkeys::{passkeys_schema, relying_party, show_passkeys, tell};
use crate::storefront::audit::{ClientInfo, DEVICE_NAME_MAX_LEN, DeviceName};
use crate::storefront::customers::Customer;
use crate::storefront::messages::Notice;
use crate::storefront::passkeys::{self, ALGORITHMS, Asked, Base64Url, Ceremony, Challenge, ClientData, LASTS, NewCredential, OwnPasskey};
use crate::storefront::routes::{Routes, body, describe, describe_with};
use crate::storefront::state::Storefront;

/// The most passkeys of one customer.
const MOST: i64 = 20;
/// The length of what authenticators know a customer by, in bytes: what WebAuthn recommends (section 14.6.1).
const HANDLE_LEN: usize = 64;

pub(super) fn routes() -> Routes<Storefront> {
    let options = json!({ "type": "object", "description": "For `PublicKeyCredential.parseCreationOptionsFromJSON()`." });
    let asking = describe("Ask for what a passkey is made with.", object([("publicKey", options)]));
    let asking = asking.refusing(&[ProblemCode::PasskeysNotConfigured, ProblemCode::TooManyPasskeys]);
    let adding =
        describe_with("Add a passkey to the account, which it then opens.", StatusCode::CREATED, object([("passkeys", passkeys_schema())]));
    let adding = adding
        .refusing(&[ProblemCode::PasskeysNotConfigured, ProblemCode::PasskeyNotVerified, ProblemCode::PasskeyTaken])
        .refusing(&[ProblemCode::TooManyPasskeys, ProblemCode::GuessesExceeded, ProblemCode::CodeUsed]);
    Routes::none().post("/customers/passkeys/request", asking, request).post("/customers/passkeys", adding, add)
}

/// `POST customers/passkeys/request`
async fn request(State(storefront): State<Storefront>, FreshCustomer(caller): FreshCustomer) -> Result<Json<Value>, Problem> {
    let relying_party = relying_party(&caller.store)?;
    let asked = Asked::Registration(caller.session);
    let challenge = Challenge::new(storefront.clock.now()).signed(&storefront.application_key, caller.store.id, asked);
    let (customer, known, handle) = repeated(async || {
        let mut tx = storefront.pool.begin().await?;
        let customer = caller.lock(&mut tx).await?;
        let known = passkeys::list_passkeys(&mut tx, customer.id).await?;
        require_room(&mut tx, &customer).await?;
        let handle = passkeys::find_or_make_handle(&mut tx, caller.store.id, customer.id, &random_bytes::<HANDLE_LEN>()).await?;
        tx.commit().await?;
        Ok::<_, Problem>((customer, known, handle))
    })
    .await?;
    let account = [&customer.email, &customer.phone].into_iter().flatten().next().unwrap_or(&customer.name);
    let account = if account.is_empty() { &caller.store.name } else { account };
    let exclude = |passkey: OwnPasskey| json!({ "type": "public-key", "id": Base64Url::encode(passkey.credential_id) });
    Ok(Json(json!({
        "publicKey": {
            "rp": { "id": relying_party.domain, "name": caller.store.name },
            "user": {
                "id": Base64Url::encode(handle),
                "name": account,
                "displayName": if customer.name.is_empty() { account } else { &customer.name },
            },
            "challenge": Base64Url::encode(challenge),
            "pubKeyCredParams": ALGORITHMS.map(|algorithm| json!({ "type": "public-key", "alg": algorithm })),
            "timeout": LASTS.num_milliseconds(),
            "excludeCredentials": known.into_iter().map(exclude).collect::<Vec<_>>(),
            "authenticatorSelection": { "residentKey": "required", "requireResidentKey": true, "userVerification": "required" },
            "attestation": "none",
        }
    })))
}

async fn require_room(conn: &mut Connection, customer: &Customer) -> Result<(), Problem> {
    if passkeys::count_passkeys(conn, customer.id).await? < MOST { Ok(()) } else { Err(ProblemCode::TooManyPasskeys.into()) }
}

body! {
    /// `POST customers/passkeys`
    #[derive(Debug)]
    struct NewPasskeyRequest {
        /// What `navigator.credentials.create()` returns, as JSON.
        credential: NewCredentialBody,
        /// What the customer calls it. Otherwise it is called like the device that the request comes from.
        name: Option<DeviceName>,
    }
}

/// `POST customers/passkeys`
async fn add(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(request): JsonBody<NewPasskeyRequest>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    // To its end even if the client disconnects: a thief must not keep the owner from being told.
    let this = storefront.clone();
    let adding = async move {
        let name = request.name.map_or_else(|| client.device(), |name| name.as_str().to_owned());
        let name: String = name.chars().take(DEVICE_NAME_MAX_LEN).collect();
        let added = repeated(|| save(&this, &caller, &name, &request.credential)).await;
        let who = (caller.store.id, client.client());
        let (customer, is_new) = failed_proof::counted(&this, who, ProblemCode::PasskeyNotVerified, added).await?;
        if is_new {
            tell(&this, (&customer, &caller.store), &languages, (Notice::PasskeyAdded, &name)).await;
        }
        let shown = show_passkeys(&mut this.pool.acquire().await?, customer.id).await?;
        Ok((StatusCode::CREATED, Json(json!({ "passkeys": shown }))))
    };
    storefront.lifecycle.finish(adding).await
}

/// Saves a passkey. Returns the customer, and whether it is new: one that was made with the same answer is there already, because the request has
/// come twice.
async fn save(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    name: &str,
    credential: &NewCredentialBody,
) -> Result<(Customer, bool), Problem> {
    let (store, now) = (caller.store.id, storefront.clock.now());
    let (challenge, credential) = verify(storefront, caller, credential)?;
    let mut tx = storefront.pool.begin().await?;
    let answered = passkeys::answer_challenge(&mut tx, store, &challenge).await?;
    let customer = caller.lock(&mut tx).await?;
    if answered.is_err() && passkeys::has_passkey(&mut tx, customer.id, &credential).await? {
        return Ok((customer, false));
    }
    answered?;
    require_room(&mut tx, &customer).await?;
    let owner = (store, customer.id, &*relying_party(&caller.store)?.domain);
    if !passkeys::insert_passkey(&mut tx, owner, name, &credential, now).await? {
        return Err(ProblemCode::PasskeyTaken.into());
    }
    tx.commit().await?;
    Ok((customer, true))
}

fn verify(
    storefront: &Storefront,
    caller: &SignedInCustomer,
    credential: &NewCredentialBody,
) -> Result<(Challenge, NewCredential), Problem> {
    let (relying_party, asked) = (relying_party(&caller.store)?, Asked::Registration(caller.session));
    let (key, now) = (&storefront.application_key, storefront.clock.now());
    let accept = |bytes: &[u8]| Challenge::accept(bytes, key, (caller.store.id, asked), now);
    let response = &credential.response;
    let client_data = ClientData::read(response.client_data.bytes(), Ceremony::Create, relying_party, accept)?;
    let credential = passkeys::verify_attestation(&client_data, relying_party, response.attestation_object.bytes())?;
    Ok((client_data.challenge, credential))
}
