//! What a backup says about itself. It has no secret: a key appears by its fingerprint.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::app;
use crate::cli::Failure;
use crate::cli::backups::MANIFEST;
use crate::declared;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::migrations;
use crate::kernel::sealed_values;

/// The form of the directory. A version refuses those that it does not know.
const FORMAT: u32 = 1;

#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Manifest {
    pub(super) format: u32,
    /// When the dump was begun, by the clock of the database.
    pub(super) made_at: DateTime<Utc>,
    /// The version that made it.
    pub(super) portico: String,
    /// The version of the database server.
    pub(super) postgresql: String,
    /// All that the database has.
    pub(super) migrations: Vec<i64>,
    /// The fingerprint of the application key.
    pub(super) application_key: String,
    /// How many secrets are sealed under which key, by its fingerprint.
    pub(super) sealed: BTreeMap<String, u64>,
    /// How many none of the keys opened.
    pub(super) lost: u64,
    /// The declared kinds that have records.
    pub(super) kinds: Vec<String>,
    pub(super) dump: Dump,
}

/// The file of the dump.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Dump {
    pub(super) bytes: u64,
    pub(super) sha256: String,
}

impl Manifest {
    /// Looks at the database from which `dump` was taken. It may have got more since, so what the dump needs is among what is found.
    pub(super) async fn of(pool: &Pool, key: &ApplicationKey, made_at: DateTime<Utc>, dump: Dump) -> Result<Self, Failure> {
        let census = sealed_values::count(pool, key, &app::sealed_columns()).await?;
        let conn = &mut pool.acquire().await?;
        Ok(Self {
            format: FORMAT,
            made_at,
            portico: env!("CARGO_PKG_VERSION").to_owned(),
            postgresql: sqlx::query_scalar!(r#"select current_setting('server_version') as "version!""#).fetch_one(&mut *conn).await?,
            migrations: migrations::applied(pool).await?,
            application_key: key.fingerprint().to_string(),
            sealed: census.by_key.iter().map(|(fingerprint, count)| (fingerprint.to_string(), *count)).collect(),
            lost: census.lost.values().sum(),
            kinds: declared::count_records_of_others(conn, &[]).await?.into_iter().map(|records| records.kind).collect(),
            dump,
        })
    }

    pub(super) fn write(&self, directory: &Path) -> Result<(), Failure> {
        fs::write(directory.join(MANIFEST), format!("{}\n", serde_json::to_string_pretty(self)?))?;
        Ok(())
    }

    pub(super) fn read(directory: &Path) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct AnyFormat {
            format: u32,
        }
        let path = directory.join(MANIFEST);
        let text = fs::read_to_string(&path)
            .map_err(|error| format!("{} cannot be read ({error}): name the directory that portico backup has written", path.display()))?;
        let broken = |error| format!("{} is not the manifest of a backup: {error}", path.display());
        match serde_json::from_str::<AnyFormat>(&text).map_err(broken)?.format {
            FORMAT => Ok(serde_json::from_str(&text).map_err(broken)?),
            other => Err(format!("the backup has the form {other}, which this version does not know: restore it with a newer one").into()),
        }
    }
}
