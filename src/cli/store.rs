//! `portico store create` and `store list`.

use clap::Subcommand;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::record::{self, parse_name};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::CompanyId;
use crate::resources::{Line, operations};
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
