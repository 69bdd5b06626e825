//! Sign-in with a provider that signs identity tokens, and linking it to an account: one that the settings list, or one that a company has of its
//! own. Its form says which fields a request has.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value, json};

use crate::kernel::json::{self, JsonBody, Members};
use crate::kernel::languages::AcceptedLanguages;
use crate::kernel::problem::{FieldErrors, Problem, Sentence};
use crate::providers::identity::{Field, Form, Listed, OidcProof};
use crate::storefront::access::{CallingStore, FreshCustomer, SignedInCustomer};
use crate::storefront::accounts::social::linking::Typed;
use crate::storefront::accounts::social::{description, finish, linking_path, own_links, path, with_neutral_user_id};
use crate::storefront::audit::{ClientInfo, Method, SignInAttempt};
use crate::storefront::routes::{Routes, Sent};
use crate::storefront::state::Storefront;
use crate::storefront::stores::Store;

/// Adds the routes of a provider.
pub(super) fn mount(routes: Routes<Storefront>, listed: &Arc<Listed>) -> Routes<Storefront> {
    let (neutral, own) = (listed.provider.neutral_name(), listed.oidc.name.to_string());
    let routes = mount_under(&neutral, routes, listed);
    if own == neutral { routes } else { mount_under(&own, routes, listed) }
}

fn mount_under(name: &str, routes: Routes<Storefront>, listed: &Arc<Listed>) -> Routes<Storefront> {
    let body = schema(&listed.form, name);
    let (doc, linking) = (description(body.clone()), own_links::linking(body));
    let (of_sign_in, of_link) = (Arc::clone(listed), Arc::clone(listed));
    let sign_in = move |State(storefront): State<Storefront>,
                        CallingStore { store }: CallingStore,
                        client: ClientInfo,
                        languages: AcceptedLanguages,
                        JsonBody(Members(body)): JsonBody<Members>| async move {
        let listed = storefront.company_providers.of(store.company_id).await?.in_place_of(&of_sign_in)?;
        sign_in_with(&storefront, &listed, &store, (client, &languages), body).await
    };
    let link = move |State(storefront): State<Storefront>,
                     FreshCustomer(caller): FreshCustomer,
                     client: ClientInfo,
                     languages: AcceptedLanguages,
                     JsonBody(Members(body)): JsonBody<Members>| async move {
        let listed = storefront.company_providers.of(caller.company_id()).await?.in_place_of(&of_link)?;
        link_with(&storefront, &listed, &caller, (client, &languages), body).await
    };
    routes.post(&path(name), doc, sign_in).post(&linking_path(name), linking, link)
}

/// Adds the routes of the providers that companies have of their own.
pub(super) fn mount_unlisted(routes: Routes<Storefront>) -> Routes<Storefront> {
    let (body, name) =
        (schema(&Form::unlisted(), ""), "The name of an identity provider of the company that the deployment does not list.");
    let (doc, linking) = (description(body.clone()).at("provider", name), own_links::linking(body).at("provider", name));
    routes.post(&path("{provider}"), doc, sign_in_unlisted).post(&linking_path("{provider}"), linking, link_unlisted)
}

/// `POST customers/login-with-{provider}`
async fn sign_in_unlisted(
    State(storefront): State<Storefront>,
    CallingStore { store }: CallingStore,
    Path(name): Path<String>,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let listed = storefront.company_providers.of(store.company_id).await?.named(&name)?;
    sign_in_with(&storefront, &listed, &store, (client, &languages), body).await
}

/// `POST customers/link-{provider}`
async fn link_unlisted(
    State(storefront): State<Storefront>,
    FreshCustomer(caller): FreshCustomer,
    Path(name): Path<String>,
    client: ClientInfo,
    languages: AcceptedLanguages,
    JsonBody(Members(body)): JsonBody<Members>,
) -> Result<Json<Value>, Problem> {
    let listed = storefront.company_providers.of(caller.company_id()).await?.named(&name)?;
    link_with(&storefront, &listed, &caller, (client, &languages), body).await
}

