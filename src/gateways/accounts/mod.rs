//! Gateways as records of `ledger/int/v1`: a company's accounts at payment gateways, and what their callbacks are verified with.
//!
//! Credentials are written and never read back: an answer says only whether they are there. Each is sealed for its own row. Not even a
//! dump of the database, put into another row, opens them.

mod body;
mod find;
mod recent;
mod test;

use std::future::{Future, ready};

use axum::extract::FromRef;
use axum::http::Method;
use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::companies::gateways::SigningSecret;
use crate::companies::{Companies, Scope};
use crate::gateways::Gateways;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::ids::GatewayId;
use crate::members;
use crate::resources::{Announced, Extension, Filter, Presented, Record, Resource, Unique};

pub(super) use find::{Found, find_any};
pub(super) use recent::Recent;

crate::columns! {
    /// What is kept of a gateway.
    pub struct Gateway {
        /// What its company calls it.
        pub name: String,
        /// How it speaks.
        pub driver: String,
        /// Whether it is in use.
        pub status: Status,
        /// What its driver has to be told.
        pub settings: Json<Map<String, Value>>,
        /// What calls to it are authenticated with, for `SecretKey::open`.
        pub secret_key: Option<Vec<u8>>,
        /// What it signs its callbacks with, for `SigningSecret::open`.
        pub signing_secret: Option<Vec<u8>>,
    }
}

crate::words! {
    /// Whether a gateway is in use.
    pub enum Status, initially Active {
        /// Its callbacks are taken.
        Active = "active",
        /// They are not.
        Inactive = "inactive",
    }
}

impl Resource for Gateway {
    type Id = GatewayId;
    type Room = Gateways;

    const SINGULAR: &'static str = "gateway";
    const PLURAL: &'static str = "gateways";
    const FILTERS: &'static [Filter] = &[Filter::text("driver"), Filter::word::<Status>("status")];
    const SEARCH: &'static [&'static str] = &["name"];
    /// Whoever sets a signing secret decides what is paid: a key that writes orders and positions does not.
    const WRITING: Scope = Scope::Admin;

    /// Not `shown`, because the path has the id in it.
    fn present(_: &mut PgConnection, gateways: &[Record<Self>]) -> impl Future<Output = Presented> + Send {
        ready(Ok(gateways.iter().map(Self::members).collect()))
    }
}

impl Gateway {
    /// Everything but the credentials.
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

/// Gateways are nobody's event.
impl Announced for Gateway {
    const UNIQUE: &'static [Unique] = &[
        Unique {
            constraint: "gateways_active_card",
            member: "driver",
            sentence: "There is an active gateway with this driver; a company has one.",
        },
        Unique { constraint: "gateways_card_has_key", member: "secret_key", sentence: "A gateway of the driver card needs a secret_key." },
    ];
}

/// What a stored gateway signs its callbacks with, if anybody has said.
fn signing_secret(key: &ApplicationKey, id: GatewayId, sealed: Option<&[u8]>) -> Result<Option<SigningSecret>, CannotOpen> {
    sealed.map(|sealed| SigningSecret::open(key, id, sealed)).transpose()
}

/// The five routes, and the one that tries a gateway out.
pub(super) fn extension<S>() -> Extension<S>
where
    Gateways: FromRef<S>,
    Companies: FromRef<S>,
    S: Clone + Send + Sync + 'static,
{
    Extension::new("ledger").editable::<Gateway>().beside(
        Method::POST,
        "/gateways/{uuid}/test",
        "See what a gateway still needs, and what a sample would tell.",
        test::test,
    )
}
