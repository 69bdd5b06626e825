//! Sign-in with provider C.

use axum::Json;
use axum::extract::State;
use secrecy::SecretString;
use serde_json::Value;

use crate::kernel::json::{self, JsonBody, Members};
use crate::kernel::problem::Problem;
use crate::providers::RouteName;
use crate::providers::identity::{IdpCProof, Provider, user_id_member};
use crate::storefront::access::CallingStore;
use crate::storefront::accounts::social::linking::Typed;
use crate::storefront::accounts::social::{description, finish, path, with_neutral_user_id};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::routes::{Body, Routes, body};
use crate::storefront::state::Storefront;

/// Adds the routes of provider C, which has this name in the deployment.
pub(super) fn mount(routes: Routes<Storefront>, name: &RouteName) -> Routes<Storefront> {
    let doc = description(IdpCLogin::schema());
    let routes = routes.post(&path("idp-c"), doc.clone(), login_with_idp_c);
    match name.to_string() {
        own if own == "idp-c" => routes,
        own => routes.post(&path(&own), doc.renaming("idpCUserId", &user_id_member(&own)), login_with_idp_c),
    }
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
    let login: IdpCLogin = json::from_value(Value::Object(with_neutral_user_id(body, &idp_c.name, "idpCUserId")?))?;
    let typed = Typed::parse(login.name.as_deref(), login.email.as_deref())?;
    let proof = IdpCProof { user_id: &login.user_id, access_token: login.access_token.as_ref() };
    finish(&storefront, &SignInAttempt::new(&store, Method::Provider(Provider::IDP_C), None, client), provider.verify(proof), typed).await
}
