//! Preparation that every command needs: the configured database, or a private one in development.

use secrecy::SecretString;
use sqlx::PgPool;

use crate::config::{Config, Environment};
use crate::dev::postgres::{DATABASE, PostgresError, PrivatePostgres, Settings};
use crate::dev::workspace;
use crate::kernel::crypto::{ApplicationKey, InvalidApplicationKey};
use crate::kernel::database::{self, DatabaseUrl, MIGRATIONS};

/// Connections of the private server beyond the pool: for the workers, LISTEN, and a few other clients.
const SPARE_CONNECTIONS: u16 = 40;

/// A database pool, and the private server behind it if there is one.
#[derive(Debug)]
pub struct Database {
    /// The pool. It connects on first use.
    pub pool: PgPool,
    private: Option<PrivatePostgres>,
}

/// The reason why a command cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// Production has no configured database.
    #[error("production needs database.url (PORTICO_DATABASE__URL=postgres://user:password@host/database)")]
    NoDatabase,
    /// Production has no configured application key.
    #[error("production needs application_key (PORTICO_APPLICATION_KEY, made with: openssl rand -base64 32)")]
    NoApplicationKey,
    /// The application key is invalid.
    #[error(transparent)]
    InvalidApplicationKey(#[from] InvalidApplicationKey),
    /// The private server of development did not start.
    #[error("the private PostgreSQL did not start")]
    PrivatePostgres(#[from] PostgresError),
    /// The data directory of development cannot be used.
    #[error("the development data directory cannot be used")]
    Workspace(#[from] std::io::Error),
    /// The database of a production deployment lacks migrations.
    #[error("the database lacks {0} migrations of this version: run portico migrate")]
    NotMigrated(usize),
    /// A database error.
    #[error("the database cannot be reached")]
    Database(#[from] sqlx::Error),
    /// A migration failed.
    #[error("the migrations could not be applied")]
    Migration(#[from] sqlx::migrate::MigrateError),
}

impl Database {
    /// Connects to the configured database. Without one, development uses the private server that is running, or starts a new one.
    pub async fn new(config: &Config) -> Result<Self, BootstrapError> {
        if let Some(url) = &config.database.url {
            return Ok(Self { pool: database::pool(url, &config.database), private: None });
        }
        if config.environment() == Environment::Production {
            return Err(BootstrapError::NoDatabase);
        }
        let data_dir = config.data_dir();
        // While `portico serve` runs in another terminal, other commands share its server.
        if let Some(url) = PrivatePostgres::running(&data_dir, DATABASE) {
            return Ok(Self { pool: database::pool(&parsed(&url), &config.database), private: None });
        }
        let max_connections = u16::try_from(config.database.max_connections.get()).unwrap_or(u16::MAX).saturating_add(SPARE_CONNECTIONS);
        let settings = Settings { data_dir, durable: true, max_connections };
        let starting = tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings));
        let private = starting.await.expect("starting does not panic, and a running blocking task is not cancelled")?;
        Ok(Self { pool: database::pool(&parsed(&private.url(DATABASE)), &config.database), private: Some(private) })
    }

    /// Applies pending migrations.
    pub async fn migrate(&self) -> Result<(), BootstrapError> {
        Ok(MIGRATIONS.run(&self.pool).await?)
    }

    /// Migrates in development. In production, returns an error if migrations are missing, because the database may serve older
    /// instances.
    async fn bring_up_to_date(&self, config: &Config) -> Result<(), BootstrapError> {
        if config.environment() == Environment::Development {
            return self.migrate().await;
        }
        match database::missing_migrations(&self.pool).await? {
            0 => Ok(()),
            missing => Err(BootstrapError::NotMigrated(missing)),
        }
    }

    /// Runs `work` on an up-to-date database, and then stops the private server if one was started.
    pub async fn with_migrated<T, E>(self, config: &Config, work: impl AsyncFnOnce(&PgPool) -> Result<T, E>) -> Result<T, E>
    where
        E: From<BootstrapError>,
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

/// The configured application key. Development generates one and stores it.
pub fn application_key(config: &Config) -> Result<ApplicationKey, BootstrapError> {
    let setting: SecretString = match (config.application_key(), config.environment()) {
        (Some(key), _) => key,
        (None, Environment::Production) => return Err(BootstrapError::NoApplicationKey),
        (None, Environment::Development) => workspace::application_key(&config.data_dir())?,
    };
    Ok(ApplicationKey::parse(&setting)?)
}

fn parsed(url: &str) -> DatabaseUrl {
    url.parse().expect("the private server returns a valid URL")
}
