//! The values of the fields of an identity provider.

use serde_json::{Value, json};

use crate::providers::RouteName;
use crate::resources::{FieldType, Input, Line};
use crate::storefront::company_providers::ClientSecret;
use crate::webhooks::EndpointUrl;

/// The longest lists of issuers and of apps.
pub const MAX_ITEMS: usize = 20;

/// The name of a provider in routes.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub struct ProviderName(RouteName);

impl From<ProviderName> for String {
    fn from(name: ProviderName) -> Self {
        name.0.to_string()
    }
}

/// The issuers of a provider.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub struct Issuers(Lines);

/// The ids of a company's apps at a provider.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub struct Apps(Lines);

/// Where the keys of a provider are.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(transparent)]
pub struct KeysUrl(pub EndpointUrl);

type Lines = Vec<Line<255>>;

impl From<Issuers> for Vec<String> {
    fn from(issuers: Issuers) -> Self {
        issuers.0.into_column()
    }
}

impl From<Apps> for Vec<String> {
    fn from(apps: Apps) -> Self {
        apps.0.into_column()
    }
}

impl From<KeysUrl> for EndpointUrl {
    fn from(url: KeysUrl) -> Self {
        url.0
    }
}

/// At most [`MAX_ITEMS`] lines.
fn lines(example: &str) -> Value {
    let mut schema = Lines::schema();
    (schema["maxItems"], schema["examples"]) = (MAX_ITEMS.into(), json!([[example]]));
    schema
}

fn keys_url() -> Value {
    let mut schema = EndpointUrl::schema();
    schema["examples"] = json!(["https://shop.example/keys"]);
    schema
}

crate::field_type!(Issuers => Vec<String>, lines("https://id.acme.example"), initially Vec::new());
crate::field_type!(Apps => Vec<String>, lines("com.acme.shop"), initially Vec::new());
crate::field_type!(KeysUrl => EndpointUrl, keys_url());
crate::field_type!(ProviderName => String, json!({ "type": "string", "pattern": "^[a-z][a-z0-9-]{0,39}$", "examples": ["acme-id"] }));

crate::request_type!(ClientSecret, json!({ "type": "string" }), asked by Input::Secret);
