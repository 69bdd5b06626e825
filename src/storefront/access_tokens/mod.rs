//! Access tokens: short-lived JWTs (RFC 9068) for services of the company that cannot ask whether a session is alive. They verify a token by the
//! company's public keys (JWKS, RFC 7517), which anybody may read.
//!
//! The issuer is `<origin>/storefront/v1/companies/<company>`, with `storefront.access_tokens.issuer` as the origin, so a service that trusts one
//! company accepts no token of another. The audience is the store. Services that can ask use `POST tokens/introspect`.
//!
//! A token does not last longer than the session as it is when the token is issued. Not guaranteed: a token is good until it expires, also when
//! the session or the account is ended before.

mod claims;
mod key_sets;
mod signing_key;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::kernel::ids::CompanyId;
use crate::kernel::openapi::{OperationDoc, object};
use crate::kernel::problem::{Problem, ProblemCode};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::access_tokens::claims::Claims;
use crate::storefront::access_tokens::signing_key::SigningKey;
use crate::storefront::routes::{PATH, Routes, describe};
use crate::storefront::state::Storefront;

/// How long others may keep the keys. New keys are used at once: whoever meets a token with an unknown key reads them again.
const KEYS_CACHED: &str = "public, max-age=300";

/// The route by which an app gets a token.
pub fn routes() -> Routes<Storefront> {
    let answer = object([
        ("access_token", json!({ "type": "string", "description": "A signed JWT (RFC 9068)." })),
        ("token_type", json!({ "const": "Bearer" })),
        (
            "expires_in",
            json!({ "type": "integer", "description": "Seconds until the token expires. Request a new token a minute before." }),
        ),
    ]);
    let doc = describe("Issue an access token: a short-lived JWT that other services of the shop can verify by themselves.", answer);
    Routes::none().post("/customers/access-token", doc.refusing(&[ProblemCode::AccessTokensNotConfigured]), issue)
}

/// The route by which anybody gets the keys that verify tokens.
pub fn public_routes() -> Routes<Storefront> {
    let keys = object([("keys", json!({ "type": "array", "items": { "type": "object" } }))]);
    let doc = OperationDoc::new("The public keys that verify the access tokens of a company's customers (JWKS, RFC 7517).")
        .authenticated_by(&[])
        .at("company", "The id of the company.")
        .answering(StatusCode::OK, keys)
        .refusing(&[ProblemCode::AccessTokensNotConfigured, ProblemCode::RecordNotFound]);
    Routes::none().get("/companies/{company}/jwks.json", doc, key_set)
}

/// `POST customers/access-token`
async fn issue(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Json<Value>, Problem> {
    let lifetime = storefront.settings.access_tokens.lifetime;
    let issuer = issuer(&storefront, caller.company_id())?;
    let claims = Claims::of(&caller, issuer, lifetime, storefront.clock.now());
    let token = SigningKey::current(&storefront.application_key, caller.company_id()).and_then(|key| key.sign(&claims));
    let token = token.map_err(|error| {
        tracing::error!(%error, "an access token could not be signed");
        ProblemCode::Internal
    })?;
    Ok(Json(json!({ "access_token": token, "token_type": "Bearer", "expires_in": claims.expires_in() })))
}

/// `GET companies/{company}/jwks.json`. It does not look the company up: the keys of one that does not exist verify nothing.
async fn key_set(State(storefront): State<Storefront>, Path(company): Path<String>) -> Result<Response, Problem> {
    let company = company.parse().map_err(|_| ProblemCode::RecordNotFound)?;
    issuer(&storefront, company)?;
    let keys = key_sets::of(&storefront.caches.key_sets, &storefront.application_key, company).ok_or(ProblemCode::Internal)?;
    Ok(([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, KEYS_CACHED)], keys).into_response())
}

/// The `iss` of a company's tokens; the address of its keys is below it.
fn issuer(storefront: &Storefront, company: CompanyId) -> Result<String, Problem> {
    let origin = storefront.settings.access_tokens.issuer.as_ref().ok_or(ProblemCode::AccessTokensNotConfigured)?;
    Ok(format!("{origin}{PATH}/companies/{company}"))
}
