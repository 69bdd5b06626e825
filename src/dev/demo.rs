//! The demonstration company: a store, its keys and an operator, created once, so that the example commands work when pasted.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use crate::callers::{Caller, Scope};
use crate::companies::{self, Companies};
use crate::config::Config;
use crate::contact::EmailAddress;
use crate::dev::workspace::write_secret;
use crate::developers::{ApiKeyBody, ApiKeyRecord, SomeScopes};
use crate::kernel::clock::Clock;
use crate::kernel::crypto::random_hex;
use crate::kernel::database::Pool;
use crate::kernel::ids::{CompanyId, StoreId};
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::password_hashing::PasswordHashing;
use crate::kernel::problem::Problem;
use crate::operators::{self, CreateOperatorError, OneTimeLink, OperatorPassword, Role};
use crate::resources::{Line, operations};
use crate::storefront::{self, StoreBody, StoreRecord, Stores};

/// The data of the demonstration company; also the format of `demo.json`.
#[derive(Clone, Deserialize, Serialize)]
pub struct Demo {
    /// `http://` and an address: that of the service that started last, or else the configured one.
    pub url: String,
    /// Its id. If the database does not contain it, all of this data is created anew.
    pub company: CompanyId,
    /// The only store that is created with the company.
    pub store: StoreId,
    /// The key for apps of the store.
    pub store_key: String,
    /// The API key for the company's own systems, with all scopes.
    pub api_key: String,
    /// The operator who can sign in to the console.
    pub operator: DemoOperator,
    /// The path of the certificate of the development authority.
    pub authority: PathBuf,
}

/// An operator with the role [`Role::Owner`].
#[derive(Clone, Deserialize, Serialize)]
pub struct DemoOperator {
    /// `owner@example.com`
    pub email: String,
    /// A random password, stored only in this file.
    pub password: String,
}

/// The reason why there is no demonstration company.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// `demo.json` can be neither read nor written.
    #[error("{path} cannot be used")]
    File {
        /// `demo.json` in the data directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A database error.
    #[error("the database could not be used")]
    Database(#[from] sqlx::Error),
    /// The store or one of the keys could not be created.
    #[error("the store and its keys could not be created")]
    Record(#[from] Problem),
    /// The operator could not be created.
    #[error("the operator could not be created")]
    Operator(#[from] CreateOperatorError),
}

impl Demo {
    /// The demonstration company of this data directory. It is created if this database does not contain it. A starting service passes
    /// its address; without one, the URL stays that of the last service.
    pub async fn open(pool: &Pool, config: &Config, clock: &Clock, serves_at: Option<SocketAddr>) -> Result<Self, DemoError> {
        let path = config.data_dir().join("demo.json");
        let failed = |source| DemoError::File { path: path.clone(), source };
        let known = match fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str::<Self>(&text).ok(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        let mut demo = match known {
            Some(demo) if companies::company_exists(&mut pool.acquire().await?, demo.company).await? => demo,
            _ => create(pool, config, clock).await?,
        };
        if let Some(address) = serves_at {
            demo.url = format!("http://{address}");
        }
        let text = serde_json::to_string_pretty(&demo).expect("strings can always be serialized");
        write_secret(&path, &text).map_err(failed)?;
        Ok(demo)
    }

    /// A link that signs the demonstration operator in once; `None` if the operator was removed.
    pub async fn link(&self, pool: &Pool, clock: &Clock) -> Result<Option<OneTimeLink>, DemoError> {
        let conn = &mut pool.acquire().await?;
        let email = EmailAddress::parse(&self.operator.email).expect("the address was valid when it was written");
        match operators::find_by_email(conn, self.company, &email).await? {
            Some(operator) => Ok(Some(OneTimeLink::create(conn, operator.id, clock.now()).await?)),
            None => Ok(None),
        }
    }

    /// The data as shell assignments: `eval "$(portico demo --shell)"`. The commands that ask a service read the last two.
    pub fn assignments(&self) -> String {
        let Self { url, store_key, api_key, .. } = self;
        format!(
            "export URL={url}\nexport STORE_KEY={store_key}\nexport API_KEY={api_key}\nexport PORTICO_URL={url}\nexport PORTICO_API_KEY={api_key}"
        )
    }

    /// The text shown at startup: the data, and three commands that work when pasted.
    pub fn banner(&self, link: Option<&OneTimeLink>) -> String {
        let Self { url, store_key, api_key, operator, .. } = self;
        let console = link.map_or("/console".to_owned(), |link| format!("/console/sign-in/once#{}", link.reveal()));
        format!(
            r#"
  Portico answers at {url}

    store key   {store_key}
    API key     {api_key}
    operator    {email}  {password}

  Look at it (this link signs you in once):
    {url}{console}

  Request a code, as a customer's app does:
    curl -s {url}/storefront/v1/customers/request-creation-code -H 'Authorization: Bearer {store_key}' --json '{{"identity":"ada@example.com"}}'

  Read the code in the mailbox:
    curl -s {url}/dev/mailbox

  Place an order, as the shop's own systems do:
    curl -s {url}/fleet/int/v1/orders -H 'Authorization: Bearer {api_key}' --json '{{"payload":{{"pickup":"1 Mill Lane","dropoff":"2 High Street"}}}}'

  The same data as JSON: portico demo --json. Ctrl-C stops everything and keeps the data.
"#,
            email = operator.email,
            password = operator.password,
        )
    }
}

/// Creates a demonstration company, one record after the other. If this fails in between, the next start creates another company.
async fn create(pool: &Pool, config: &Config, clock: &Clock) -> Result<Demo, DemoError> {
    let now = clock.now();
    let email = EmailAddress::parse("owner@example.com").expect("the address is valid");
    let operator = DemoOperator { email: email.to_string(), password: random_hex::<16>() };
    let password = OperatorPassword::parse(&SecretString::from(operator.password.clone())).expect("32 digits are long enough");

    let company = companies::create_company(&mut pool.acquire().await?, "Demonstration", now).await?;
    let caller = Caller::command_line(company);
    let stores = Stores::new(pool.clone(), clock.clone());
    let store = operations::create::<StoreRecord>(&stores, &caller, StoreBody::named(line("Demo Shop"))).await?.record.id;
    let created = storefront::create_store_key(&mut pool.acquire().await?, &caller, store, now).await?;
    let (_, store_key) = created.ok_or(sqlx::Error::RowNotFound)?;
    let companies = Companies::new(pool.clone(), clock.clone(), Lifecycle::default());
    let scopes = SomeScopes::try_from(Scope::ALL.to_vec()).expect("there are scopes");
    let key = operations::create::<ApiKeyRecord>(&companies, &caller, ApiKeyBody::of(line("Demonstration"), scopes)).await?;
    let (conn, hashing) = (&mut pool.acquire().await?, PasswordHashing::start());
    operators::create_operator(conn, &hashing, &caller, &email, password, Role::Owner, now).await?;
    Ok(Demo {
        url: format!("http://{}", config.http.listen),
        company,
        store,
        store_key: store_key.reveal().to_owned(),
        api_key: key.members["key"].as_str().expect("a new key is shown").to_owned(),
        operator,
        authority: config.data_dir().join("authority.pem"),
    })
}

fn line(name: &str) -> Line<255> {
    Line::try_from(name.to_owned()).expect("the names of this module are valid")
}
