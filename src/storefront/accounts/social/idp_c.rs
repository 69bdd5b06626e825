//! Sign-in with provider C, and linking it to an account.

use axum::Json;
use axum::extract::State;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::kernel::json::{self, JsonBody, Members};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::Problem;
use crate::providers::RouteName;
use crate::providers::identity::{IdpCProof, Provider, user_id_member};
use crate::storefront::access::{CallingStore, FreshCustomer};
use crate::storefront::accounts::social::linking::Typed;
use crate::storefront::accounts::social::{description, finish, linking_path, own_links, path, with_neutral_user_id};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::routes::{Routes, Sent};
use crate::storefront::state::Storefront;

/// Adds the routes of provider C, which has this name in the deployment.
pub(super) fn mount(routes: Routes<Storefront>, name: &RouteName) -> Routes<Storefront> {
    let (neutral, own) = ("idp-c", name.to_string());
    let routes = mount_under(neutral, routes);
    if own == neutral { routes } else { mount_under(&own, routes) }
}

fn mount_under(name: &str, routes: Routes<Storefront>) -> Routes<Storefront> {
    let routes = routes.post(&path(name), description(schema(name)), login_with_idp_c);
    routes.post(&linking_path(name), own_links::linking(schema(name)), link_idp_c)
}

/// The schema of the body under one of the provider's names.
fn schema(name: &str) -> Value {
    let user_id = user_id_member(name);
    let described = |mut schema: Value, sentence: &str| {
        schema["description"] = sentence.into();
        schema
    };
    let token = "The access token of the provider. Required unless this deployment accepts unverified ids.";
    let members = json!({
        user_id.as_str(): described(String::schema(), "The provider's id of the person."),
        "accessToken": described(Option::<SecretString>::schema(), token),
        "email": described(Option::<String>::schema(), "An email address for a new account. It is not proven."),
        "name": described(Option::<String>::schema(), "The name of the customer, for a new account."),
    });
    json!({ "type": "object", "properties": members, "required": [user_id] })
}

/// The body of a request, with the neutral name of the person's id.
#[derive(Debug, Deserialize)]
struct Login {
    #[serde(rename = "idpCUserId")]
    user_id: String,
    #[serde(rename = "accessToken")]
    access_token: Option<SecretString>,
    email: Option<String>,
    name: Option<String>,
}

impl Login {
    fn read(body: Map<String, Value>, name: &RouteName) -> Result<Self, Problem> {
        json::from_value(Value::Object(with_neutral_user_id(body, name, "idpCUserId")?))
    }

    fn proof(&self) -> IdpCProof<'_> {
        IdpCProof { user_id: &self.user_id, access_token: self.access_token.as_ref() }
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
    finish(&storefront, (&attempt, &languages), provider.verify(login.proof()), typed).await
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
    own_links::link(&storefront, (&caller, &client.client()), &languages, provider.verify(login.proof())).await
}
