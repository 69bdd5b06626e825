//! `portico cell list` and `cell drain`.

use clap::Subcommand;
use serde_json::{Value, json};

use crate::bootstrap::Database;
use crate::cli::Failure;
use crate::cli::moving;
use crate::cli::record;
use crate::companies;
use crate::config::Config;
use crate::kernel::database::{CellName, Pool, database_size, server_version};
use crate::kernel::error_chain::chain;
use crate::kernel::middleware::TIME_LIMIT;
use crate::kernel::migrations;

#[derive(Debug, Subcommand)]
pub(super) enum CellCommand {
    /// List the cells: the databases that companies live in
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move every company of a cell to the others, by their weights; interrupted, it is continued by the same command
    Drain {
        /// The cell's name
        name: CellName,
        /// How long requests may still be under way that were admitted before
        #[arg(long, value_name = "SECONDS", default_value_t = TIME_LIMIT.as_secs())]
        grace: u64,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl CellCommand {
    /// Whether it ends what it has begun when a signal asks it to stop.
    pub(super) fn stops_in_order(&self) -> bool {
        matches!(self, Self::Drain { .. })
    }

    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::List { json } => list(config, json).await,
            Self::Drain { name, grace, json } => Box::pin(moving::drain(config, &name, grace, json)).await,
        }
    }
}

async fn list(config: &Config, json: bool) -> Result<(), Failure> {
    let mut cells = Vec::new();
    for config in config.cells() {
        let shown = match Database::new(&config).await {
            Ok(database) => {
                let shown = look(&database.pool).await;
                database.stop().await;
                shown
            }
            Err(error) => Err(error.into()),
        };
        let mut cell = json!({ "cell": config.database.name.as_str(), "weight": config.database.weight });
        let members = shown.unwrap_or_else(|error| json!({ "state": chain(&*error) }));
        cell.as_object_mut().expect("it is an object").extend(members.as_object().cloned().unwrap_or_default());
        cells.push(cell);
    }
    record::show_list(json, "cells", &cells);
    Ok(())
}

async fn look(pool: &Pool) -> Result<Value, Failure> {
    let version = server_version(pool).await?;
    let state = match migrations::must_be_applied(pool).await {
        Ok(()) => "ready".to_owned(),
        Err(error) => chain(&error),
    };
    let companies = if state == "ready" { Some(companies::count_companies(&mut pool.acquire().await?).await?) } else { None };
    let size = database_size(pool).await?;
    Ok(json!({ "state": state, "companies": companies, "megabytes": size / 1_000_000, "postgresql": version }))
}
