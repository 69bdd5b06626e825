//! `portico company create` and `company list`.

use clap::Subcommand;
use serde_json::json;

use crate::cli::Failure;
use crate::cli::record::{self, parse_name};
use crate::companies;
use crate::config::Config;
use crate::resources::Line;

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
}

impl CompanyCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        match self {
            Self::Create { name, json } => {
                let name = String::from(name);
                record::print_one(config, json, async |pool| {
                    let id = companies::create_company(&mut pool.acquire().await?, &name, pool.clock().now()).await?;
                    Ok(json!({ "company": { "id": id, "uuid": id.uuid(), "name": name } }))
                })
                .await
            }
            Self::List { json } => {
                record::print_list(config, json, "companies", async |pool| {
                    let companies = companies::list_companies(&mut pool.acquire().await?).await?;
                    Ok(companies.into_iter().map(|(id, name)| json!({ "id": id, "uuid": id.uuid(), "name": name })).collect())
                })
                .await
            }
        }
    }
}
