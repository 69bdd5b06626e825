//! Which databases there are, and how they are used.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::time::Duration;

use crate::kernel::database::{CellName, DatabaseUrl};
use crate::kernel::settings;

/// `[database]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// `postgres://user:password@host/database`, with several hosts separated by commas. If unset, development starts a private server.
    #[serde(deserialize_with = "settings::optional")]
    pub url: Option<DatabaseUrl>,
    /// The URL of the role that owns the tables, if that of `url` does not.
    #[serde(deserialize_with = "settings::optional")]
    pub owner_url: Option<DatabaseUrl>,
    /// The same database by way of a pooler in transaction mode, for the connections of requests.
    #[serde(deserialize_with = "settings::optional")]
    pub pooler_url: Option<DatabaseUrl>,
    /// A hot standby of the database, which lists and figures are read from.
    #[serde(deserialize_with = "settings::optional")]
    pub replica_url: Option<DatabaseUrl>,
    /// How old what is read there may be. A standby that is further behind is not asked.
    #[serde(deserialize_with = "settings::time")]
    pub replica_max_lag: Duration,
    /// The maximum number of pooled connections of this instance, to each cell that does not say otherwise.
    pub max_connections: NonZeroU32,
    /// The share of new companies that the cell of `url` gets, in relation to those of the other cells.
    pub weight: u32,
    /// `[database.cells.NAME]`: further databases, with companies of their own.
    pub cells: BTreeMap<CellName, CellSettings>,
    /// The cell that these are the settings of.
    #[serde(skip, default = "CellName::main")]
    pub name: CellName,
    /// How long a request waits for a connection before it gets status 503.
    #[serde(deserialize_with = "settings::time")]
    pub acquire_timeout: Duration,
    /// How long a statement of a request may take before it gets status 503.
    #[serde(deserialize_with = "settings::time")]
    pub statement_timeout: Duration,
}

/// `[database.cells.NAME]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellSettings {
    /// As `database.url`.
    pub url: DatabaseUrl,
    /// As `database.owner_url`.
    #[serde(default, deserialize_with = "settings::optional")]
    pub owner_url: Option<DatabaseUrl>,
    /// As `database.pooler_url`.
    #[serde(default, deserialize_with = "settings::optional")]
    pub pooler_url: Option<DatabaseUrl>,
    /// As `database.replica_url`.
    #[serde(default, deserialize_with = "settings::optional")]
    pub replica_url: Option<DatabaseUrl>,
    /// As `database.max_connections`, which is the default.
    #[serde(default)]
    pub max_connections: Option<NonZeroU32>,
    /// As `database.weight`; 1 if it is not set.
    #[serde(default = "usual_weight")]
    pub weight: u32,
}

fn usual_weight() -> u32 {
    1
}

impl Settings {
    /// Whether the database is one of several.
    #[must_use]
    pub fn is_a_cell(&self) -> bool {
        !self.cells.is_empty() || self.name != CellName::main()
    }

    /// The settings of each cell, as if it were the only one: that of `url`, then the others by name.
    pub fn of_cells(&self) -> Vec<Self> {
        let alone = Self { cells: BTreeMap::new(), ..self.clone() };
        let others = self.cells.iter().map(|(name, cell)| Self {
            url: Some(cell.url.clone()),
            owner_url: cell.owner_url.clone(),
            pooler_url: cell.pooler_url.clone(),
            replica_url: cell.replica_url.clone(),
            max_connections: cell.max_connections.unwrap_or(self.max_connections),
            weight: cell.weight,
            name: name.clone(),
            ..alone.clone()
        });
        std::iter::once(alone.clone()).chain(others).collect()
    }
}
