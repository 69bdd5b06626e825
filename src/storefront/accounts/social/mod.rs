//! Sign-in with an identity provider (interface 1, `login-with-idp-a`, `-b`, `-c`; `docs/specification/decisions.md`, section 6).
//!
//! [`crate::providers::identity`] verifies the identity. [`linking`] finds or opens the account. This module is the only writer
//! of `provider_links`: a row links a subject of a provider to an account of a store. The account is determined in this order:
//!
//! 1. A subject that is linked in this store opens the linked account, even if its address has changed since.
//! 2. Otherwise an address that the provider vouches for opens the account that has proven it. The subject is linked to that
//!    account.
//! 3. Otherwise a new account is opened. Its address is proven if the provider vouches for it, and unproven if not.
//!
//! An address in the request body is always unproven: it opens no account and proves nothing.
//!
//! An identity token can be used once per store: `used_identity_tokens` stores its digest until the token is too old.
//!
//! A deployment can rename the providers. A provider with the name `acme-id` is also available at `login-with-acme-id`, and the
//! field `acmeIdUserId` is accepted like the neutral one.

mod linking;
mod queries;

use axum::Json;
use axum::extract::State;
use axum::handler::Handler;
use futures::FutureExt;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::kernel::json::{self, JsonBody, Members};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::providers::RouteName;
use crate::providers::identity::{IdpAProof, IdpBProof, IdpCProof, VerifiedIdentity, VerifyError, user_id_member};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::signed_in::audited;
use crate::storefront::accounts::social::linking::{Typed, sign_in};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::routes::{self, Body, Parts, Routes, body, describe};
use crate::storefront::state::Storefront;

pub use queries::{export_links, forget_links, sweep_tokens};

/// The routes of the three providers, under their neutral names and under the names of this deployment.
pub fn routes(storefront: &Storefront) -> Routes<Storefront> {
    let providers = &storefront.identity_providers;
    let routes = Routes::none();
    let routes = mount::<IdpALogin, _, _>(routes, "idp-a", &providers.idp_a.name, login_with_idp_a);
    let routes = mount::<IdpBLogin, _, _>(routes, "idp-b", &providers.idp_b.name, login_with_idp_b);
    mount::<IdpCLogin, _, _>(routes, "idp-c", &providers.idp_c.name, login_with_idp_c)
}

fn mount<B, H, T>(routes: Routes<Storefront>, neutral: &str, name: &RouteName, handler: H) -> Routes<Storefront>
where
    B: Body,
    H: Handler<T, Storefront>,
    T: Parts + 'static,
{
    let doc = describe("Sign in with an identity provider. The first sign-in creates an account.", routes::login())
        .taking_body(B::schema())
        .refusing(&[ProblemCode::ProviderNotConfigured, ProblemCode::IdentityNotVerified])
        .refusing(&[ProblemCode::ProviderUnavailable, ProblemCode::Overloaded]);
    let path = |name: &str| format!("/customers/login-with-{name}");
    let routes = routes.post(&path(neutral), doc.clone(), handler.clone());
    match name.to_string() {
        own if own == neutral => routes,
        own => {
            let doc = doc.renaming(&user_id_member(neutral), &user_id_member(&own));
            routes.post(&path(&own), doc, handler)
        }
    }
}

body! {
    /// `POST customers/login-with-idp-a`
    #[derive(Debug)]
    struct IdpALogin {
        /// The identity token that the provider signed.
        identity_token as "identityToken": SecretString,
        /// The authorization code. Required if this deployment exchanges codes.
        authorization_code as "authorizationCode": Option<SecretString>,
        /// The provider's id of the person. It must match the identity token.
        user_id as "idpAUserId": Option<String>,
        /// The nonce that the app passed to the provider. It must match the identity token.
        nonce: Option<String>,
        /// The name of the customer, for a new account.
        name: Option<String>,
    }
}

