//! A company's accounts at payment gateways, with their credentials.
//!
//! Writes `gateways`. It is on this low layer because modules that do not depend on each other need it: the storefront calls the
//! card provider on behalf of the company, and the module that shows gateways to operators and verifies callbacks uses the same
//! rows.
//!
//! A secret is sealed for its own row with the application key ([`ApplicationKey::seal`]) and never shown again. A company has at
//! most one active gateway with the driver `card`, so that all its saved cards are at one provider account.

mod credential;
mod queries;

use std::str::FromStr;

use chrono::{DateTime, Utc};
use sqlx::{Connection, PgConnection};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, GatewayId};

pub use credential::{Credential, GatewaySigningSecret, InvalidCredential, Purpose, SecretKey};
pub use queries::company_of_gateway;

/// The driver of a gateway, which implements its API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum GatewayDriver {
    /// The API of [`crate::providers::card`].
    Card,
}

/// The text is not a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the driver must be \"card\"")]
pub struct UnknownDriver;

impl FromStr for GatewayDriver {
    type Err = UnknownDriver;

    fn from_str(text: &str) -> Result<Self, UnknownDriver> {
        if text == "card" { Ok(Self::Card) } else { Err(UnknownDriver) }
    }
}

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

/// Counts the active card gateways.
pub async fn count_card_gateways(conn: &mut PgConnection, key: &ApplicationKey) -> Result<CardGateways, sqlx::Error> {
    let rows = queries::list_card_gateways(conn).await?;
    let sealed = rows.iter().filter(|row| SecretKey::open(key, row.id, &row.secret_key).is_err()).count();
    Ok(CardGateways { active: rows.len(), sealed })
}

/// Creates an active gateway of the caller's company.
pub async fn create_gateway(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    caller: &Caller,
    driver: GatewayDriver,
    name: &str,
    secret_key: &SecretKey,
    now: DateTime<Utc>,
) -> Result<GatewayId, GatewayError> {
    let id = GatewayId::new(now);
    let mut transaction = conn.begin().await?;
    if !queries::insert_gateway(&mut transaction, id, caller.company, driver, name, &secret_key.seal(key, id), now).await? {
        return Err(GatewayError::CompanyUnknown(caller.company));
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
