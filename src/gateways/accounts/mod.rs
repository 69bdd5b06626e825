//! Gateways as records of `ledger/int/v1`: a company's accounts at payment gateways, and the secrets their callbacks are verified
//! with.
//!
//! Credentials are write-only: a response only shows whether they are set. Each is encrypted for its own row: a ciphertext that is
//! copied into another row, for example from a database dump, does not decrypt.

mod body;
mod find;
mod queries;
mod secret_keys;
mod test;

use std::future::{Future, ready};

use axum::extract::FromRef;
use axum::http::Method;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::audit_trail::ChangedRecord;
use crate::callers::Scope;
use crate::companies::Companies;
use crate::gateways::credential::GatewaySigningSecret;
use crate::gateways::state::Gateways;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::GatewayId;
use crate::members;
use crate::resources::{Extension, Filter, Presented, PublishesEvents, Record, Resource, Unique};

pub use find::find_any;
pub use queries::company_of_gateway;
pub use secret_keys::{
    ActiveGateway, CardGateways, GatewayError, count_card_gateways, create_gateway, find_card_gateway, rotate_secret_key,
};

crate::columns! {
    /// A gateway row.
    pub struct Gateway {
        /// The name the company gives to the gateway.
        pub name: String,
        /// The driver of the gateway.
        pub driver: String,
        /// Whether the gateway is in use.
        pub status: Status,
        /// The settings of the driver.
        pub settings: Json<Map<String, Value>>,
        /// The API key for calls to the gateway, encrypted; see `SecretKey::open`.
        pub secret_key: Option<Vec<u8>>,
        /// The secret of its callback signatures, encrypted; see `GatewaySigningSecret::open`.
        pub signing_secret: Option<Vec<u8>>,
    }
}

crate::text_enum! {
    /// Whether a gateway is in use.
    pub enum Status, default Active {
        /// Callbacks are accepted.
        Active = "active",
        /// Callbacks are not accepted.
        Inactive = "inactive",
    }
}

impl Resource for Gateway {
    type Id = GatewayId;
    type State = Gateways;

    const SINGULAR: &'static str = "gateway";
    const PLURAL: &'static str = "gateways";
    const FILTERS: &'static [Filter] = &[Filter::text("driver"), Filter::text_enum::<Status>("status")];
    const SEARCH: &'static [&'static str] = &["name"];
    /// A signing secret decides which payments are trusted, so the write scope for orders and positions is not enough.
    const WRITING: Scope = Scope::Admin;

    /// Used instead of `shown`, because `callback_path` contains the id.
    fn present(_: &mut PgConnection, gateways: &[Record<Self>]) -> impl Future<Output = Presented> + Send {
        ready(Ok(gateways.iter().map(Self::members).collect()))
    }
}

impl Gateway {
    /// All fields except the credentials.
    fn members(record: &Record<Self>) -> Map<String, Value> {
        let fields = &record.fields;
        members! {
            "name": fields.name,
            "driver": fields.driver,
            "status": fields.status,
            "settings": fields.settings,
            "has_secret_key": fields.secret_key.is_some(),
            "has_signing_secret": fields.signing_secret.is_some(),
            "callback_path": format!("/webhooks/{}", record.id),
        }
    }
}

/// Changes to gateways publish no events.
impl PublishesEvents for Gateway {
    const AUDITED_AS: Option<fn(GatewayId) -> ChangedRecord> = Some(ChangedRecord::Gateway);
    const UNIQUE: &'static [Unique] = &[Unique {
        constraint: "gateways_active_card",
        member: "driver",
        sentence: "A company can have only one active gateway with this driver.",
    }];
}

/// Decrypts the signing secret of a stored gateway, if it has one.
fn signing_secret(key: &ApplicationKey, id: GatewayId, sealed: Option<&[u8]>) -> Result<Option<GatewaySigningSecret>, CannotOpen> {
    sealed.map(|sealed| GatewaySigningSecret::open(key, id, sealed)).transpose()
}

/// The five conventional routes, and the route that tests a gateway.
pub fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("ledger").editable::<Gateway>().route(Method::POST, "/gateways/{uuid}/test", test::doc(), test::test)
}
