//! Finds the gateways of callbacks, with everything their driver needs.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use futures::FutureExt;
use serde_json::{Map, Value};
use sqlx::types::Json;

use crate::companies::{Standing, standing};
use crate::gateways::accounts::{mode, signing_secret};
use crate::gateways::drivers;
use crate::gateways::open_gateways::OpenGateway;
use crate::gateways::state::Gateways;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, GatewayId};
use crate::kernel::problem::{Problem, ProblemCode};

/// Maximum number of gateways that are considered. Companies with more must name the gateway in the callback.
const MAX_GATEWAYS: i64 = 50;

impl Gateways {
    /// Whether the company is served whose active gateway has this id.
    pub async fn standing(&self, id: GatewayId) -> Result<Standing, Problem> {
        Ok(self.find_active(id).await?.map_or(Standing::Gone, |gateway| gateway.standing))
    }

    /// The active gateway with this id, from the cache or from the database.
    pub(in crate::gateways) async fn find_active(&self, id: GatewayId) -> Result<Option<Arc<OpenGateway>>, Problem> {
        let now = self.clock.now();
        match self.cache.by_id.get(&id, now) {
            Some(found) => Ok(Some(found)),
            // Boxed: otherwise the state of the statement would be copied with the future of every request.
            None => self.look_up(id, now).boxed().await,
        }
    }

    async fn look_up(&self, id: GatewayId, now: DateTime<Utc>) -> Result<Option<Arc<OpenGateway>>, Problem> {
        let generation = self.cache.by_id.generation();
        let found = find_active(&mut self.pool.acquire().await?, &self.key, id).await?.map(Arc::new);
        if let Some(found) = &found {
            self.cache.by_id.insert_if_current(generation, id, found, now);
        }
        Ok(found)
    }

    /// All active gateways of a company, from the cache or from the database.
    pub(in crate::gateways) async fn find_all_active(&self, company: CompanyId) -> Result<Arc<Vec<Arc<OpenGateway>>>, Problem> {
        let read = || async {
            let found = find_all_active(&mut self.pool.acquire().await?, &self.key, company).await?;
            Ok(found.into_iter().map(Arc::new).collect())
        };
        self.cache.of_company.get_or_read(company, self.clock.now(), read).await
    }
}

struct Row {
    id: GatewayId,
    company_id: CompanyId,
    driver: String,
    settings: Json<Map<String, Value>>,
    secret_key: Option<Vec<u8>>,
    signing_secret: Option<Vec<u8>>,
    previous_signing_secret: Option<Vec<u8>>,
    previous_signing_secret_until: Option<DateTime<Utc>>,
}

impl Row {
    /// `None` if the gateway takes no callbacks. Its company has this `standing`.
    fn open(self, key: &ApplicationKey, standing: Standing) -> Result<Option<OpenGateway>, Problem> {
        let Ok(driver) = drivers::named(&self.driver) else { return Ok(None) };
        let open = |sealed: Option<&[u8]>| {
            signing_secret(key, self.id, sealed).map_err(|error| {
                tracing::error!(gateway = %self.id, %error, "the signing secret of a gateway cannot be used");
                Problem::new(ProblemCode::Internal)
            })
        };
        let account = |secret| driver.account(&self.settings, secret).ok();
        let Some(current) = account(open(self.signing_secret.as_deref())?).filter(|account| account.signature_header().is_some()) else {
            return Ok(None);
        };
        let previous = match self.previous_signing_secret_until {
            Some(until) => account(open(self.previous_signing_secret.as_deref())?).map(|previous| (previous, until)),
            None => None,
        };
        let (id, company) = (self.id, self.company_id);
        let mode = mode(key, id, self.secret_key.as_deref());
        Ok(Some(OpenGateway { id, company, standing, driver: driver.name(), account: current, mode, previous }))
    }
}

async fn open(conn: &mut Connection, key: &ApplicationKey, row: Option<Row>) -> Result<Option<OpenGateway>, Problem> {
    match row {
        Some(row) => {
            let standing = standing(conn, row.company_id).await?;
            row.open(key, standing)
        }
        None => Ok(None),
    }
}

async fn find_active(conn: &mut Connection, key: &ApplicationKey, id: GatewayId) -> Result<Option<OpenGateway>, Problem> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", secret_key, signing_secret,
                  previous_signing_secret, previous_signing_secret_until
           from gateways
           where id = $1 and status = 'active' and deleted_at is null"#,
        id.uuid(),
    )
    .fetch_optional(&mut *conn)
    .await?;
    open(conn, key, row).await
}

/// All usable active gateways of a company; the reason why another one is unusable is logged.
async fn find_all_active(conn: &mut Connection, key: &ApplicationKey, company: CompanyId) -> Result<Vec<OpenGateway>, Problem> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", secret_key, signing_secret,
                  previous_signing_secret, previous_signing_secret_until
           from gateways
           where company_id = $1 and status = 'active' and deleted_at is null order by created_at, id limit $2"#,
        company.uuid(),
        MAX_GATEWAYS,
    )
    .fetch_all(&mut *conn)
    .await?;
    let standing = standing(conn, company).await?;
    Ok(rows.into_iter().filter_map(|row| row.open(key, standing).ok().flatten()).collect())
}

/// The gateway of a recorded callback, active or not: a callback that was verified on arrival is processed in any case.
pub async fn find_any(conn: &mut Connection, key: &ApplicationKey, id: GatewayId) -> Result<Option<OpenGateway>, Problem> {
    let row = sqlx::query_as!(
        Row,
        r#"select id, company_id, driver, settings as "settings: Json<Map<String, Value>>", secret_key, signing_secret,
                  previous_signing_secret, previous_signing_secret_until
           from gateways where id = $1"#,
        id.uuid(),
    )
    .fetch_optional(&mut *conn)
    .await?;
    open(conn, key, row).await
}
