//! Preparation that every command needs: the configured database, or a private one in development.

use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::config::{Config, Environment};
use crate::dev::postgres::{DATABASE, PostgresError, PrivatePostgres, Settings};
use crate::dev::workspace;
use crate::kernel::crypto::{ApplicationKey, InvalidApplicationKey};
use crate::kernel::database::{self, CellName, DatabaseUrl, Pool};
use crate::kernel::error_chain::chain;
use crate::kernel::lifecycle::Lifecycle;
use crate::kernel::migrations::{self, Difference, MigrationError};
use crate::storefront;

/// Connections of the private server beyond the pool: for the workers, LISTEN, and a few other clients.
const SPARE_CONNECTIONS: u16 = 53;
/// The pause between two attempts to migrate a database that is away.
const MIGRATE_AGAIN: Duration = Duration::from_secs(1);

/// A database pool, and the private server behind it if there is one.
#[derive(Debug)]
pub struct Database {
    /// The pool. It connects on first use.
    pub pool: Pool,
    cell: CellName,
    private: Option<PrivatePostgres>,
}

/// The reason why a command cannot start.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// Production has no configured database.
    #[error("production needs database.url (PORTICO_DATABASE__URL=postgres://user:password@host/database)")]
    NoDatabase,
    /// No section of the settings has this name.
    #[error("there is no cell {0}: the settings name main and those below database.cells")]
    UnknownCell(CellName),
    /// A command that works on one database was not told which.
    #[error("there are several cells ({}): say which with --cell", .0.iter().map(CellName::as_str).collect::<Vec<_>>().join(", "))]
    WhichCell(Vec<CellName>),
    /// A further URL of a database that has none.
    #[error("{0} is a further URL of the database of database.url, which is not set")]
    FurtherUrlAlone(&'static str),
    /// Production has no configured application key.
    #[error("production needs application_key (PORTICO_APPLICATION_KEY, made with: openssl rand -base64 32)")]
    NoApplicationKey,
    /// It is not base64 of at least 32 bytes.
    #[error(transparent)]
    InvalidApplicationKey(#[from] InvalidApplicationKey),
    /// One of the further keys is not.
    #[error("each of previous_application_keys must be base64 of at least 32 bytes, as the application key was")]
    InvalidPreviousKey,
    /// The private server of development did not start.
    #[error("the private PostgreSQL did not start")]
    PrivatePostgres(#[from] PostgresError),
    /// The data directory of development cannot be used.
    #[error("the development data directory cannot be used")]
    Workspace(#[from] std::io::Error),
    /// The database does not have the schema of this version.
    #[error(transparent)]
    NotMigrated(#[from] MigrationError),
}

impl Database {
    /// Connects to the configured database. Without one, development uses the private server that is running, or starts a new one.
    pub async fn new(config: &Config) -> Result<Self, BootstrapError> {
        let cell = config.database.name.clone();
        if let Some(url) = &config.database.url {
            return Ok(Self { pool: database::pool(url, &config.database), cell, private: None });
        }
        let database::Settings { owner_url, pooler_url, replica_url, .. } = &config.database;
        let further = [("database.owner_url", owner_url), ("database.pooler_url", pooler_url), ("database.replica_url", replica_url)];
        if let Some((name, _)) = further.iter().find(|(_, url)| url.is_some()) {
            return Err(BootstrapError::FurtherUrlAlone(name));
        }
        if config.environment() == Environment::Production {
            return Err(BootstrapError::NoDatabase);
        }
        let data_dir = config.data_dir();
        // While `portico serve` runs in another terminal, other commands share its server.
        if let Some(url) = running(&data_dir).await {
            return Ok(Self { pool: database::pool(&parsed(&url), &config.database), cell, private: None });
        }
        let max_connections = u16::try_from(config.database.max_connections.get()).unwrap_or(u16::MAX).saturating_add(SPARE_CONNECTIONS);
        let settings = Settings { data_dir, durable: true, max_connections };
        let (mut private, mut pool) = start(&settings, config).await?;
        if let Err(MigrationError::BeforeFirstEdition) = migrations::must_be_applied(&pool).await {
            pool.close().await;
            let aside = private.set_aside().await?;
            tracing::warn!(
                kept_in = %aside.display(),
                "the development database was created before the first edition of the schema and cannot be migrated: \
                 it was set aside, and a new one is created"
            );
            (private, pool) = start(&settings, config).await?;
        }
        private.keep_running();
        Ok(Self { pool, cell, private: Some(private) })
    }

    /// Applies missing migrations. Returns how the database differed from this version before.
    pub async fn migrate(&self) -> Result<Difference, BootstrapError> {
        Ok(migrate(&self.pool, &self.cell).await?)
    }

    /// Applies missing migrations, in the background if the database is away: the service starts, and is not ready until they are applied.
    /// If they then cannot be applied, the service shuts down.
    pub async fn migrate_when_there(&self, lifecycle: &Lifecycle) -> Result<(), BootstrapError> {
        match migrate(&self.pool, &self.cell).await {
            Err(error) if error.may_pass() => {
                tracing::warn!(error = chain(&error), "the database is away, and will be migrated when it is back");
                let (pool, cell, stopping) = (self.pool.clone(), self.cell.clone(), lifecycle.stopping().clone());
                lifecycle.spawn(async move {
                    let _ = stopping.run_until_cancelled(migrate_later(&pool, &cell, &stopping)).await;
                });
                Ok(())
            }
            migrated => Ok(migrated.map(drop)?),
        }
    }

    /// Returns an error if no migration of this version leads to a schema that it can work with. A database that lacks migrations or is
    /// away may be in order later.
    pub async fn must_be_within_reach(&self) -> Result<(), BootstrapError> {
        match migrations::must_be_applied(&self.pool).await {
            Err(error @ (MigrationError::BeforeFirstEdition | MigrationError::Beyond(_))) => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Migrates in development. In production, returns an error if migrations are missing, because the database may serve older
    /// instances.
    async fn bring_up_to_date(&self, config: &Config) -> Result<(), BootstrapError> {
        match config.environment() {
            Environment::Development => self.migrate().await.map(drop),
            Environment::Production => Ok(migrations::must_be_applied(&self.pool).await?),
        }
    }

    /// Runs `work` on an up-to-date database, and then stops the private server if one was started.
    pub async fn with_migrated<T, E>(self, config: &Config, work: impl AsyncFnOnce(&Pool) -> Result<T, E>) -> Result<T, E>
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

    /// Runs `work` on the database as it is, which may be away.
    pub async fn with_any<T>(self, work: impl AsyncFnOnce(&Pool) -> T) -> T {
        let done = work(&self.pool).await;
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

async fn migrate(pool: &Pool, cell: &CellName) -> Result<Difference, MigrationError> {
    let difference = migrations::apply(pool).await?;
    storefront::number_tokens_of(pool.owner(), cell).await.map_err(MigrationError::from)?;
    if difference.newer > 0 {
        tracing::warn!(
            migrations = difference.newer,
            "the database was migrated by a newer version of Portico; this version works with it, and leaves it as it is"
        );
    }
    Ok(difference)
}

async fn migrate_later(pool: &Pool, cell: &CellName, stopping: &CancellationToken) {
    loop {
        sleep(MIGRATE_AGAIN).await;
        match migrate(pool, cell).await {
            Ok(_) => return tracing::info!("the database is back, and has all migrations"),
            Err(error) if error.may_pass() => {}
            Err(error) => {
                tracing::error!(error = chain(&error), "the database is back, and cannot be migrated");
                return stopping.cancel();
            }
        }
    }
}

/// The settings of the cell with this name, as if its database were the only one.
pub fn settings_of_cell(config: &Config, name: &CellName) -> Result<Config, BootstrapError> {
    config.cells().into_iter().find(|cell| cell.database.name == *name).ok_or_else(|| BootstrapError::UnknownCell(name.clone()))
}

/// The configured application key, with the further ones that open. Development generates one and stores it.
pub fn application_key(config: &Config) -> Result<ApplicationKey, BootstrapError> {
    let setting: SecretString = match (config.application_key(), config.environment()) {
        (Some(key), _) => key,
        (None, Environment::Production) => return Err(BootstrapError::NoApplicationKey),
        (None, Environment::Development) => workspace::application_key(&config.data_dir())?,
    };
    let key = ApplicationKey::parse(&setting)?;
    key.with_previous(&config.previous_application_keys).map_err(|InvalidApplicationKey| BootstrapError::InvalidPreviousKey)
}

/// The URL of the private server of another process.
async fn running(data_dir: &Path) -> Option<String> {
    let data_dir = data_dir.to_owned();
    let looking = tokio::task::spawn_blocking(move || PrivatePostgres::running(&data_dir, DATABASE));
    looking.await.expect("looking does not panic, and a running blocking task is not cancelled")
}

/// Starts the private server. The pool connects to its database on first use.
async fn start(settings: &Settings, config: &Config) -> Result<(PrivatePostgres, Pool), BootstrapError> {
    let settings = settings.clone();
    let starting = tokio::task::spawn_blocking(move || PrivatePostgres::start(&settings));
    let private = starting.await.expect("starting does not panic, and a running blocking task is not cancelled")?;
    let pool = database::pool(&parsed(&private.url(DATABASE)), &config.database);
    Ok((private, pool))
}

fn parsed(url: &str) -> DatabaseUrl {
    url.parse().expect("the private server returns a valid URL")
}
