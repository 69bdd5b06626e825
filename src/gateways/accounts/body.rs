//! How request bodies create and change gateways.

use std::mem::take;

use chrono::TimeDelta;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use crate::gateways::accounts::{Gateway, GatewayBody};
use crate::gateways::credential::{Credential, GatewaySigningSecret, Purpose, SecretKey};
use crate::gateways::drivers::{self, GatewayDriver, SettingsError};
use crate::gateways::state::Gateways;
use crate::kernel::ids::GatewayId;
use crate::kernel::problem::{FieldErrors, Problem};
use crate::resources::{Editable, Fields, FilterForm, GracePeriod, Input, Line, Member, New, Record, RecordTransaction};

/// The driver with the given name; unknown names are refused.
#[derive(Clone, Copy, Debug)]
pub struct KnownDriver(&'static dyn GatewayDriver);

impl<'de> Deserialize<'de> for KnownDriver {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        drivers::named(&String::deserialize(deserializer)?).map(Self).map_err(serde::de::Error::custom)
    }
}

impl From<KnownDriver> for String {
    fn from(KnownDriver(driver): KnownDriver) -> Self {
        driver.name().to_owned()
    }
}

crate::field_type!(
    KnownDriver => String,
    json!({ "enum": drivers::names(), "examples": [drivers::EXAMPLE] }),
    filtered by FilterForm::text::<KnownDriver>("the name of a driver")
);

crate::request_type!(Credential<K>, json!({ "type": "string" }), asked by Input::Secret; for K: Purpose + Send + Sync + 'static);

impl GatewayBody {
    /// The body that creates an active gateway without settings.
    pub fn of(driver: &'static dyn GatewayDriver, name: Line<255>, secret_key: SecretKey) -> Self {
        Self { name: Member::Sent(name), driver: Member::Sent(KnownDriver(driver)), ..Self::rotating(secret_key) }
    }

    /// The body that replaces the signing secret of a gateway. The one before is accepted as well for `overlap`.
    pub fn signed_with(signing_secret: GatewaySigningSecret, overlap: GracePeriod) -> Self {
        Self { signing_secret: Member::Sent(Some(signing_secret)), overlap: Member::Sent(Some(overlap)), ..Self::default() }
    }

    /// The body that replaces the secret key of a gateway. Saved cards are not affected.
    pub fn rotating(secret_key: SecretKey) -> Self {
        Self { secret_key: Member::Sent(Some(secret_key)), ..Self::default() }
    }
}

/// The fields of a body that are encrypted.
struct Credentials {
    secret_key: Member<Option<SecretKey>>,
    signing_secret: Member<Option<GatewaySigningSecret>>,
    overlap: Member<Option<GracePeriod>>,
}

impl Credentials {
    fn take_from(body: &mut GatewayBody) -> Self {
        Self { secret_key: take(&mut body.secret_key), signing_secret: take(&mut body.signing_secret), overlap: take(&mut body.overlap) }
    }
}

impl Gateway {
    /// Completes what a body says: the credentials, which are encrypted, and the check of the settings.
    fn complete(&mut self, credentials: Credentials, transaction: &RecordTransaction<Gateways>, id: GatewayId) -> Result<(), Problem> {
        // Encrypting the same text twice gives different bytes, so a credential that is sent always counts as a change.
        if let Member::Sent(secret_key) = credentials.secret_key {
            self.secret_key = secret_key.map(|secret| secret.seal(&transaction.state.key, id));
        }
        let overlap = match credentials.overlap {
            Member::Missing => None,
            Member::Sent(overlap) => Some(TimeDelta::from(overlap.unwrap_or_default())),
        };
        match (credentials.signing_secret, overlap) {
            (Member::Sent(secret), overlap) => {
                let overlap = overlap.unwrap_or_else(|| GracePeriod::default().into());
                self.rotate(secret, overlap, (&transaction.state.key, id, transaction.now));
            }
            (Member::Missing, Some(overlap)) => self.end_overlap(overlap, transaction.now),
            (Member::Missing, None) => {}
        }
        let driver = drivers::named(&self.driver)
            .map_err(|_| FieldErrors::one("driver", "This version of the service does not have this driver."))?;
        driver.account(&self.settings, None).map_err(refused)?;
        match &self.secret_key {
            None if driver.needs_secret_key() => {
                Err(FieldErrors::one("secret_key", format!("A gateway with the driver {} needs a secret_key.", driver.name())))
            }
            _ => Ok(()),
        }
    }
}

fn refused(bad: SettingsError) -> Problem {
    let field = if bad.path.is_empty() { "settings".to_owned() } else { format!("settings.{}", bad.path) };
    FieldErrors::one(&field, if bad.reason.ends_with('.') { bad.reason } else { format!("{}.", bad.reason) })
}

impl Editable for Gateway {
    type Body = GatewayBody;

    async fn create(transaction: &mut RecordTransaction<Gateways>, id: GatewayId, mut body: GatewayBody) -> Result<New<Self>, Problem> {
        let credentials = Credentials::take_from(&mut body);
        let mut gateway = Self::created_by(body)?;
        gateway.complete(credentials, transaction, id)?;
        Ok(gateway.into())
    }

    async fn change(transaction: &mut RecordTransaction<Gateways>, before: &Record<Self>, mut body: GatewayBody) -> Result<Self, Problem> {
        let credentials = Credentials::take_from(&mut body);
        let mut gateway = before.fields.changed_by(body);
        if gateway.driver != before.fields.driver {
            return Err(FieldErrors::one("driver", "The driver of a gateway cannot change; create another gateway."));
        }
        gateway.complete(credentials, transaction, before.id)?;
        Ok(gateway)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::{Columns, form};

    #[test]
    fn a_form_asks_for_credentials_as_secrets_and_for_nothing_that_is_computed() {
        let form = form(&Gateway::field_docs());
        let secret: Vec<_> = form.iter().map(|field| (&*field.name, field.is_secret(), field.required)).collect();
        let expected = [
            ("name", false, true),
            ("driver", false, true),
            ("status", false, false),
            ("settings", false, false),
            ("secret_key", true, false),
            ("signing_secret", true, false),
            ("overlap", false, false),
        ];
        assert_eq!(secret, expected);
        assert_eq!(form[1].input, Input::Choice(drivers::names().iter().map(ToString::to_string).collect()));
    }
}