/// `POST customers/login-with-idp-a`
async fn login_with_idp_a(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let idp_a = &storefront.identity_providers.idp_a;
    let provider = idp_a.offered()?;
    let login: IdpALogin = read(body, &idp_a.name, "idpAUserId")?;
    let typed = Typed::parse(login.name.as_deref(), None)?;
    let (token, code) = (&login.identity_token, login.authorization_code.as_ref());
    let proof = IdpAProof { token, code, user_id: login.user_id.as_deref(), nonce: login.nonce.as_deref() };
    finish(&storefront, &SignInAttempt::new(&store, Method::IdpA, None, client), provider.verify(proof), typed).await
}

body! {
    /// `POST customers/login-with-idp-b`
    #[derive(Debug)]
    struct IdpBLogin {
        /// The identity token that the provider signed.
        id_token as "idToken": SecretString,
        /// The app's client id at the provider.
        client_id as "clientId": String,
        /// The nonce that the app passed to the provider. It must match the identity token.
        nonce: Option<String>,
    }
}

/// `POST customers/login-with-idp-b`
async fn login_with_idp_b(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let provider = storefront.identity_providers.idp_b.offered()?;
    let login: IdpBLogin = json::from_value(Value::Object(body))?;
    let proof = IdpBProof { token: &login.id_token, client_id: &login.client_id, nonce: login.nonce.as_deref() };
    finish(&storefront, &SignInAttempt::new(&store, Method::IdpB, None, client), provider.verify(proof), Typed::default()).await
}

body! {
    /// `POST customers/login-with-idp-c`
    #[derive(Debug)]
    struct IdpCLogin {
        /// The provider's id of the person.
        user_id as "idpCUserId": String,
        /// The access token of the provider. Required unless this deployment accepts unverified ids.
        access_token as "accessToken": Option<SecretString>,
        /// An email address for a new account. It is not proven.
        email: Option<String>,
        /// The name of the customer, for a new account.
        name: Option<String>,
    }
}

/// `POST customers/login-with-idp-c`
async fn login_with_idp_c(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let idp_c = &storefront.identity_providers.idp_c;
    let provider = idp_c.offered()?;
    let login: IdpCLogin = read(body, &idp_c.name, "idpCUserId")?;
    let typed = Typed::parse(login.name.as_deref(), login.email.as_deref())?;
    let proof = IdpCProof { user_id: &login.user_id, access_token: login.access_token.as_ref() };
    finish(&storefront, &SignInAttempt::new(&store, Method::IdpC, None, client), provider.verify(proof), typed).await
}

/// Signs in the person whom the provider identified.
async fn finish(
    storefront: &Storefront,
    attempt: &SignInAttempt<'_>,
    verifying: impl Future<Output = Result<VerifiedIdentity, VerifyError>> + Send,
    typed: Typed,
) -> Result<Json<Value>, Problem> {
    let flow = async { sign_in(storefront, attempt, verifying.await?, typed).await };
    let signed_in = audited(storefront, attempt, flow.boxed()).await?;
    Ok(Json(signed_in.answer(&storefront.settings)))
}

/// Reads a body. The provider's id of the person may be in a field that has the deployment's name for the provider.
fn read<T: DeserializeOwned>(mut body: Map<String, Value>, name: &RouteName, neutral: &str) -> Result<T, Problem> {
    if let Some(id) = body.remove(&user_id_member(&name.to_string()))
        && body.insert(neutral.to_owned(), id).is_some()
    {
        return Err(FieldErrors::one(neutral, format!("{neutral} must not be sent under both of its names.")));
    }
    json::from_value(Value::Object(body))
}

impl From<VerifyError> for Problem {
    fn from(error: VerifyError) -> Self {
        match error {
            VerifyError::NotConfigured => ProblemCode::ProviderNotConfigured.into(),
            VerifyError::NotVerified(flaw) => {
                tracing::info!(%flaw, "a proof of identity was refused");
                ProblemCode::IdentityNotVerified.into()
            }
            VerifyError::Unavailable { seconds } => Problem::new(ProblemCode::ProviderUnavailable).retry_after(seconds),
        }
    }
}
