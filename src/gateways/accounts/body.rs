//! The request bodies of gateways.

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use sqlx::types::Json;

use crate::companies::gateways::{SecretKey, SigningSecret};
use crate::gateways::Gateways;
use crate::gateways::accounts::{Gateway, Status};
use crate::gateways::driver::{BadSettings, Driver};
use crate::gateways::drivers;
use crate::kernel::ids::GatewayId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Described, Edit, Editable, Line, Member, New, Record};

/// The fields of a gateway that can be sent.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewayBody {
    name: Member<Line<255>>,
    driver: Member<KnownDriver>,
    status: Member<Status>,
    settings: Member<Map<String, Value>>,
    secret_key: Member<Option<SecretKey>>,
    signing_secret: Member<Option<SigningSecret>>,
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
    fn put(self, edit: &Edit<Gateways>, id: GatewayId, driver: &dyn Driver, gateway: &mut Gateway) -> Result<(), Problem> {
        self.name.put(&mut gateway.name);
        self.status.put(&mut gateway.status);
        if let Member::Sent(settings) = self.settings {
            gateway.settings = Json(settings);
        }
        // Encrypting the same text twice gives different bytes, so a credential that is sent always counts as a change.
        if let Member::Sent(secret_key) = self.secret_key {
            gateway.secret_key = secret_key.map(|secret| secret.seal(&edit.room.key, id));
        }
        if let Member::Sent(signing_secret) = self.signing_secret {
            gateway.signing_secret = signing_secret.map(|secret| secret.seal(&edit.room.key, id));
        }
        driver.account(&gateway.settings, None).map(drop).map_err(refused)
    }
}

fn refused(bad: BadSettings) -> Problem {
    let field = if bad.path.is_empty() { "settings".to_owned() } else { format!("settings.{}", bad.path) };
    FieldErrors::one(&field, if bad.reason.ends_with('.') { bad.reason } else { format!("{}.", bad.reason) })
}

impl Editable for Gateway {
    type Body = GatewayBody;

    fn documented() -> Vec<Described> {
        vec![
            Described::sent::<Line<255>>("name", "What its company calls it."),
            Described::formed("driver", "How it speaks; it stays.", json!({ "enum": drivers::names() })).and_needed(),
            Described::sent::<Status>("status", "Whether its callbacks are taken."),
            Described::formed("settings", "What its driver has to be told.", json!({ "type": "object" })).and_sent(),
            Described::formed("secret_key", "What calls to it are authenticated with.", json!({ "type": ["string", "null"] }))
                .never_shown(),
            Described::formed("signing_secret", "What it signs its callbacks with.", json!({ "type": ["string", "null"] })).never_shown(),
            Described::formed("has_secret_key", "Whether there is one.", json!({ "type": "boolean" })),
            Described::formed("has_signing_secret", "Whether there is one.", json!({ "type": "boolean" })),
            Described::formed("callback_path", "Where it calls back without an API key.", json!({ "type": "string" })),
        ]
    }

    async fn create(edit: &mut Edit<Gateways>, id: GatewayId, body: GatewayBody) -> Result<New<Self>, Problem> {
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
        body.put(edit, id, driver, &mut gateway)?;
        Ok(gateway.into())
    }

    async fn change(edit: &mut Edit<Gateways>, before: &Record<Self>, body: GatewayBody) -> Result<Self, Problem> {
        let mut gateway = before.fields.clone();
        let driver = drivers::named(&gateway.driver).ok_or_else(|| FieldErrors::one("driver", "This version has no such driver."))?;
        if let Member::Sent(KnownDriver(sent)) = body.driver
            && sent.name() != driver.name()
        {
            return Err(FieldErrors::one("driver", "What a gateway speaks stays; create another gateway."));
        }
        body.put(edit, before.id, driver, &mut gateway)?;
        Ok(gateway)
    }
}
