//! `portico customer import`: customers of another service move in.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use crate::bootstrap::Database;
use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::cli::progress::Progress;
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::ids::StoreId;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::terminal::{complain, say};
use crate::resources::operations;
use crate::storefront::{Import, ImportOptions, ImportReport, StoreRecord, Stores};

#[derive(Args, Debug)]
pub struct Arguments {
    /// The file: one customer a line, as JSON
    file: PathBuf,
    /// The store that they move into, as an id (store_…) or UUID
    #[arg(long)]
    store: StoreId,
    /// Contacts that the file calls verified are proven, and links to providers taken: they open the accounts
    #[arg(long)]
    vouch: bool,
    /// Store nothing, and tell what would be
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Fails if a line was refused; the others are taken all the same.
pub(super) async fn run(config: &Config, arguments: &Arguments) -> Result<(), Failure> {
    let file = File::open(&arguments.file).map_err(|error| format!("{}: {error}", arguments.file.display()))?;
    let report = Database::new(config).await?.with_migrated(config, async |pool| import(pool, arguments, &file).await).await?;
    match arguments.json {
        true => say(&json!({ "import": report.present() }).to_string()),
        false => print(&report),
    }
    match report.refused.len() {
        0 => Ok(()),
        1 => Err(refusal("1 line was refused")),
        refused => Err(refusal(&format!("{refused} lines were refused"))),
    }
}

fn refusal(sentence: &str) -> Failure {
    Problem::new(ProblemCode::BodyInvalid).detail(sentence.to_owned()).into()
}

async fn import(pool: &Pool, arguments: &Arguments, file: &File) -> Result<ImportReport, Failure> {
    let company = operations::company_of::<StoreRecord>(&Stores::new(pool.clone(), Clock::System), arguments.store).await?;
    let caller = Caller::command_line(company.ok_or_else(|| NotFound(format!("there is no store {}", arguments.store)))?);
    let options = ImportOptions { vouch: arguments.vouch, dry_run: arguments.dry_run };
    let mut import = Import::begin(pool.clone(), Clock::System, caller, arguments.store, options).await?;
    let progress = Progress::of_bytes("importing", Some(file.metadata()?.len()));
    let (mut done, mut batch) = (0, Vec::new());
    for (number, line) in (1..).zip(BufReader::new(file).split(b'\n')) {
        let line = line?;
        done += line.len() as u64 + 1;
        batch.push((number, line));
        if batch.len() == Import::BATCH {
            import.take(&batch).await?;
            batch.clear();
            progress.at(done);
        }
    }
    import.take(&batch).await?;
    progress.end();
    Ok(import.end())
}

fn print(report: &ImportReport) {
    let would = if report.dry_run { "would be " } else { "" };
    say(&format!("{} customers {would}created, {} known, {} lines refused", report.created, report.known, report.refused.len()));
    for (line, refusal) in &report.refused {
        for (member, sentences) in refusal.reasons() {
            complain(&format!("line {line}: {member}: {}", sentences.join(" ")));
        }
    }
}
