//! `portico company create`, `company list`, `company suspend`, `company resume`, `company move` and `company delete`.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::confirmation::confirm;
use crate::cli::moving;
use crate::cli::placement::{find_company, list_of, of_new_company};
use crate::cli::progress::Progress;
use crate::cli::record::{self, parse_name};
use crate::companies::{self, Company, Deletion};
use crate::config::Config;
use crate::kernel::clock::timestamp;
use crate::kernel::database::{Connection, Pool};
use crate::kernel::ids::CompanyId;
use crate::resources::Line;
use crate::webhooks;

#[derive(Debug, Subcommand)]
pub(super) enum CompanyCommand {
    /// Create a company
    Create {
        /// The company's name
        #[arg(value_parser = parse_name)]
        name: Line<255>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the companies
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Suspend a company: its keys are refused, nobody enters its console, and its deliveries are held
    Suspend(Named),
    /// Resume a company: its keys work again, and what was held is delivered
    Resume(Named),
    /// Move a company to another cell, with everything that belongs to it; a move that was interrupted is continued
    Move(moving::Arguments),
    /// Delete a suspended company and everything that belongs to it; a deletion that was interrupted is continued
    Delete {
        #[command(flatten)]
        company: Named,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Args, Debug)]
pub(super) struct Named {
    /// The company's name, or its id (company_…)
    name: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl CompanyCommand {
    /// Whether it ends what it has begun when a signal asks it to stop.
    pub(super) fn stops_in_order(&self) -> bool {
        matches!(self, Self::Move(_))
    }

    /// Whether it works on one database. A new company gets a cell, and companies are listed over all.
    pub(super) fn is_of_one_cell(&self) -> bool {
        !matches!(self, Self::Create { .. } | Self::List { .. } | Self::Move(_))
    }

    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Create { name, json } => {
                let (name, of_cell) = (String::from(name), of_new_company(config, None).await?);
                record::print_one(&of_cell, json, async |pool| {
                    let id = companies::create_company(&mut pool.acquire().await?, &name, pool.clock().now()).await?;
                    Ok(json!({ "company": in_cell(json!({ "id": id, "uuid": id.uuid(), "name": name }), config, &of_cell) }))
                })
                .await
            }
            Self::List { json } => {
                let (mut listed, mut failed) = (Vec::new(), None);
                for of_cell in config.cells() {
                    let companies = match list_of(&of_cell).await {
                        Ok(companies) => companies,
                        // One that is away hides none of the others.
                        Err(error) => {
                            failed = Some(error);
                            continue;
                        }
                    };
                    listed.extend(companies.iter().map(|company| in_cell(shown(company), config, &of_cell)));
                }
                if failed.is_none() || !listed.is_empty() {
                    record::show_list(json, "companies", &listed);
                }
                failed.map_or(Ok(()), Err)
            }
            Self::Suspend(Named { name, json }) => {
                record::print_one(config, json, async |pool| set_suspended(pool, &name, true).await).await
            }
            Self::Resume(Named { name, json }) => {
                record::print_one(config, json, async |pool| set_suspended(pool, &name, false).await).await
            }
            Self::Move(arguments) => Box::pin(moving::run(config, arguments)).await,
            Self::Delete { company: Named { name, json }, yes } => {
                record::print_list(config, json, "tables", async |pool| delete(pool, &name, yes).await).await
            }
        }
    }
}

/// The company with its cell, if there are several.
fn in_cell(mut company: Value, config: &Config, of_cell: &Config) -> Value {
    if config.database.is_a_cell() {
        company["cell"] = of_cell.database.name.as_str().into();
    }
    company
}

fn shown(company: &Company) -> Value {
    let suspended_at = company.suspended_at.map(timestamp);
    let mut shown = json!({ "id": company.id, "uuid": company.id.uuid(), "name": company.name, "suspended_at": suspended_at });
    if let Some(step) = &company.moves {
        shown["moves"] = step.to_string().into();
    }
    shown
}

/// A company is not changed as a whole while it is on its way to another cell.
async fn must_not_move(conn: &mut Connection, company: CompanyId) -> Result<(), Failure> {
    match companies::moving::find_step(conn, company).await? {
        None => Ok(()),
        Some(step) => Err(format!("the company is on its way to or from the cell {}: see portico company move", step.cell).into()),
    }
}

/// Suspends or resumes a company.
async fn set_suspended(pool: &Pool, name: &str, suspended: bool) -> Result<Value, Failure> {
    let mut conn = pool.acquire().await?;
    let id = find_company(&mut conn, name).await?.id;
    must_not_move(&mut conn, id).await?;
    let (caller, now) = (Caller::command_line(id), pool.clock().now());
    let changed = match suspended {
        true => webhooks::suspend_company(&mut conn, &caller, now).await?,
        false => webhooks::resume_company(&mut conn, &caller, now).await?,
    };
    match (changed, suspended) {
        (false, true) => return Err("the company is suspended already".into()),
        (false, false) => return Err("the company is not suspended".into()),
        (true, _) => {}
    }
    Ok(json!({ "company": shown(&find_company(&mut conn, &id.to_string()).await?) }))
}

/// Deletes a company, and returns how many rows of each table it had.
async fn delete(pool: &Pool, name: &str, yes: bool) -> Result<Vec<Value>, Failure> {
    let mut conn = pool.acquire_patient().await?;
    let company = find_company(&mut conn, name).await?;
    must_not_move(&mut conn, company.id).await?;
    let mut deletion = Deletion::begin(&mut conn, company.id).await?;
    confirm("Deleting a company", &company.name, yes)?;
    let (progress, mut deleted) = (Progress::counting("deleting"), 0);
    while let Some(rows) = deletion.next_batch(&mut conn).await? {
        deleted += rows;
        progress.at(deleted);
    }
    progress.end();
    Ok(deletion.report().iter().map(|(table, rows)| json!({ "table": table, "rows": rows })).collect())
}
