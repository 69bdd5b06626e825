//! `portico company create`, `store create`, `key create`: what everything else needs first; and `key revoke`, their end.

use chrono::TimeDelta;
use clap::{Args, Subcommand};
use humantime_serde::re::humantime;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::cli::{Failure, say};
use crate::companies::{self, AllowedNetworks, Grant, Scope, Scopes};
use crate::config::Config;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, KeyId, StoreId};
use crate::set_up::SetUp;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum CompanyCommand {
    /// Create a company
    Create {
        /// What it is called
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum StoreCommand {
    /// Create a store of a company
    Create {
        /// What it is called; texts and mails say so
        name: String,
        /// Whose it is, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create a store key (--store) or an API key (--company and --scopes)
    Create {
        #[command(flatten)]
        owner: Owner,
        /// What the API key may do: callbacks, events, read, write, admin
        #[arg(long, value_delimiter = ',', required_unless_present = "store", conflicts_with = "store")]
        scopes: Vec<Scope>,
        /// Networks the API key may be used from: 203.0.113.0/24,2001:db8::/32; none means any
        #[arg(long, value_delimiter = ',', requires = "company")]
        networks: Vec<String>,
        /// How long the API key lives: 90d, 12h; for ever unless told
        #[arg(long, requires = "company")]
        expires_in: Option<humantime::Duration>,
        /// What the API key is for
        #[arg(long, default_value = "created by hand")]
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a store key or an API key; a store key may be believed for another second
    Revoke {
        /// The key's id (key_…), not the key
        key: KeyId,
    },
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct Owner {
    /// The store whose apps carry the key
    #[arg(long)]
    store: Option<StoreId>,
    /// The company whose systems carry the key
    #[arg(long)]
    company: Option<CompanyId>,
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

impl KeyCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let (owner, grant, name, json) = match self {
            Self::Create { owner, scopes, networks, expires_in, name, json } => (owner, grant(scopes, networks, expires_in)?, name, json),
            Self::Revoke { key } => return revoke(config, key).await,
        };
        on_database(config, json, async |pool| {
            let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
            if let Some(store) = owner.store {
                let created = storefront::create_store_key(conn, store, now).await?;
                let (id, key) = created.ok_or_else(|| format!("there is no store {store}"))?;
                return Ok(json!({ "key": { "id": id, "store": store, "key": key.reveal() } }));
            }
            let company = owner.company.expect("the command line asks for one of the two");
            let (scopes, networks) = (grant.scopes.names(), grant.networks.texts());
            let (id, key) = companies::create_api_key(conn, company, &named(&name)?, grant, now).await?;
            let mut made = json!({ "id": id, "company": company, "name": name, "scopes": scopes, "key": key.reveal() });
            if !networks.is_empty() {
                made["allowed_networks"] = json!(networks);
            }
            Ok(json!({ "key": made }))
        })
        .await
    }
}

fn grant(scopes: Vec<Scope>, networks: Vec<String>, expires_in: Option<humantime::Duration>) -> Result<Grant, Failure> {
    let until = expires_in.map(|lifetime| TimeDelta::from_std(*lifetime)).transpose()?.map(|lifetime| Clock::System.now() + lifetime);
    Ok(Grant { networks: AllowedNetworks::try_from(networks)?, until, ..Grant::from(Scopes::new(scopes)) })
}

async fn revoke(config: &Config, key: KeyId) -> Result<(), Failure> {
    on_database(config, true, async |pool| {
        let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
        let revoked = companies::revoke_api_key(conn, key, now).await? || storefront::revoke_store_key(conn, key, now).await?;
        if revoked { Ok(json!({ "key": { "id": key, "revoked": true } })) } else { Err("there is no such key that is not revoked".into()) }
    })
    .await
}

pub(super) fn named(name: &str) -> Result<String, Failure> {
    let name = name.trim();
    match name.chars().count() {
        1..=255 if !name.chars().any(char::is_control) => Ok(name.to_owned()),
        _ => Err("a name has 1 to 255 characters and no control characters".into()),
    }
}

/// Runs `work` on the database and shows what it made: as JSON, or one line for each member.
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
