//! `portico company create` and `portico store create`.

use clap::Subcommand;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::cli::{Failure, say};
use crate::companies;
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::CompanyId;
use crate::set_up::SetUp;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum CompanyCommand {
    /// Create a company
    Create {
        /// Name of the company
        name: String,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Create a store of a company
    Create {
        /// Name of the store, which its texts and mails contain
        name: String,
        /// Company that owns the store, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

impl CompanyCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Create { name, json } = self;
        on_database(config, json, async |pool| {
            let id = companies::create_company(&mut *pool.acquire().await?, &named(&name)?, Clock::System.now()).await?;
            Ok(json!({ "company": { "id": id, "uuid": id.uuid(), "name": name } }))
        })
        .await
    }
}

impl StoreCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let Self::Create { name, company, json } = self;
        on_database(config, json, async |pool| {
            let created = storefront::create_store(&mut *pool.acquire().await?, company, &named(&name)?, Clock::System.now()).await?;
            let id = created.ok_or_else(|| format!("there is no company {company}"))?;
            Ok(json!({ "store": { "id": id, "uuid": id.uuid(), "company": company, "name": name } }))
        })
        .await
    }
}

pub(super) fn named(name: &str) -> Result<String, Failure> {
    let name = name.trim();
    match name.chars().count() {
        1..=255 if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        _ => Err("a name has 1 to 255 characters and no control characters".into()),
    }
}

/// Runs `work` on the database and prints its result: as JSON, or one line per field.
pub(super) async fn on_database(
    config: &Config,
    json: bool,
    work: impl AsyncFnOnce(&PgPool) -> Result<Value, Failure>,
) -> Result<(), Failure> {
    let made = SetUp::new(config).await?.on_this_version(config, work).await?;
    say(&if json { made.to_string() } else { lines(&made) });
    Ok(())
}

fn lines(made: &Value) -> String {
    let record = made.as_object().and_then(|members| members.values().next()).and_then(Value::as_object);
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) => format!("{name:8} {text}"),
        Value::Array(items) => format!("{name:8} {}", items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(",")),
        other => format!("{name:8} {other}"),
    };
    record.map(|members| members.iter().map(line).collect::<Vec<_>>().join("\n")).unwrap_or_default()
}
