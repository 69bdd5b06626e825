//! What every command needs before its own work: a database, by whatever the settings say.

use secrecy::SecretString;
use sqlx::PgPool;

use crate::config::{Config, Environment};
use crate::dev::postgres::{DATABASE, PostgresError, PrivatePostgres, Settings};
use crate::dev::workspace;
use crate::kernel::crypto::{ApplicationKey, BadApplicationKey};
use crate::kernel::database::{self, DatabaseUrl, MIGRATIONS};

/// Connections of the private server besides the pool: for the worker, whoever listens, and a few visitors.
const SPARE_CONNECTIONS: u16 = 40;

/// A database to work on, and the private server under it if there is one.
#[derive(Debug)]
pub struct SetUp {
    /// Connects when it is first used.
    pub pool: PgPool,
    private: Option<PrivatePostgres>,
}

/// Why a command cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// Production without a database.
    #[error("production needs database.url (PORTICO_DATABASE__URL=postgres://user:password@host/database)")]
    NoDatabase,
    /// Production without an application key.
    #[error("production needs application_key (PORTICO_APPLICATION_KEY, made with: openssl rand -base64 32)")]
    NoApplicationKey,
    /// The application key is not one.
    #[error(transparent)]
    BadApplicationKey(#[from] BadApplicationKey),
    /// Development's own server.
    #[error("the private PostgreSQL did not start")]
    PrivatePostgres(#[from] PostgresError),
    /// Development's own files.
    #[error("the data directory of development cannot be used")]
    Workspace(#[from] std::io::Error),
    /// Production without the latest migrations.
    #[error("the database lacks {0} migrations of this version: run portico migrate")]
    NotMigrated(usize),
    /// The database failed.
    #[error("the database does not answer")]
    Database(#[from] sqlx::Error),
    /// A migration failed.
    #[error("the database could not be brought up to this version")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl SetUp {
    /// Finds the configured database; in development, without one, the private server that runs, or a new one.
    pub async fn new(config: &Config) -> Result<Self, SetUpError> {
        if let Some(url) = &config.database.url {
            return Ok(Self { pool: database::pool(url, &config.database), private: None });
        }
        if config.environment() == Environment::Production {
            return Err(SetUpError::NoDatabase);
        }
        let data_dir = config.data_dir();
        // While `portico` serves in another terminal, its server is everybody's.
        if let Some(url) = PrivatePostgres::running(&data_dir, DATABASE) {
            return Ok(Self { pool: database::pool(&parsed(&url), &config.database), private: None });
        }
        let max_connections = u16::try_from(config.database.max_connections.get()).unwrap_or(u16::MAX).saturating_add(SPARE_CONNECTIONS);
        let settings = Settings { data_dir, durable: true, max_connections };
        let starting = tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings));
        let private = starting.await.expect("starting does not panic, and a blocking task that runs is not cancelled")?;
        Ok(Self { pool: database::pool(&parsed(&private.url(DATABASE)), &config.database), private: Some(private) })
    }

    /// Brings the database up to this version.
    pub async fn migrate(&self) -> Result<(), SetUpError> {
        Ok(MIGRATIONS.run(&self.pool).await?)
    }

    /// Migrates in development; in production refuses a database that is not of this version, which may serve older instances.
    async fn bring_up_to_date(&self, config: &Config) -> Result<(), SetUpError> {
        if config.environment() == Environment::Development {
            return self.migrate().await;
        }
        match database::missing_migrations(&self.pool).await? {
            0 => Ok(()),
            missing => Err(SetUpError::NotMigrated(missing)),
        }
    }

    /// Does `work` on a database of this version, and ends what was started for it.
    pub async fn on_this_version<T, E>(self, config: &Config, work: impl AsyncFnOnce(&PgPool) -> Result<T, E>) -> Result<T, E>
    where
        E: From<SetUpError>,
    {
        let done = match self.bring_up_to_date(config).await {
            Ok(()) => work(&self.pool).await,
            Err(error) => Err(error.into()),
        };
        self.stop().await;
        done
    }

    /// Closes the connections, then stops the private server.
    pub async fn stop(self) {
        self.pool.close().await;
        if let Some(private) = self.private {
            private.stop().await;
        }
    }
}

/// The configured application key; development makes one and keeps it.
pub fn application_key(config: &Config) -> Result<ApplicationKey, SetUpError> {
    let setting: SecretString = match (config.application_key(), config.environment()) {
        (Some(key), _) => key,
        (None, Environment::Production) => return Err(SetUpError::NoApplicationKey),
        (None, Environment::Development) => workspace::application_key(&config.data_dir())?,
    };
    Ok(ApplicationKey::parse(&setting)?)
}

fn parsed(url: &str) -> DatabaseUrl {
    url.parse().expect("the private server gives a URL that can be read")
}
