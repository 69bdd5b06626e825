//! Reads gateways that accept callbacks, with everything their driver needs.

use serde_json::{Map, Value};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::gateways::accounts::signing_secret;
use crate::gateways::driver::Account;
use crate::gateways::drivers;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::problem::{Problem, ProblemCode};

/// Maximum number of gateways that are considered. Companies with more must name the gateway in the callback.
const MAX_GATEWAYS: i64 = 50;

/// A gateway, as processing its callbacks needs it.
#[derive(Debug)]
pub(in crate::gateways) struct CallbackGateway {
    pub(in crate::gateways) id: GatewayId,
    pub(in crate::gateways) company: CompanyId,
    pub(in crate::gateways) account: Box<dyn Account>,
}

struct Row {
    id: GatewayId,
    company_id: CompanyId,
    driver: String,
    settings: Json<Map<String, Value>>,
    signing_secret: Option<Vec<u8>>,
}

impl Row {
    /// `None` if the gateway takes no callbacks.
    fn open(self, key: &ApplicationKey) -> Result<Option<CallbackGateway>, Problem> {
        let Some(driver) = drivers::named(&self.driver) else { return Ok(None) };
        let signing_secret = signing_secret(key, self.id, self.signing_secret.as_deref()).map_err(|error| {
            tracing::error!(gateway = %self.id, %error, "the signing secret of a gateway cannot be used");
            Problem::new(ProblemCode::Internal)
        })?;
        let account = driver.account(&self.settings, signing_secret).ok().filter(|account| account.signature_header().is_some());
        Ok(account.map(|account| CallbackGateway { id: self.id, company: self.company_id, account }))
    }
}

/// The active gateway with this id.
pub(super) async fn active(conn: &mut PgConnection, key: &ApplicationKey, id: GatewayId) -> Result<Option<CallbackGateway>, Problem> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", signing_secret from gateways
           where id = $1 and status = 'active' and deleted_at is null"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.map_or(Ok(None), |row| row.open(key))
}

/// All usable active gateways of a company; the reason why another one is unusable is logged.
pub(super) async fn all_active(conn: &mut PgConnection, key: &ApplicationKey, company: CompanyId) -> Result<Vec<CallbackGateway>, Problem> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", signing_secret from gateways
           where company_id = $1 and status = 'active' and deleted_at is null order by created_at, id limit $2"#,
        company.uuid(),
        MAX_GATEWAYS,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().filter_map(|row| row.open(key).ok().flatten()).collect())
}

/// The gateway of a recorded callback, active or not: a callback that was verified on arrival is processed in any case.
pub(in crate::gateways) async fn find_any(
    conn: &mut PgConnection,
    key: &ApplicationKey,
    id: GatewayId,
) -> Result<Option<CallbackGateway>, Problem> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", signing_secret from gateways where id = $1"#,
        id.uuid(),
    )
    .fetch_optional(conn)
    .await?;
    row.map_or(Ok(None), |row| row.open(key))
}
