//! `portico keys rotate`: seals what is stored under the application key again, after the key was replaced.

use std::process::ExitCode;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::app;
use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::Pool;
use crate::kernel::sealed_values::{Resealing, SealedColumn};
use crate::kernel::signals;
use crate::kernel::terminal::say;

/// How long whoever changes a value gets before it is looked at again.
const PAUSE: Duration = Duration::from_millis(200);
/// How often it is. A transaction that lasts longer keeps its value under the key before, and the command says so.
const WALKS: usize = 25;
/// How many rows whose value is lost are named to people.
const NAMED: usize = 20;

#[derive(Debug, Subcommand)]
pub(super) enum KeysCommand {
    /// Seal every stored secret under the application key, while the service runs; can be stopped at any time, and goes on when run again
    Rotate {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// What became of the values of a column.
struct Rotated {
    column: SealedColumn,
    values: u64,
    resealed: u64,
    /// Those that others went on changing.
    passed_over: u64,
    lost: Vec<Uuid>,
}

impl KeysCommand {
    pub(super) async fn run(self, config: &Config) -> Result<ExitCode, Failure> {
        let Self::Rotate { json } = self;
        let key = application_key(config)?;
        let (rotated, is_stopped) = Database::new(config).await?.with_migrated(config, async |pool| rotate(pool, &key).await).await?;
        let is_complete = !is_stopped && rotated.iter().all(|column| column.lost.is_empty() && column.passed_over == 0);
        say(&if json { as_json(&key, &rotated, is_stopped) } else { as_text(&key, &rotated, is_stopped) });
        Ok(if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Seals column after column, until all are done or somebody stops it. Returns what became of each, and whether somebody has.
async fn rotate(pool: &Pool, key: &ApplicationKey) -> Result<(Vec<Rotated>, bool), Failure> {
    let stop = signals::shutdown();
    let mut all = Vec::new();
    for column in app::sealed_columns() {
        if stop.is_cancelled() {
            break;
        }
        all.push(rotate_column(pool, key, column, &stop).await?);
    }
    Ok((all, stop.is_cancelled()))
}

/// Goes through the column until nobody was changing a value meanwhile.
async fn rotate_column(pool: &Pool, key: &ApplicationKey, column: SealedColumn, stop: &CancellationToken) -> Result<Rotated, Failure> {
    let mut rotated = Rotated { column, values: 0, resealed: 0, passed_over: 0, lost: Vec::new() };
    let progress = Progress::new(column.content, Resealing::new(pool, key, column).count().await?);
    for _ in 0..WALKS {
        (rotated.values, rotated.passed_over, rotated.lost) = (0, 0, Vec::new());
        let mut resealing = Resealing::new(pool, key, column);
        while !stop.is_cancelled()
            && let Some(batch) = resealing.next().await?
        {
            rotated.values += batch.values;
            rotated.resealed += batch.resealed;
            rotated.passed_over += batch.passed_over;
            rotated.lost.extend(batch.lost);
            progress.at(rotated.values);
        }
        if rotated.passed_over == 0 || stop.is_cancelled() {
            break;
        }
        sleep(PAUSE).await;
    }
    progress.end();
    Ok(rotated)
}

fn as_text(key: &ApplicationKey, rotated: &[Rotated], is_stopped: bool) -> String {
    let width = rotated.iter().map(|column| column.column.content.len()).max().unwrap_or_default();
    let mut lines: Vec<_> = rotated
        .iter()
        .filter(|column| column.values > 0)
        .map(|Rotated { column, values, resealed, .. }| format!("{:width$}  {resealed} of {values} sealed again", column.content))
        .collect();
    for Rotated { column, lost, .. } in rotated.iter().filter(|column| !column.lost.is_empty()) {
        let named = lost.iter().take(NAMED).map(Uuid::to_string).collect::<Vec<_>>().join(" ");
        let others = if lost.len() > NAMED { ", and others (--json names all)" } else { "" };
        lines.push(format!("None of the keys opens {} of the {}: {named}{others}", lost.len(), column.content));
    }
    let passed_over: u64 = rotated.iter().map(|column| column.passed_over).sum();
    lines.push(match (is_stopped, passed_over, rotated.iter().any(|column| !column.lost.is_empty())) {
        (true, ..) => "Stopped. Run the command again to go on.".to_owned(),
        (_, 1.., _) => format!("Others were changing {passed_over} values all the time. Run the command again."),
        (_, _, true) => format!("All others are sealed under the application key {}.", key.fingerprint()),
        _ => format!("Everything is sealed under the application key {}.", key.fingerprint()),
    });
    lines.join("\n")
}

fn as_json(key: &ApplicationKey, rotated: &[Rotated], is_stopped: bool) -> String {
    let columns = rotated.iter().map(|Rotated { column: SealedColumn { table, column, .. }, values, resealed, passed_over, lost }| {
        json!({ "table": table, "column": column, "values": values, "resealed": resealed, "passed_over": passed_over, "lost": lost })
    });
    json!({ "application_key": key.fingerprint().to_string(), "stopped": is_stopped, "columns": columns.collect::<Vec<_>>() }).to_string()
}
