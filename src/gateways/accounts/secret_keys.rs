//! The secret keys of gateways, with which this service calls them: the storefront calls the card provider on behalf of the company.
//!
//! A company has at most one active gateway with the driver `card`, so that all its saved cards are at one provider account.

use chrono::{DateTime, Utc};
use serde_json::Map;
use sqlx::{Connection, PgConnection};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::gateways::accounts::queries;
use crate::gateways::credential::SecretKey;
use crate::gateways::drivers::{GatewayDriver, SettingsError};
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, GatewayId};

/// An active gateway with its decrypted secret.
#[derive(Clone, Debug)]
pub struct ActiveGateway {
    /// The id of the gateway.
    pub id: GatewayId,
    /// The key that authenticates calls to it.
    pub secret_key: SecretKey,
}

/// The reason why a gateway could not be read, stored or changed.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// The gateway does not exist.
    #[error("there is no gateway {0}")]
    GatewayUnknown(GatewayId),
    /// Gateways with this driver are not called, so they have no secret key.
    #[error("a gateway with the driver {0} has no secret key; create it with POST ledger/int/v1/gateways")]
    NotCalled(&'static str),
    /// Gateways with this driver cannot be without settings.
    #[error("a gateway with this driver needs settings ({0}); create it with POST ledger/int/v1/gateways")]
    SettingsNeeded(SettingsError),
    /// The company already has an active card gateway, where cards are saved.
    #[error("the company already has an active card gateway; rotate its secret key instead")]
    CardGatewayExists,
    /// The stored secret cannot be decrypted with this application key.
    #[error("the secret key of a gateway cannot be decrypted")]
    CannotOpen(#[from] CannotOpen),
    /// A database error.
    #[error("the gateway could not be read or stored")]
    Database(#[source] sqlx::Error),
}

impl From<sqlx::Error> for GatewayError {
    fn from(error: sqlx::Error) -> Self {
        match violated_constraint(&error) {
            Some("gateways_active_card") => Self::CardGatewayExists,
            _ => Self::Database(error),
        }
    }
}

/// The company's active gateway with the driver `card`.
pub async fn find_card_gateway(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    company: CompanyId,
) -> Result<Option<ActiveGateway>, GatewayError> {
    let Some(row) = queries::find_card_gateway(conn, company).await? else { return Ok(None) };
    Ok(Some(ActiveGateway { id: row.id, secret_key: SecretKey::open(key, row.id, &row.secret_key)? }))
}

/// The number of card gateways of all companies, for diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardGateways {
    /// The active gateways.
    pub active: usize,
    /// The active gateways whose secret key cannot be decrypted with this application key.
    pub sealed: usize,
}

/// Tries to decrypt the secret key of every active card gateway. No gateway is called.
pub async fn count_card_gateways(conn: &mut PgConnection, key: &ApplicationKey) -> Result<CardGateways, sqlx::Error> {
    let rows = queries::list_card_gateways(conn).await?;
    let sealed = rows.iter().filter(|row| SecretKey::open(key, row.id, &row.secret_key).is_err()).count();
    Ok(CardGateways { active: rows.len(), sealed })
}

/// Creates an active gateway of the caller's company, without settings.
pub async fn create_gateway(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    caller: &Caller,
    driver: &dyn GatewayDriver,
    name: &str,
    secret_key: &SecretKey,
    now: DateTime<Utc>,
) -> Result<GatewayId, GatewayError> {
    if !driver.needs_secret_key() {
        return Err(GatewayError::NotCalled(driver.name()));
    }
    driver.account(&Map::new(), None).map_err(GatewayError::SettingsNeeded)?;
    let id = GatewayId::new(now);
    let mut transaction = conn.begin().await?;
    match queries::insert_gateway(&mut transaction, id, caller.company, driver.name(), name, &secret_key.seal(key, id), now).await {
        Err(error) if violated_constraint(&error) == Some("gateways_company_id_fkey") => {
            return Err(GatewayError::CompanyUnknown(caller.company));
        }
        inserted => inserted?,
    }
    audit_trail::record(&mut transaction, caller, Action::Created, ChangedRecord::Gateway(id), now).await?;
    transaction.commit().await?;
    Ok(id)
}

/// Replaces the secret key of a gateway of the caller's company. Saved cards are not affected.
pub async fn rotate_secret_key(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    caller: &Caller,
    gateway: GatewayId,
    secret_key: &SecretKey,
    now: DateTime<Utc>,
) -> Result<(), GatewayError> {
    let mut transaction = conn.begin().await?;
    if !queries::set_secret_key(&mut transaction, caller.company, gateway, &secret_key.seal(key, gateway), now).await? {
        return Err(GatewayError::GatewayUnknown(gateway));
    }
    audit_trail::record(&mut transaction, caller, Action::Updated(&["secret_key"]), ChangedRecord::Gateway(gateway), now).await?;
    transaction.commit().await?;
    Ok(())
}
