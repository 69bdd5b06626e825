//! `portico migrate`

use clap::Args;
use serde_json::json;

use crate::bootstrap::{BootstrapError, Database};
use crate::cli::Failure;
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::kernel::error_chain::chain;
use crate::kernel::terminal::{complain, say};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Migrates every cell. One that is away keeps nobody from migrating the others.
pub(super) async fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let (cells, mut migrated, mut failed) = (config.cells(), Vec::new(), None);
    for config in &cells {
        let name = config.database.name.as_str();
        match migrate_one(config).await {
            Ok(applied) if arguments.json => migrated.push(json!({ "cell": name, "applied": applied })),
            Ok(applied) if cells.len() > 1 => say(&format!("{name}: {}", sentence(applied))),
            Ok(applied) => say(&sentence(applied)),
            Err(error) if cells.len() > 1 => {
                complain(&format!("{name}: {}", chain(&error)));
                migrated.push(json!({ "cell": name, "error": chain(&error) }));
                failed = Some(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    if arguments.json {
        say(&json!({ "cells": migrated }).to_string());
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Returns how many migrations were missing.
async fn migrate_one(config: &Config) -> Result<usize, BootstrapError> {
    let database = Database::new(config).await?;
    let progress = Progress::counting("migrating");
    let migrated = database.migrate().await;
    progress.end();
    database.stop().await;
    Ok(migrated?.missing)
}

fn sentence(applied: usize) -> String {
    match applied {
        0 => "All migrations were already applied.".to_owned(),
        1 => "1 migration was applied.".to_owned(),
        _ => format!("{applied} migrations were applied."),
    }
}
