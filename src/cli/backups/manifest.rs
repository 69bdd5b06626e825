//! What a backup says about itself. It has no secret: a key appears by its fingerprint.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::app;
use crate::cli::Failure;
use crate::cli::backups::MANIFEST;
use crate::declared;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{Pool, server_version};
use crate::kernel::migrations;
use crate::kernel::sealed_values;
use crate::operators;

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
    /// How many secrets are sealed under which key, by its fingerprint. This and the next three are [`Needs`].
    pub(super) sealed: BTreeMap<String, u64>,
    /// How many none of the keys opened.
    pub(super) lost: u64,
    /// Of how many operators the recovery codes need which key, by its fingerprint. Those that a version made which did not note the key are
    /// not among them, and neither are any in a backup that such a version made.
    #[serde(default)]
    pub(super) recovery_codes: BTreeMap<String, u64>,
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

/// What the database needs of an installation at one moment.
///
/// The moment of a dump is between two at which one can look. What is found at the first alone, such as secrets under a key that is being
/// replaced, may be in the dump, and so may what is found at the second alone: its manifest has both.
#[derive(Debug)]
pub(super) struct Needs {
    sealed: BTreeMap<String, u64>,
    lost: u64,
    recovery_codes: BTreeMap<String, u64>,
    kinds: BTreeSet<String>,
}

impl Needs {
    pub(super) async fn look(pool: &Pool, key: &ApplicationKey) -> Result<Self, sqlx::Error> {
        let census = sealed_values::count(pool, key, &app::sealed_columns()).await?;
        let mut conn = pool.acquire().await?;
        let records = declared::count_records_of_others(&mut conn, &[]).await?;
        let recovery_codes = operators::count_operators_by_key_of_codes(&mut conn).await?;
        Ok(Self {
            sealed: census.by_key.iter().map(|(fingerprint, count)| (fingerprint.to_string(), *count)).collect(),
            lost: census.lost.values().sum(),
            recovery_codes: recovery_codes.iter().map(|(fingerprint, count)| (fingerprint.to_string(), count.unsigned_abs())).collect(),
            kinds: records.into_iter().map(|records| records.kind).collect(),
        })
    }

    /// What either has; of two numbers, the larger one.
    pub(super) fn or(mut self, other: Self) -> Self {
        take_larger(&mut self.sealed, other.sealed);
        take_larger(&mut self.recovery_codes, other.recovery_codes);
        self.lost = self.lost.max(other.lost);
        self.kinds.extend(other.kinds);
        self
    }
}

fn take_larger(known: &mut BTreeMap<String, u64>, other: BTreeMap<String, u64>) {
    for (fingerprint, count) in other {
        let known = known.entry(fingerprint).or_default();
        *known = count.max(*known);
    }
}

impl Manifest {
    /// The manifest of `dump`, which was taken from this database.
    pub(super) async fn of(
        pool: &Pool,
        key: &ApplicationKey,
        made_at: DateTime<Utc>,
        Needs { sealed, lost, recovery_codes, kinds }: Needs,
        dump: Dump,
    ) -> Result<Self, Failure> {
        Ok(Self {
            format: FORMAT,
            made_at,
            portico: env!("CARGO_PKG_VERSION").to_owned(),
            postgresql: server_version(pool).await?,
            migrations: migrations::applied(pool).await?,
            application_key: key.fingerprint().to_string(),
            sealed,
            lost,
            recovery_codes,
            kinds: kinds.into_iter().collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_only_before_or_only_after_is_needed() {
        let needs = |sealed: &[(&str, u64)], lost, kinds: &[&str]| Needs {
            sealed: sealed.iter().map(|(fingerprint, count)| ((*fingerprint).to_owned(), *count)).collect(),
            lost,
            recovery_codes: BTreeMap::from([("old".to_owned(), lost)]),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        };
        let both = needs(&[("old", 8), ("new", 1)], 2, &["garden/pots"]).or(needs(&[("new", 9)], 0, &["garden/tools"]));
        assert_eq!(both.sealed, BTreeMap::from([("new".to_owned(), 9), ("old".to_owned(), 8)]));
        assert_eq!((both.lost, both.kinds.len(), both.recovery_codes["old"]), (2, 2, 2));
    }
}
