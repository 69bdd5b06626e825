//! Gateways as records of `ledger/int/v1`: a company's accounts at payment gateways, and the secrets their callbacks are verified
//! with.
//!
//! Credentials are write-only: a response only shows whether they are set. Each is encrypted for its own row: a ciphertext that is
//! copied into another row, for example from a database dump, does not decrypt.

mod body;
mod find;
mod queries;
mod rotation;
mod secret_keys;
mod test;

use std::future::{Future, ready};

use axum::extract::FromRef;
use axum::http::Method;
use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::audit_trail::ChangedRecord;
use crate::callers::{Area, Scope};
use crate::companies::Companies;
use crate::gateways::accounts::body::KnownDriver;
use crate::gateways::credential::{GatewaySigningSecret, SecretKey};
use crate::gateways::drivers::{self, Mode};
use crate::gateways::state::Gateways;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::resources::{Columns, Extension, GracePeriod, Instant, Line, Presented, PublishesEvents, Record, Resource, Unique};

pub use find::find_any;
pub use secret_keys::{ActiveGateway, CardGateways, GatewayError, count_card_gateways, find_card_gateway, find_secret_key};

crate::fields! {
    /// A gateway.
    pub struct Gateway, body GatewayBody {
        /// The name that the company gives the gateway.
        #[searched]
        name: Line<255>,
        /// The driver of the gateway. It cannot be changed.
        #[filtered]
        driver: KnownDriver,
        /// Whether callbacks are accepted.
        #[filtered]
        status: Status,
        /// The settings of the driver.
        settings: Json<Map<String, Value>>,
    }
    by_hand {
        /// The API key for calls to the gateway.
        #[write_only]
        secret_key: Option<SecretKey>,
        /// The secret that the gateway signs its callbacks with.
        #[write_only]
        signing_secret: Option<GatewaySigningSecret>,
        /// Seconds for which the previous signing secret is accepted beside a new one. Without a new one, it moves the end of an overlap.
        #[write_only]
        overlap: Option<GracePeriod>,
    }
    read_only {
        /// Until when callbacks that are signed with the previous signing secret are accepted as well.
        previous_signing_secret_until: Option<Instant>,
    }
    computed {
        /// Whether the gateway has a secret key.
        has_secret_key: bool = |gateway| gateway.secret_key.is_some(),
        /// Whether the gateway has a signing secret.
        has_signing_secret: bool = |gateway| gateway.signing_secret.is_some(),
        /// The path for callbacks without an API key.
        callback_path: String,
        /// What about the settings will surprise, as sentences.
        warnings: Vec<String> = |gateway| gateway.warnings(),
    }
    hidden {
        /// The API key for calls to the gateway, encrypted; see `SecretKey::open`.
        secret_key: Option<Vec<u8>>,
        /// The secret of its callback signatures, encrypted; see `GatewaySigningSecret::open`.
        signing_secret: Option<Vec<u8>>,
        /// The one before, encrypted in the same way, while a rotation overlaps.
        previous_signing_secret: Option<Vec<u8>>,
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
    const AREA: Area = Area::Integration;
    /// A signing secret decides which payments are trusted, so the write scope for orders and positions is not enough.
    const WRITING: Scope = Scope::Admin;
    const WRITING_REACHES: &'static [(Area, Scope)] = &[(Area::Business, Scope::Write)];
    const LEADS_TO: &'static [&'static str] = &["driver", "settings", "secret_key", "signing_secret"];

    /// With its secret key, customers who save a card are made known to the gateway's account, with their proven contacts.
    fn reaches(&self, _: &Gateways) -> Vec<(Area, Scope)> {
        let is_called = drivers::named(&self.driver).is_ok_and(|driver| driver.needs_secret_key());
        if is_called { vec![(Area::Customers, Scope::Read)] } else { Vec::new() }
    }

    /// The callback path contains the id.
    fn present(_: &mut Connection, gateways: &[Record<Self>]) -> impl Future<Output = Presented> + Send {
        let shown = gateways.iter().map(|gateway| {
            let mut shown = gateway.fields.members();
            shown.insert("callback_path".to_owned(), format!("/webhooks/{}", gateway.id).into());
            shown
        });
        ready(Ok(shown.collect()))
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

    fn evict(gateways: &Gateways, company: CompanyId) {
        gateways.cache.forget(company);
    }
}

impl Gateway {
    /// What can be said of the settings alone, before any callback.
    fn warnings(&self) -> Vec<String> {
        let account = drivers::named(&self.driver).ok().and_then(|driver| driver.account(&self.settings, None).ok());
        account.map_or_else(Vec::new, |account| account.warnings().into_iter().map(|finding| finding.detail).collect())
    }
}

/// Decrypts the signing secret of a stored gateway, if it has one.
fn signing_secret(key: &ApplicationKey, id: GatewayId, sealed: Option<&[u8]>) -> Result<Option<GatewaySigningSecret>, CannotOpen> {
    sealed.map(|sealed| GatewaySigningSecret::open(key, id, sealed)).transpose()
}

/// Whether a stored gateway moves real money, as far as its secret key says so.
fn mode(key: &ApplicationKey, id: GatewayId, sealed: Option<&[u8]>) -> Option<Mode> {
    sealed.and_then(|sealed| SecretKey::open(key, id, sealed).ok()).as_ref().and_then(Mode::of_key)
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
