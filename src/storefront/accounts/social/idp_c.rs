//! Sign-in with provider C, and linking it to an account.

use axum::Json;
use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::kernel::json::{self, JsonBody, Members};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{FieldErrors, Problem, Sentence};
use crate::providers::RouteName;
use crate::providers::identity::{IdpCProof, Provider, user_id_member};
use crate::storefront::access::{CallingStore, FreshCustomer};
use crate::storefront::accounts::social::linking::Typed;
use crate::storefront::accounts::social::{description, finish, linking_path, own_links, path, with_neutral_user_id};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::routes::{Routes, Sent};
use crate::storefront::state::Storefront;

/// The neutral name of the provider's id of the person.
const USER_ID: &str = "idpCUserId";
const IDENTITY_TOKEN: &str = "idToken";

/// Adds the routes of provider C, which has this name in the deployment.
pub(super) fn mount(routes: Routes<Storefront>, name: &RouteName) -> Routes<Storefront> {
    let (neutral, own) = ("idp-c", name.to_string());
    let routes = mount_under(neutral, routes);
    if own == neutral { routes } else { mount_under(&own, routes) }
}

fn mount_under(name: &str, routes: Routes<Storefront>) -> Routes<Storefront> {
    let (user_id, schema) = (user_id_member(name), schema(name));
    let needed = [user_id.as_str(), IDENTITY_TOKEN];
    let routes = routes.post(&path(name), description(schema.clone()).needing_one_of(&needed), login_with_idp_c);
    routes.post(&linking_path(name), own_links::linking(schema).needing_one_of(&needed), link_idp_c)
}

/// The schema of the body under one of the provider's names.
fn schema(name: &str) -> Value {
    let described = |mut schema: Value, sentence: &str| {
        schema["description"] = sentence.into();
        schema
    };
    let token = "The access token of the provider. Required, unless an identity token is sent or this deployment accepts unverified ids.";
    let members = json!({
        user_id_member(name): described(Option::<String>::schema(), "The provider's id of the person. Required without an identity token."),
        "accessToken": described(Option::<SecretString>::schema(), token),
        "idToken": described(Option::<SecretString>::schema(), "The identity token of a limited sign-in, in place of the access token."),
        "nonce": described(Option::<String>::schema(), "The nonce that the app passed to the provider for the identity token."),
        "email": described(Option::<String>::schema(), "An email address for a new account. It is not proven."),
        "name": described(Option::<String>::schema(), "The name of the customer, for a new account."),
    });
    json!({ "type": "object", "properties": members })
}

/// The body of a request, with the neutral name of the person's id.
#[derive(Debug, Deserialize)]
#[serde(rename = "empty texts are none")]
struct Login {
    #[serde(rename = "idpCUserId")]
    user_id: Option<String>,
    #[serde(rename = "accessToken")]
    access_token: Option<SecretString>,
    #[serde(rename = "idToken")]
    identity_token: Option<SecretString>,
    nonce: Option<SecretString>,
    email: Option<String>,
    name: Option<String>,
}

impl Login {
    fn read(body: Map<String, Value>, name: &RouteName) -> Result<Self, Problem> {
        let body = with_neutral_user_id(body, name, USER_ID)?;
        // An identity token says whose it is.
        let needs_user_id = body.get(IDENTITY_TOKEN).is_none_or(json::is_missing);
        if needs_user_id && body.get(USER_ID).is_none_or(json::is_missing) {
            return Err(FieldErrors::one(USER_ID, Sentence::new("{} is required.").with(USER_ID)));
        }
        json::from_value(Value::Object(body))
    }

    fn proof(&self) -> IdpCProof<'_> {
        IdpCProof {
            user_id: self.user_id.as_deref(),
            access_token: self.access_token.as_ref(),
            identity_token: self.identity_token.as_ref(),
            nonce: self.nonce.as_ref().map(ExposeSecret::expose_secret),
        }
    }
}

/// `POST customers/login-with-idp-c`
async fn login_with_idp_c(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let providers = storefront.company_providers.of(store.company_id).await?;
    let provider = providers.idp_c()?;
    let login = Login::read(body, providers.name_of_c())?;
    let typed = Typed { name: login.name.clone(), email: login.email.clone() };
    let attempt = SignInAttempt::new(&store, Method::Provider(Provider::IDP_C), None, client);
    finish(&storefront, (&attempt, &languages), (&Provider::IDP_C, provider.verify(login.proof())), typed).await
}

/// `POST customers/link-idp-c`
async fn link_idp_c(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let providers = storefront.company_providers.of(caller.company_id()).await?;
    let provider = providers.idp_c()?;
    let login = Login::read(body, providers.name_of_c())?;
    own_links::link(&storefront, (&caller, &client.client()), &languages, (&Provider::IDP_C, provider.verify(login.proof()))).await
}
