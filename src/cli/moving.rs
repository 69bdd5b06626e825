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
use crate::kernel::middleware::TIME_LIMIT;
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
    /// How long requests may still be under way that were admitted before
    #[arg(long, value_name = "SECONDS", default_value_t = TIME_LIMIT.as_secs())]
    grace: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// `company move`
pub(super) async fn run(config: &Config, arguments: Arguments) -> Result<(), Failure> {
    let Arguments { company, to, undo, grace, json } = arguments;
    let (from, company) = whereabouts(config, &company, &to, undo).await?;
    let way = Way { from, to, company };
    let shown = match undo {
        true => way.undo(config).await?,
        false => {
            let moved = way.go(config).await?;
            way.clear(config, &moved, Duration::from_secs(grace)).await?;
            way.shown(moved)
        }
    };
    say(&if json { json!({ "company": shown }).to_string() } else { lines(&shown) });
    Ok(())
}

/// `cell drain`
pub(super) async fn drain(config: &Config, cell: &CellName, grace: u64, json: bool) -> Result<(), Failure> {
    let mut all = Vec::new();
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
        let way = Way { from: cell.clone(), to, company };
        let moved = way.go(config).await?;
        all.push((way, moved));
    }
    for (way, moved) in &all {
        way.clear(config, moved, Duration::from_secs(grace)).await?;
    }
    record::show_list(json, "companies", &all.iter().map(|(way, moved)| way.shown(*moved)).collect::<Vec<_>>());
    Ok(())
}

/// The cell that a database names as the other one of a move.
fn cell_named(name: &str) -> Result<CellName, Failure> {
    Ok(name.parse().map_err(|_| format!("there is no cell {name}"))?)
}

/// The cell that has a company, or had it before it went to `to`. To go back, that cell alone need be there.
async fn whereabouts(config: &Config, name: &str, to: &CellName, undo: bool) -> Result<(CellName, Company), Failure> {
    settings_of_cell(config, to)?;
    let (mut elsewhere, mut there, mut failed) = (None::<(CellName, Company)>, None, None);
    for of_cell in config.cells() {
        let look = async |pool: &Pool| find_company(&mut pool.acquire().await?, name).await;
        let cell = of_cell.database.name.clone();
        match Database::new(&of_cell).await?.with_migrated(&of_cell, look).await {
            Err(error) if error.is::<NotFound>() => {}
            Err(error) => failed = failed.or(Some(error)),
            Ok(company) if cell == *to => there = Some(company),
            Ok(company) if elsewhere.as_ref().is_some_and(|(_, other)| other.id != company.id) => {
                return Err(format!("several companies are named {name}: say which by its id").into());
            }
            Ok(company) => elsewhere = elsewhere.or(Some((cell, company))),
        }
    }
    match (elsewhere, failed) {
        (Some(found), None) => return Ok(found),
        (Some(found), Some(_)) if undo => return Ok(found),
        (_, Some(failed)) => return Err(failed),
        (None, None) => {}
    }
    let company = there.ok_or_else(|| NotFound(format!("there is no company {name}")))?;
    match &company.moves {
        Some(Step { stage: Stage::Arrived, cell }) => Ok((cell_named(cell)?, company)),
        _ => Err(format!("{} is in the cell {to} already", company.name).into()),
    }
}

/// From which cell a company goes to which.
struct Way {
    from: CellName,
    to: CellName,
    company: Company,
}

impl Way {
    /// Moves the company. Whoever interrupts that finds it served, where it was or where it went.
    async fn go(&self, config: &Config) -> Result<Moved, Failure> {
        let Self { from, company, .. } = self;
        let work = async |moving: Move| -> Result<Moved, Failure> {
            let mut shown = Shown::default();
            let mut progress = |what, rows| shown.at(what, rows);
            let moved = signals::shutdown().run_until_cancelled(Box::pin(moving.run(&mut progress))).await;
            shown.end();
            match moved {
                Some(moved) => Ok(moved?),
                None => match moving.undo().await {
                    Ok(undone) => {
                        self.say_what_is_left(undone);
                        Err(format!("interrupted: {} stays in the cell {from}", company.name).into())
                    }
                    Err(Stuck::HasLeft) => {
                        Err(format!("interrupted: {} has left the cell {from}; the same command brings the rest", company.name).into())
                    }
                    Err(error) => Err(error.into()),
                },
            }
        };
        self.between(config, false, work).await
    }

    /// Clears away what the company has left behind, once no request is under way any more that may add to it.
    async fn clear(&self, config: &Config, moved: &Moved, grace: Duration) -> Result<(), Failure> {
        let Self { from, to, company } = self;
        let work = async |moving: Move| -> Result<(), Failure> {
            let mut shown = Shown::default();
            shown.at("waiting for requests of before", 0);
            let mut progress = |what, rows| shown.at(what, rows);
            let cleared = signals::shutdown().run_until_cancelled(Box::pin(moving.clear(moved, grace, &mut progress))).await;
            shown.end();
            match cleared {
                Some(cleared) => Ok(cleared.map(drop)?),
                None => Err(format!("interrupted: {} is in the cell {to}; the same command clears the cell {from}", company.name).into()),
            }
        };
        self.between(config, false, work).await
    }

    async fn undo(&self, config: &Config) -> Result<Value, Failure> {
        let work = async |moving: Move| -> Result<Value, Failure> {
            self.say_what_is_left(moving.undo().await?);
            Ok(json!({ "id": self.company.id, "name": self.company.name, "cell": self.from.as_str() }))
        };
        self.between(config, true, work).await
    }

    fn say_what_is_left(&self, undone: Undone) {
        let Self { to, company, .. } = self;
        if undone == Undone::WithoutTheNewCell {
            complain(&format!("The cell {to} is away. When it is back, run this for what it may have of {}:", company.name));
            complain(&format!("  portico company move {} --to {to} --undo", company.id));
        }
    }

    /// Runs `work` on the databases of both cells. To go back, the new one need not be there.
    async fn between<T>(&self, config: &Config, undo: bool, work: impl AsyncFnOnce(Move) -> Result<T, Failure>) -> Result<T, Failure> {
        let Self { from, to, company } = self;
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

    fn shown(&self, moved: Moved) -> Value {
        json!({
            "id": self.company.id,
            "name": self.company.name,
            "cell": self.to.as_str(),
            "rows": moved.rows,
            "log_rows": moved.log_rows,
            "paused_ms": moved.paused.map(millis),
            "log_ms": millis(moved.log_took),
        })
    }
}

/// The progress that is shown, of one step after the other.
#[derive(Default)]
struct Shown {
    bar: Option<Progress>,
    doing: &'static str,
}

impl Shown {
    fn at(&mut self, what: &'static str, rows: u64) {
        if self.doing != what {
            self.doing = what;
            self.bar.replace(Progress::counting(what)).into_iter().for_each(Progress::end);
        }
        self.bar.iter().for_each(|bar| bar.at(rows));
    }

    fn end(self) {
        self.bar.into_iter().for_each(Progress::end);
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
