//! A company's accounts at payment gateways, and the secrets that open them.
//!
//! Writes `gateways`. It stands this low because parts that do not know each other need it: the storefront asks the card provider in the
//! company's name, and whoever shows gateways to operators or verifies what they report works on the same rows.
//!
//! A secret is sealed for its own row under the application key ([`ApplicationKey::seal`]) and shown to nobody again. A company has at
//! most one active gateway of the driver `card`, so that its saved cards lie in one place.

mod credential;
mod queries;

use std::str::FromStr;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::violated_constraint;
use crate::kernel::ids::{CompanyId, GatewayId};

pub use credential::{BadCredential, Credential, Purpose, SecretKey, SigningSecret};

/// How a gateway is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum GatewayDriver {
    /// The API of [`crate::providers::card`].
    Card,
}

/// The text names no driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("drivers are \"card\"")]
pub struct NotADriver;

impl FromStr for GatewayDriver {
    type Err = NotADriver;

    fn from_str(text: &str) -> Result<Self, NotADriver> {
        if text == "card" { Ok(Self::Card) } else { Err(NotADriver) }
    }
}

/// A gateway that is in use, with its secret opened.
#[derive(Clone, Debug)]
pub struct ActiveGateway {
    /// Which one.
    pub id: GatewayId,
    /// What calls to it are authenticated with.
    pub secret_key: SecretKey,
}

/// Why a gateway could not be found, stored or changed.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The company does not exist.
    #[error("there is no company {0}")]
    CompanyUnknown(CompanyId),
    /// The gateway does not exist.
    #[error("there is no gateway {0}")]
    GatewayUnknown(GatewayId),
    /// The company has an active one already, and cards saved there.
    #[error("the company has an active card gateway already; rotate its secret key instead")]
    CardGatewayExists,
    /// The stored secret is not for this application key.
    #[error("the secret key of a gateway cannot be used")]
    CannotOpen(#[from] CannotOpen),
    /// The database failed.
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

/// The company's active gateway of the driver `card`.
pub async fn find_card_gateway(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    company: CompanyId,
) -> Result<Option<ActiveGateway>, GatewayError> {
    let Some(row) = queries::find_card_gateway(conn, company).await? else { return Ok(None) };
    Ok(Some(ActiveGateway { id: row.id, secret_key: SecretKey::open(key, row.id, &row.secret_key)? }))
}

/// The card gateways of all companies, as somebody who looks for what is wrong counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CardGateways {
    /// Those in use.
    pub active: usize,
    /// Those of them whose secret key this application key does not open.
    pub sealed: usize,
}

/// Counts the card gateways that are in use.
pub async fn count_card_gateways(conn: &mut PgConnection, key: &ApplicationKey) -> Result<CardGateways, sqlx::Error> {
    let rows = queries::list_card_gateways(conn).await?;
    let sealed = rows.iter().filter(|row| SecretKey::open(key, row.id, &row.secret_key).is_err()).count();
    Ok(CardGateways { active: rows.len(), sealed })
}

/// Creates an active gateway of `company`.
pub async fn create_gateway(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    company: CompanyId,
    driver: GatewayDriver,
    name: &str,
    secret_key: &SecretKey,
    now: DateTime<Utc>,
) -> Result<GatewayId, GatewayError> {
    let id = GatewayId::new(now);
    match queries::insert_gateway(conn, id, company, driver, name, &secret_key.seal(key, id), now).await? {
        true => Ok(id),
        false => Err(GatewayError::CompanyUnknown(company)),
    }
}

/// Replaces the secret key of a gateway; the cards saved there stay.
pub async fn rotate_secret_key(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    gateway: GatewayId,
    secret_key: &SecretKey,
    now: DateTime<Utc>,
) -> Result<(), GatewayError> {
    match queries::set_secret_key(conn, gateway, &secret_key.seal(key, gateway), now).await? {
        true => Ok(()),
        false => Err(GatewayError::GatewayUnknown(gateway)),
    }
}
