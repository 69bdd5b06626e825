//! `portico store create`, `store list` and `store close`.

use clap::Subcommand;
use serde_json::json;

use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::confirmation::confirm;
use crate::cli::exit::NotFound;
use crate::cli::record::{self, parse_name};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, StoreId};
use crate::resources::{IfMatch, Line, operations};
use crate::storefront::{self, StoreBody, StoreRecord, Stores};

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Create a store of a company
    Create {
        /// The store's name, as its texts and mails show it
        #[arg(value_parser = parse_name)]
        name: Line<255>,
        /// The company that owns it, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Close a store: its keys are refused, and its customers cannot sign in any more
    Close {
        /// The store, as an id (store_…) or UUID
        store: StoreId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the stores of a company
    List {
        /// The company, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl StoreCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Create { name, company, json } => {
                record::print_one(config, json, async |pool| {
                    let (stores, caller) = (Stores::new(pool.clone(), Clock::System), record::caller_of(pool, company).await?);
                    let created = operations::create::<StoreRecord>(&stores, &caller, StoreBody::named(name)).await?.record;
                    let (id, name) = (created.id, created.fields.name);
                    Ok(json!({ "store": { "id": id, "uuid": id.uuid(), "company": company, "name": name } }))
                })
                .await
            }
            Self::Close { store, yes, json } => {
                record::print_one(config, json, async |pool| {
                    let stores = Stores::new(pool.clone(), Clock::System);
                    let company = operations::company_of::<StoreRecord>(&stores, store).await?;
                    let caller = Caller::command_line(company.ok_or_else(|| NotFound(format!("there is no store {store}")))?);
                    let name = operations::find::<StoreRecord>(&stores, &caller, store).await?.record.fields.name;
                    confirm("Closing a store", &name, yes)?;
                    operations::delete::<StoreRecord>(&stores, &caller, store, &IfMatch::default()).await?;
                    Ok(json!({ "store": { "id": store, "name": name, "closed": true } }))
                })
                .await
            }
            Self::List { company, json } => {
                record::print_list(config, json, "stores", async |pool| {
                    let stores = storefront::list_stores(&mut pool.acquire().await?, company).await?;
                    Ok(stores.into_iter().map(|(id, name)| json!({ "id": id, "uuid": id.uuid(), "name": name })).collect())
                })
                .await
            }
        }
    }
}
