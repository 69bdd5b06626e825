//! The demonstration company: a store, its keys and an operator, created once, so that a newcomer's first commands work when pasted.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::companies::{self, CreateKeyError, Scopes};
use crate::config::Config;
use crate::contact::EmailAddress;
use crate::dev::workspace::write_secret;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, StoreId};
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::secrets::random_hex_32;
use crate::operators::{self, CreateOperatorError, OperatorPassword, Role};
use crate::storefront;

/// Everything a newcomer needs to know; also the form of `demo.json`.
#[derive(Clone, Deserialize, Serialize)]
pub struct Demo {
    /// Where the service answers.
    pub url: String,
    /// The company.
    pub company: CompanyId,
    /// Its store.
    pub store: StoreId,
    /// For apps of the store.
    pub store_key: String,
    /// For the company's own systems, with every scope.
    pub api_key: String,
    /// Who signs in to the console.
    pub operator: DemoOperator,
    /// Where the certificate lies that development trusts.
    pub authority: PathBuf,
}

/// The demonstration operator.
#[derive(Clone, Deserialize, Serialize)]
pub struct DemoOperator {
    /// What they sign in with.
    pub email: String,
    /// Random, and only in this file.
    pub password: String,
}

/// Why there is no demonstration company.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// `demo.json` can be neither read nor written.
    #[error("{path} cannot be used")]
    File {
        /// Where it is.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The API key.
    #[error("the API key could not be created")]
    Key(#[from] CreateKeyError),
    /// The operator.
    #[error("the operator could not be created")]
    Operator(#[from] CreateOperatorError),
}

impl Demo {
    /// The demonstration company of this data directory, created if this database has not got it. A service that starts says where it
    /// answers; otherwise it is where the last one did.
    pub async fn open(pool: &PgPool, config: &Config, clock: &Clock, answers_at: Option<SocketAddr>) -> Result<Self, DemoError> {
        let path = config.data_dir().join("demo.json");
        let failed = |source| DemoError::File { path: path.clone(), source };
        let known = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str::<Self>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let mut demo = match known {
            Some(demo) if companies::company_exists(&mut *pool.acquire().await?, demo.company).await? => demo,
            _ => create(pool, config, clock).await?,
        };
        if let Some(address) = answers_at {
            demo.url = format!("http://{address}");
        }
        let text = serde_json::to_string_pretty(&demo).expect("the facts of the demonstration are plain texts");
        write_secret(&path, &text).map_err(failed)?;
        Ok(demo)
    }

    /// The facts as a shell reads them: `eval "$(portico demo --shell)"`. `portico listen` takes them from the environment.
    pub fn assignments(&self) -> String {
        let Self { url, store_key, api_key, .. } = self;
        format!("export URL={url}\nexport STORE_KEY={store_key}\nexport API_KEY={api_key}")
    }

    /// What greets a newcomer: the facts, and three commands that work when pasted.
    pub fn banner(&self) -> String {
        let Self { url, store_key, api_key, operator, .. } = self;
        format!(
            r#"
  Portico answers at {url}

    store key   {store_key}
    API key     {api_key}
    operator    {email}  {password}

  Ask for a code, as a customer's app would:
    curl -s {url}/storefront/v1/customers/request-creation-code -H 'Authorization: Bearer {store_key}' --json '{{"identity":"ada@example.com"}}'

  Read it in the mailbox:
    curl -s {url}/dev/mailbox

  Place an order, as the shop's own systems would:
    curl -s {url}/fleet/int/v1/orders -H 'Authorization: Bearer {api_key}' --json '{{"payload":{{"pickup":"1 Mill Lane","dropoff":"2 High Street"}}}}'

  The same facts as JSON: portico demo --json. Ctrl-C stops everything; the data stay.
"#,
            email = operator.email,
            password = operator.password,
        )
    }
}

async fn create(pool: &PgPool, config: &Config, clock: &Clock) -> Result<Demo, DemoError> {
    let now = clock.now();
    let mut email = EmailAddress::parse("owner@example.com").expect("the demonstration's address is one");
    if operators::is_operator(&mut *pool.acquire().await?, &email).await? {
        // Somebody deleted demo.json and kept the database: the old password is gone for good.
        email = EmailAddress::parse(&format!("owner-{}@example.com", random_hex_32())).expect("hex digits are part of an address");
    }
    let operator = DemoOperator { email: email.to_string(), password: random_hex_32() };
    let password = OperatorPassword::parse(SecretString::from(operator.password.clone())).expect("32 digits are long enough");

    let mut tx = pool.begin().await?;
    let company = companies::create_company(&mut tx, "Demonstration", now).await?;
    let store = storefront::create_store(&mut tx, company, "Demo Shop", now).await?.ok_or(sqlx::Error::RowNotFound)?;
    let (_, store_key) = storefront::create_store_key(&mut tx, store, now).await?.ok_or(sqlx::Error::RowNotFound)?;
    let (_, api_key) = companies::create_api_key(&mut tx, company, "Demonstration", Scopes::all(), now).await?;
    operators::create_operator(&mut tx, &PasswordHashing::start(), company, &email, password, Role::Owner, now).await?;
    tx.commit().await?;
    Ok(Demo {
        url: format!("http://{}", config.http.listen),
        company,
        store,
        store_key: store_key.reveal().to_owned(),
        api_key: api_key.reveal().to_owned(),
        operator,
        authority: config.data_dir().join("authority.pem"),
    })
}
