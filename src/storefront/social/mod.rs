//! Signing in with an identity provider (interface 1, `login-with-idp-a`, `-b`, `-c`; decisions, section 6).
//!
//! [`crate::providers::identity`] says who somebody is to a provider; [`linking`] finds or opens the account. `provider_links` is written
//! here alone: one row says that whoever is this subject to this provider opens this account. In this order:
//!
//! 1. a subject that is known in this store opens the account it is linked to, whatever its address is by now;
//! 2. else an address the provider vouches for opens the account it has been proven on, which is linked from then on;
//! 3. else a new account is opened. Its address is proven if the provider vouches for it and merely typed if not.
//!
//! An address out of a request's body is never more than typed: it opens nothing and is proven by nothing here.
//!
//! An identity token signs in once in a store: `used_identity_tokens`, written here alone too, remembers it until it is too old.
//!
//! The names of providers are the deployment's: one that is called `acme-id` is signed in with at `login-with-acme-id` too, and its
//! `acmeIdUserId` is read like the neutral member.

mod linking;
mod queries;

use axum::Json as Answer;
use axum::extract::State;
use axum::handler::Handler;
use futures::FutureExt;
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::kernel::json::{self, Json, Members};
use crate::kernel::problem::{FieldErrors, Problem, ProblemCode};
use crate::providers::RouteName;
use crate::providers::identity::{IdpAProof, IdpBProof, IdpCProof, VerifiedIdentity, VerifyError, user_id_member};
use crate::storefront::Storefront;
use crate::storefront::access::CallingStore;
use crate::storefront::audit::{Attempt, Method, Origin, audited};
use crate::storefront::routes::{self, Body, Parts, Routes, body, told};
use crate::storefront::social::linking::{Typed, sign_in};

pub(super) use queries::{forget_links, sweep_tokens};

/// The routes of the three providers, under the neutral names and those of this deployment.
pub(super) fn routes(storefront: &Storefront) -> Routes<Storefront> {
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
    let told = told("Sign in by the word of an identity provider; the first time, this opens an account.", routes::login())
        .reading::<B>()
        .refused(&[ProblemCode::ProviderNotConfigured, ProblemCode::IdentityNotVerified])
        .refused(&[ProblemCode::ProviderUnavailable, ProblemCode::Overloaded]);
    let path = |name: &str| format!("/customers/login-with-{name}");
    let routes = routes.post(&path(neutral), told.clone(), handler.clone());
    match name.to_string() {
        own if own == neutral => routes,
        own => {
            let told = told.renaming(&user_id_member(neutral), &user_id_member(&own));
            routes.post(&path(&own), told, handler)
        }
    }
}

body! {
    /// `POST customers/login-with-idp-a`
    #[derive(Debug)]
    struct IdpALogin {
        /// What the provider signed.
        identity_token as "identityToken": SecretString,
        /// Needed where this deployment exchanges it.
        authorization_code as "authorizationCode": Option<SecretString>,
        /// The provider's name for the person.
        user_id as "idpAUserId": Option<String>,
        /// What the app asked the provider to sign along.
        nonce: Option<String>,
        /// What a newcomer is called.
        name: Option<String>,
    }
}

/// `POST customers/login-with-idp-a`
async fn login_with_idp_a(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    origin: Origin,
    Json(Members(body)): Json<Members>,
) -> Result<Answer<Value>, Problem> {
    let idp_a = &storefront.identity_providers.idp_a;
    let provider = idp_a.offered()?;
    let login: IdpALogin = read(body, &idp_a.name, "idpAUserId")?;
    let typed = Typed::parse(login.name.as_deref(), None)?;
    let (token, code) = (&login.identity_token, login.authorization_code.as_ref());
    let proof = IdpAProof { token, code, user_id: login.user_id.as_deref(), nonce: login.nonce.as_deref() };
    finish(&storefront, &Attempt::new(&store, Method::IdpA, None, origin), provider.verify(proof), typed).await
}

body! {
    /// `POST customers/login-with-idp-b`
    #[derive(Debug)]
    struct IdpBLogin {
        /// What the provider signed.
        id_token as "idToken": SecretString,
        /// The app, as the provider knows it.
        client_id as "clientId": String,
        /// What the app asked the provider to sign along.
        nonce: Option<String>,
    }
}

/// `POST customers/login-with-idp-b`
async fn login_with_idp_b(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    origin: Origin,
    Json(Members(body)): Json<Members>,
) -> Result<Answer<Value>, Problem> {
    let provider = storefront.identity_providers.idp_b.offered()?;
    let login: IdpBLogin = json::from_value(Value::Object(body))?;
    let proof = IdpBProof { token: &login.id_token, client_id: &login.client_id, nonce: login.nonce.as_deref() };
    finish(&storefront, &Attempt::new(&store, Method::IdpB, None, origin), provider.verify(proof), Typed::default()).await
}

body! {
    /// `POST customers/login-with-idp-c`
    #[derive(Debug)]
    struct IdpCLogin {
        /// The provider's name for the person.
        user_id as "idpCUserId": String,
        /// What the provider is asked about; needed unless this deployment takes ids as they come.
        access_token as "accessToken": Option<SecretString>,
        /// A newcomer's mail address; it is merely typed.
        email: Option<String>,
        /// What a newcomer is called.
        name: Option<String>,
    }
}

/// `POST customers/login-with-idp-c`
async fn login_with_idp_c(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    origin: Origin,
    Json(Members(body)): Json<Members>,
) -> Result<Answer<Value>, Problem> {
    let idp_c = &storefront.identity_providers.idp_c;
    let provider = idp_c.offered()?;
    let login: IdpCLogin = read(body, &idp_c.name, "idpCUserId")?;
    let typed = Typed::parse(login.name.as_deref(), login.email.as_deref())?;
    let proof = IdpCProof { user_id: &login.user_id, access_token: login.access_token.as_ref() };
    finish(&storefront, &Attempt::new(&store, Method::IdpC, None, origin), provider.verify(proof), typed).await
}

/// Signs in whom the provider stands by.
async fn finish(
    storefront: &Storefront,
    attempt: &Attempt<'_>,
    verifying: impl Future<Output = Result<VerifiedIdentity, VerifyError>> + Send,
    typed: Typed,
) -> Result<Answer<Value>, Problem> {
    let flow = async { sign_in(storefront, attempt, verifying.await?, typed).await };
    let signed_in = audited(storefront, attempt, flow.boxed()).await?;
    Ok(Answer(signed_in.answer(&storefront.settings)))
}

/// Reads a body in which the provider's name for the person may stand under the deployment's own member.
fn read<T: DeserializeOwned>(mut body: Map<String, Value>, name: &RouteName, neutral: &str) -> Result<T, Problem> {
    if let Some(id) = body.remove(&user_id_member(&name.to_string()))
        && body.insert(neutral.to_owned(), id).is_some()
    {
        return Err(FieldErrors::one(neutral, format!("{neutral} is given under both of its names.")));
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
