//! Card helpers: the secrets that an app's SDK of the card provider needs to save a card (interface 1;
//! `docs/specification/decisions.md`, section 6).
//!
//! The app calls the provider directly. Portico gives it short-lived secrets, which are created with the secret key of the
//! company's gateway. No app may hold that key. The secrets belong to the provider's record of the customer, which is created
//! once per customer and gateway. Its idempotency key is committed before the call to the provider. Parallel calls on any
//! instance therefore send the same idempotency key and get the same record.

mod customer;
mod queries;
mod setup_limit;

use axum::Json;
use axum::extract::State;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

use crate::gateways::GatewayError;
use crate::kernel::client_address::ClientAddress;
use crate::kernel::error_chain::chain;
use crate::kernel::json::JsonOptions;
use crate::kernel::openapi::object;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::providers::RouteName;
use crate::providers::card::{ApiVersion, Card, CardCustomerId, CardError};
use crate::storefront::access::SignedInCustomer;
use crate::storefront::card::customer::grant;
use crate::storefront::routes::{Routes, body, describe};
use crate::storefront::state::Storefront;

pub use queries::export_entries;

/// The card routes, under their neutral name and under the name of this deployment.
pub fn routes(name: &RouteName) -> Routes<Storefront> {
    let text = || json!({ "type": "string" });
    let key = object([("ephemeralKey", text()), ("customerId", text())]);
    let intent = object([("setupIntentId", text()), ("setupIntent", text()), ("customerId", text())]);
    let refused = &[ProblemCode::CardNotConfigured, ProblemCode::CardProviderFailed];
    let keys = describe("Create an ephemeral key for the card provider's SDK to show the customer's cards.", key).refusing(refused);
    let intents = describe("Create a setup intent for the card provider's SDK to save a card.", intent).refusing(refused);
    let mut names = vec!["card".to_owned(), name.to_string()];
    names.dedup();
    names.iter().fold(Routes::none(), |routes, name| {
        let routes = routes.post(&format!("/customers/{name}-ephemeral-key"), keys.clone(), ephemeral_key);
        routes.post(&format!("/customers/{name}-setup-intent"), intents.clone(), setup_intent)
    })
}

/// The reason why the app gets no secret.
#[derive(Debug, thiserror::Error)]
enum CardHelperError {
    #[error("the company has no active card gateway")]
    NotConfigured,
    #[error("the card provider could not be used")]
    Provider(#[from] CardError),
    #[error("the company's card gateway cannot be used")]
    Gateway(#[source] GatewayError),
    #[error("the customer's id at the card provider could not be stored")]
    Database(#[from] sqlx::Error),
}

impl From<CardHelperError> for Problem {
    fn from(error: CardHelperError) -> Self {
        match error {
            CardHelperError::NotConfigured => ProblemCode::CardNotConfigured.into(),
            CardHelperError::Provider(_) => {
                tracing::warn!(error = chain(&error), "a card request of a customer failed");
                ProblemCode::CardProviderFailed.into()
            }
            CardHelperError::Gateway(GatewayError::Database(error)) | CardHelperError::Database(error) => error.into(),
            CardHelperError::Gateway(_) => {
                tracing::error!(error = chain(&error), "a card request of a customer failed");
                ProblemCode::Internal.into()
            }
        }
    }
}

body! {
    /// `POST customers/card-ephemeral-key`
    #[derive(Debug)]
    struct EphemeralKeyRequest {
        /// The API version that the app's SDK was built for. The SDK accepts keys of this version only.
        api_version as "apiVersion": Option<ApiVersion>,
    }
}

/// A secret that an app can ask for.
#[derive(Debug)]
enum Wish {
    EphemeralKey(Option<ApiVersion>),
    SetupIntent,
}

impl Wish {
    /// Requests the secret from the provider and returns the response for the app.
    async fn ask(&self, card: &Card, secret_key: &SecretString, customer: &CardCustomerId, once: &str) -> Result<Value, CardError> {
        match self {
            Self::EphemeralKey(version) => {
                let key = card.create_ephemeral_key(secret_key, customer, version.as_ref(), once).await?;
                Ok(json!({ "ephemeralKey": key.secret.expose_secret(), "customerId": customer.as_str() }))
            }
            Self::SetupIntent => {
                let intent = card.create_setup_intent(secret_key, customer, once).await?;
                let secret = intent.client_secret.expose_secret();
                Ok(json!({ "setupIntentId": intent.id, "setupIntent": secret, "customerId": customer.as_str() }))
            }
        }
    }
}

/// `POST customers/card-ephemeral-key`
async fn ephemeral_key(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    JsonOptions(request): JsonOptions<EphemeralKeyRequest>,
) -> Result<Json<Value>, Problem> {
    Ok(Json(grant(&storefront, &caller, &Wish::EphemeralKey(request.api_version)).await?))
}

/// `POST customers/card-setup-intent`
async fn setup_intent(
    State(storefront): State<Storefront>,
    caller: SignedInCustomer,
    client: ClientAddress,
) -> Result<Json<Value>, Problem> {
    setup_limit::count(&storefront, &caller, client).await?;
    Ok(Json(grant(&storefront, &caller, &Wish::SetupIntent).await?))
}
