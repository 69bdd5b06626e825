//! The secret keys of gateways, with which this service calls them: the storefront calls the card provider on behalf of the company.
//!
//! A company has at most one active gateway with the driver `card`, so that all its saved cards are at one provider account.

use crate::gateways::accounts::queries;
use crate::gateways::credential::SecretKey;
use crate::kernel::crypto::{ApplicationKey, CannotOpen};
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, GatewayId};

/// An active gateway with its decrypted secret.
#[derive(Clone, Debug)]
pub struct ActiveGateway {
    /// The id of the gateway.
    pub id: GatewayId,
    /// The key that authenticates calls to it.
    pub secret_key: SecretKey,
}

/// The reason why a gateway could not be read.
#[derive(Debug, thiserror::Error)]
pub enum GatewayError {
    /// The stored secret cannot be decrypted with this application key.
    #[error("the secret key of a gateway cannot be decrypted")]
    CannotOpen(#[from] CannotOpen),
    /// A database error.
    #[error("the gateway could not be read")]
    Database(#[from] sqlx::Error),
}

/// The company's active gateway with the driver `card`.
pub async fn find_card_gateway(
    conn: &mut Connection,
    key: &ApplicationKey,
    company: CompanyId,
) -> Result<Option<ActiveGateway>, GatewayError> {
    let Some(row) = queries::find_card_gateway(conn, company).await? else { return Ok(None) };
    Ok(Some(ActiveGateway { id: row.id, secret_key: SecretKey::open(key, row.id, &row.secret_key)? }))
}

/// The secret key of a gateway, if it has one.
pub async fn find_secret_key(conn: &mut Connection, key: &ApplicationKey, gateway: GatewayId) -> Result<Option<SecretKey>, GatewayError> {
    let sealed = queries::find_secret_key(conn, gateway).await?;
    Ok(sealed.map(|sealed| SecretKey::open(key, gateway, &sealed)).transpose()?)
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
pub async fn count_card_gateways(conn: &mut Connection, key: &ApplicationKey) -> Result<CardGateways, sqlx::Error> {
    let rows = queries::list_card_gateways(conn).await?;
    let sealed = rows.iter().filter(|row| SecretKey::open(key, row.id, &row.secret_key).is_err()).count();
    Ok(CardGateways { active: rows.len(), sealed })
}
