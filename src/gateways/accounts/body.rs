//! The request bodies of gateways.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use sqlx::types::Json;

use crate::companies::gateways::{GatewaySigningSecret, SecretKey};
use crate::gateways::Gateways;
use crate::gateways::accounts::{Gateway, Status};
use crate::gateways::driver::{Driver, SettingsError};
use crate::gateways::drivers;
use crate::kernel::ids::GatewayId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Editable, FieldDoc, Line, Member, New, Record, RecordTransaction};

/// The fields of a gateway that can be sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayBody {
    name: Member<Line<255>>,
    driver: Member<KnownDriver>,
    status: Member<Status>,
    settings: Member<Map<String, Value>>,
    secret_key: Member<Option<SecretKey>>,
    signing_secret: Member<Option<GatewaySigningSecret>>,
}

/// The driver with the given name; unknown names are refused.
#[derive(Clone, Copy, Debug)]
struct KnownDriver(&'static dyn Driver);

impl<'de> Deserialize<'de> for KnownDriver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom(format!("There is no driver {name:?}; drivers are {}.", drivers::names().join(", ")));
        drivers::named(&name).map(Self).ok_or_else(unknown)
    }
}

impl GatewayBody {
    fn put(
        self,
        transaction: &RecordTransaction<Gateways>,
        id: GatewayId,
        driver: &dyn Driver,
        gateway: &mut Gateway,
    ) -> Result<(), Problem> {
        self.name.put(&mut gateway.name);
        self.status.put(&mut gateway.status);
        if let Member::Sent(settings) = self.settings {
            gateway.settings = Json(settings);
        }
        // Encrypting the same text twice gives different bytes, so a credential that is sent always counts as a change.
        if let Member::Sent(secret_key) = self.secret_key {
            gateway.secret_key = secret_key.map(|secret| secret.seal(&transaction.state.key, id));
        }
        if let Member::Sent(signing_secret) = self.signing_secret {
            gateway.signing_secret = signing_secret.map(|secret| secret.seal(&transaction.state.key, id));
        }
        driver.account(&gateway.settings, None).map(drop).map_err(refused)
    }
}

fn refused(bad: SettingsError) -> Problem {
    let field = if bad.path.is_empty() { "settings".to_owned() } else { format!("settings.{}", bad.path) };
    FieldErrors::one(&field, if bad.reason.ends_with('.') { bad.reason } else { format!("{}.", bad.reason) })
}

impl Editable for Gateway {
    type Body = GatewayBody;

    fn documented_fields() -> Vec<FieldDoc> {
        vec![
            FieldDoc::writable::<Line<255>>("name", "The name that the company gives the gateway."),
            FieldDoc::with_schema("driver", "The driver of the gateway. It cannot be changed.", json!({ "enum": drivers::names() }))
                .and_required(true),
            FieldDoc::writable::<Status>("status", "Whether callbacks are accepted."),
            FieldDoc::with_schema("settings", "The settings of the driver.", json!({ "type": "object" })).and_writable(),
            FieldDoc::with_schema("secret_key", "The API key for calls to the gateway.", json!({ "type": ["string", "null"] }))
                .write_only(),
            FieldDoc::with_schema(
                "signing_secret",
                "The secret that the gateway signs its callbacks with.",
                json!({ "type": ["string", "null"] }),
            )
            .write_only(),
            FieldDoc::with_schema("has_secret_key", "Whether the gateway has a secret key.", json!({ "type": "boolean" })),
            FieldDoc::with_schema("has_signing_secret", "Whether the gateway has a signing secret.", json!({ "type": "boolean" })),
            FieldDoc::with_schema("callback_path", "The path for callbacks without an API key.", json!({ "type": "string" })),
        ]
    }

    async fn create(transaction: &mut RecordTransaction<Gateways>, id: GatewayId, body: GatewayBody) -> Result<New<Self>, Problem> {
        let mut needed = FieldErrors::default();
        let (name, driver) = (needed.require("name", body.name.as_sent()), needed.require("driver", body.driver.as_sent()));
        let (Some(_), Some(&KnownDriver(driver))) = (name, driver) else { return Err(needed.into_problem()) };
        let mut gateway = Self {
            name: String::new(),
            driver: driver.name().to_owned(),
            status: Status::Active,
            settings: Json::default(),
            secret_key: None,
            signing_secret: None,
        };
        body.put(transaction, id, driver, &mut gateway)?;
        Ok(gateway.into())
    }

    async fn change(transaction: &mut RecordTransaction<Gateways>, before: &Record<Self>, body: GatewayBody) -> Result<Self, Problem> {
        let mut gateway = before.fields.clone();
        let driver = drivers::named(&gateway.driver)
            .ok_or_else(|| FieldErrors::one("driver", "This version of the service does not have this driver."))?;
        if let Member::Sent(KnownDriver(sent)) = body.driver
            && sent.name() != driver.name()
        {
            return Err(FieldErrors::one("driver", "The driver of a gateway cannot change; create another gateway."));
        }
        body.put(transaction, before.id, driver, &mut gateway)?;
        Ok(gateway)
    }
}