async fn sign_in_with(
    storefront: &Storefront,
    listed: &Listed,
    store: &Store,
    (client, languages): (ClientInfo, &AcceptedLanguages),
    body: Map<String, Value>,
) -> Result<Json<Value>, Problem> {
    let provider = listed.oidc.offered()?;
    let login = Login::read(listed, body)?;
    let typed = Typed { name: login.name().map(str::to_owned), email: None };
    let attempt = SignInAttempt::new(store, Method::Provider(listed.provider.clone()), None, client);
    finish(storefront, (&attempt, languages), (&listed.provider, provider.verify(login.proof())), typed).await
}

async fn link_with(
    storefront: &Storefront,
    listed: &Listed,
    caller: &SignedInCustomer,
    (client, languages): (ClientInfo, &AcceptedLanguages),
    body: Map<String, Value>,
) -> Result<Json<Value>, Problem> {
    let provider = listed.oidc.offered()?;
    let login = Login::read(listed, body)?;
    own_links::link(storefront, (caller, &client.client()), languages, (&listed.provider, provider.verify(login.proof()))).await
}

fn is_needed(field: Field) -> bool {
    matches!(field, Field::Token | Field::ClientId)
}

/// The schema of the body under one of the provider's names.
fn schema(form: &Form, name: &str) -> Value {
    let fields = form.fields().iter().map(|field| (*field, form.name_of(*field, name)));
    let members: Map<_, _> = fields.clone().map(|(field, name)| (name, described(field))).collect();
    let needed: Vec<_> = fields.filter(|(field, _)| is_needed(*field)).map(|(_, name)| name).collect();
    json!({ "type": "object", "properties": members, "required": needed })
}

fn described(field: Field) -> Value {
    let mut schema = if is_needed(field) { String::schema() } else { Option::<String>::schema() };
    let sentence = match field {
        Field::Token => "The identity token that the provider signed.",
        Field::ClientId => "The app's client id at the provider.",
        Field::AuthorizationCode => "The authorization code. Required if this deployment exchanges codes.",
        Field::UserId => "The provider's id of the person. It must match the identity token.",
        Field::Nonce => "The nonce that the app passed to the provider. It must match the identity token.",
        Field::Name => "The name of the customer, for a new account.",
    };
    schema["description"] = sentence.into();
    schema
}

/// The body of a request. Every field is kept as a secret, because some are.
#[derive(Debug)]
struct Login {
    token: SecretString,
    /// The other fields that were sent.
    others: Vec<(Field, SecretString)>,
}

impl Login {
    /// Reads the fields of the provider's form. Others are ignored, and `null` and `""` are the same as a missing field.
    fn read(listed: &Listed, body: Map<String, Value>) -> Result<Self, Problem> {
        let neutral = listed.provider.neutral_name();
        let name_of = |field: Field| listed.form.name_of(field, &neutral);
        let has_user_id = listed.form.fields().contains(&Field::UserId);
        let mut body = if has_user_id { with_neutral_user_id(body, &listed.oidc.name, &name_of(Field::UserId))? } else { body };
        let names: Vec<_> = listed.form.fields().iter().map(|field| (*field, name_of(*field))).collect();
        body.retain(|name, value| !json::is_missing(value) && names.iter().any(|(_, known)| known == name));
        let mut sent: BTreeMap<String, SecretString> = json::from_value(Value::Object(body))?;
        if let Some((_, missing)) = names.iter().find(|(field, name)| is_needed(*field) && !sent.contains_key(name)) {
            return Err(FieldErrors::one(missing, Sentence::new("{} is required.").with(missing)));
        }
        let mut fields: Vec<_> = names.into_iter().filter_map(|(field, name)| Some((field, sent.remove(&name)?))).collect();
        // It is the first field of every form.
        let (_, token) = fields.remove(0);
        Ok(Self { token, others: fields })
    }

    fn sent(&self, field: Field) -> Option<&SecretString> {
        self.others.iter().find(|(sent, _)| *sent == field).map(|(_, value)| value)
    }

    fn text(&self, field: Field) -> Option<&str> {
        self.sent(field).map(ExposeSecret::expose_secret)
    }

    fn name(&self) -> Option<&str> {
        self.text(Field::Name)
    }

    fn proof(&self) -> OidcProof<'_> {
        OidcProof {
            token: &self.token,
            client_id: self.text(Field::ClientId),
            code: self.sent(Field::AuthorizationCode),
            user_id: self.text(Field::UserId),
            nonce: self.text(Field::Nonce),
        }
    }
}
