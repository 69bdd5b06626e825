//! `portico company move` and `portico cell drain`.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use crate::app::{Move, Moved, Side, Stuck, Undone};
use crate::bootstrap::{Database, settings_of_cell};
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::cli::layout::lines;
use crate::cli::placement::{find_company, list_of, of_new_company};
use crate::cli::progress::Progress;
use crate::cli::record;
use crate::companies::{Company, Stage, Step};
use crate::config::Config;
use crate::kernel::database::{CellName, Pool};
use crate::kernel::signals;
use crate::kernel::terminal::{complain, say};

#[derive(Args, Debug)]
pub(super) struct Arguments {
    /// The company's name, or its id (company_…)
    company: String,
    /// The cell that it goes to
    #[arg(long, value_name = "CELL")]
    to: CellName,
    /// Go back, if the company has not left yet
    #[arg(long)]
    undo: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `company move`
pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<(), Failure> {
    let Arguments { company, to, undo, json } = arguments;
    let (from, company) = whereabouts(config, &company, &to, undo).await?;
    let moved = if undo { self::undo(config, &from, &to, &company).await? } else { go(config, &from, &to, &company).await? };
    say(&if json { json!({ "company": moved }).to_string() } else { lines(&moved) });
    Ok(())
}

/// `cell drain`
pub(super) async fn drain(config: &Config, cell: &CellName, json: bool) -> Result<(), Failure> {
    let mut moved = Vec::new();
    for company in list_of(&settings_of_cell(config, cell)?).await? {
        let to = match &company.moves {
            None => of_new_company(config, Some(cell)).await?.database.name,
            // It has come here, and its log is on its way. First that.
            Some(Step { stage: Stage::Arriving | Stage::Arrived, .. }) => {
                return Err(format!("{} has not arrived yet: run its move to the end first", company.name).into());
            }
            Some(Step { cell, .. }) => cell_named(cell)?,
        };
        complain(&format!("{} goes to {to}", company.name));
        moved.push(go(config, cell, &to, &company).await?);
    }
    record::show_list(json, "companies", &moved);
    Ok(())
}

/// The cell that a database names as the other one of a move.
fn cell_named(name: &str) -> Result<CellName, Failure> {
    Ok(name.parse().map_err(|_| format!("there is no cell {name}"))?)
}

/// The cell that has a company, or had it before it went to `to`. To go back, that cell alone has to be there.
async fn whereabouts(config: &Config, name: &str, to: &CellName, undo: bool) -> Result<(CellName, Company), Failure> {
    settings_of_cell(config, to)?;
    let (mut elsewhere, mut there) = (None::<(CellName, Company)>, None);
    for of_cell in config.cells() {
        let look = async |pool: &Pool| find_company(&mut pool.acquire().await?, name).await;
        let cell = of_cell.database.name.clone();
        match Database::new(&of_cell).await?.with_migrated(&of_cell, look).await {
            Ok(company) if cell == *to => there = Some(company),
            Ok(company) if elsewhere.as_ref().is_some_and(|(_, other)| other.id != company.id) => {
                return Err(format!("several companies are named {name}: say which by its id").into());
            }
            Ok(company) => elsewhere = elsewhere.or(Some((cell, company))),
            Err(error) if error.is::<NotFound>() || undo && cell == *to => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(found) = elsewhere {
        return Ok(found);
    }
    let company = there.ok_or_else(|| NotFound(format!("there is no company {name}")))?;
    match &company.moves {
        Some(Step { stage: Stage::Arrived, cell }) => Ok((cell_named(cell)?, company)),
        _ => Err(format!("{} is in the cell {to} already", company.name).into()),
    }
}

/// Moves a company. Whoever interrupts that finds it served, where it was or where it went.
async fn go(config: &Config, from: &CellName, to: &CellName, company: &Company) -> Result<Value, Failure> {
    let work = async |moving: Move| -> Result<Value, Failure> {
        let (mut bar, mut doing) = (None::<Progress>, "");
        let mut progress = |what: &'static str, rows: u64| {
            if doing != what {
                doing = what;
                bar.replace(Progress::counting(what)).into_iter().for_each(Progress::end);
            }
            bar.iter().for_each(|bar| bar.at(rows));
        };
        let stopping = signals::shutdown();
        let moved = stopping.run_until_cancelled(Box::pin(moving.run(&mut progress))).await;
        bar.into_iter().for_each(Progress::end);
        match moved {
            Some(moved) => Ok(shown(company, to, moved?)),
            None => match moving.undo().await {
                Ok(undone) => {
                    say_what_is_left(undone, company, to);
                    Err(format!("interrupted: {} stays in the cell {from}", company.name).into())
                }
                Err(Stuck::HasLeft) => {
                    Err(format!("interrupted: {} has left the cell {from}; the same command brings the rest", company.name).into())
                }
                Err(error) => Err(error.into()),
            },
        }
    };
    between(config, (from, to), false, company, work).await
}

async fn undo(config: &Config, from: &CellName, to: &CellName, company: &Company) -> Result<Value, Failure> {
    let work = async |moving: Move| -> Result<Value, Failure> {
        say_what_is_left(moving.undo().await?, company, to);
        Ok(json!({ "id": company.id, "name": company.name, "cell": from.as_str() }))
    };
    between(config, (from, to), true, company, work).await
}

fn say_what_is_left(undone: Undone, company: &Company, to: &CellName) {
    if undone == Undone::WithoutTheNewCell {
        complain(&format!("The cell {to} is away. When it is back, run this for what it may have of {}:", company.name));
        complain(&format!("  portico company move {} --to {to} --undo", company.id));
    }
}

/// Runs `work` on the databases of two cells. To go back, the new one need not be there.
async fn between(
    config: &Config,
    (from, to): (&CellName, &CellName),
    undo: bool,
    company: &Company,
    work: impl AsyncFnOnce(Move) -> Result<Value, Failure>,
) -> Result<Value, Failure> {
    if from == to {
        return Err(format!("{} is in the cell {to} already", company.name).into());
    }
    let (source, target) = (settings_of_cell(config, from)?, settings_of_cell(config, to)?);
    let at_source = async |here: &Pool| {
        let from = Side { name: from.clone(), pool: here.clone() };
        let at_target = async |there: &Pool| {
            let to = Side { name: to.clone(), pool: there.clone() };
            work(Move { company: company.id, from, to, clock: here.clock() }).await
        };
        let there = Database::new(&target).await?;
        if undo { there.with_any(at_target).await } else { there.with_migrated(&target, at_target).await }
    };
    Database::new(&source).await?.with_migrated(&source, at_source).await
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn shown(company: &Company, to: &CellName, moved: Moved) -> Value {
    json!({
        "id": company.id,
        "name": company.name,
        "cell": to.as_str(),
        "rows": moved.rows,
        "log_rows": moved.log_rows,
        "paused_ms": moved.paused.map(millis),
        "log_ms": millis(moved.log_took),
    })
}
