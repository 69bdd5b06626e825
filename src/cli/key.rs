//! `portico key create`, `key roll` and `key revoke`: store keys and API keys.

use chrono::TimeDelta;
use clap::{Args, Subcommand};
use humantime_serde::re::humantime;
use serde_json::{Map, json};

use crate::app;
use crate::callers::{AllowedNetworks, Caller, Grant, Scope, Scopes};
use crate::cli::Failure;
use crate::cli::record::{self, parse_name};
use crate::companies::{self, Companies};
use crate::config::Config;
use crate::developers::Developers;
use crate::kernel::clock::Clock;
use crate::kernel::ids::{CompanyId, KeyId, StoreId};
use crate::kernel::lifecycle::Lifecycle;
use crate::resources::GracePeriod;
use crate::storefront;

#[derive(Debug, Subcommand)]
pub(super) enum KeyCommand {
    /// Create a store key (--store) or an API key (--company and --scopes)
    Create {
        #[command(flatten)]
        owner: Owner,
        /// Scopes of the API key: callbacks, events, read, write, admin
        #[arg(long, value_delimiter = ',', required_unless_present = "store", conflicts_with = "store")]
        scopes: Vec<Scope>,
        /// Networks that the API key may be used from: 203.0.113.0/24,2001:db8::/32; any network by default
        #[arg(long, value_delimiter = ',', requires = "company")]
        networks: Vec<String>,
        /// How long the API key is valid: 90d, 12h; without it, until it is revoked
        #[arg(long, requires = "company")]
        expires_in: Option<humantime::Duration>,
        /// What the API key is for
        #[arg(long, default_value = "created on the command line", value_parser = parse_name)]
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Replace an API key with a new one; the old one stays valid for a while
    Roll {
        /// Id of the key (key_…), not the key itself
        key: KeyId,
        /// How long the old key stays valid: 1h, 7d; at most 30 days
        #[arg(long, default_value = "1d")]
        overlap: humantime::Duration,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Revoke a store key or an API key; it may be accepted for up to another second
    Revoke {
        /// Id of the key (key_…), not the key itself
        key: KeyId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct Owner {
    /// Store whose apps use the key
    #[arg(long)]
    store: Option<StoreId>,
    /// Company whose systems use the key
    #[arg(long)]
    company: Option<CompanyId>,
}

impl KeyCommand {
    pub(super) async fn run(self, config: &Config) -> Result<(), Failure> {
        let (owner, grant, name, json) = match self {
            Self::Create { owner, scopes, networks, expires_in, name, json } => (owner, grant(scopes, networks, expires_in)?, name, json),
            Self::Roll { key, overlap, json } => return roll(config, key, overlap, json).await,
            Self::Revoke { key, json } => return revoke(config, key, json).await,
        };
        record::print_one(config, json, async |pool| {
            let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
            if let Some(store) = owner.store {
                let unknown = || format!("there is no store {store}");
                let caller = Caller::command_line(storefront::company_of_store(conn, store).await?.ok_or_else(unknown)?);
                let (id, key) = storefront::create_store_key(conn, &caller, store, now).await?.ok_or_else(unknown)?;
                return Ok(json!({ "key": { "id": id, "store": store, "key": key.reveal() } }));
            }
            let company = owner.company.expect("the command line requires a store or a company");
            let (scopes, networks, expires_at) = (grant.scopes.names(), grant.networks.texts(), grant.until);
            let (id, key) = companies::create_api_key(conn, &Caller::command_line(company), &name, grant, now).await?;
            let mut made = json!({ "id": id, "company": company, "name": name, "scopes": scopes, "key": key.reveal() });
            if !networks.is_empty() {
                made["allowed_networks"] = json!(networks);
            }
            if let Some(at) = expires_at {
                made["expires_at"] = json!(at);
            }
            Ok(json!({ "key": made }))
        })
        .await
    }
}

fn grant(scopes: Vec<Scope>, networks: Vec<String>, expires_in: Option<humantime::Duration>) -> Result<Grant, Failure> {
    let lifetime = expires_in.map(|lifetime| TimeDelta::from_std(*lifetime)).transpose()?;
    if lifetime.is_some_and(|lifetime| lifetime < TimeDelta::seconds(1)) {
        return Err("--expires-in must be at least one second".into());
    }
    let until = lifetime.map(|lifetime| Clock::System.now() + lifetime);
    Ok(Grant { networks: AllowedNetworks::try_from(networks)?, until, ..Grant::from(Scopes::new(scopes)) })
}

async fn roll(config: &Config, key: KeyId, overlap: humantime::Duration, json: bool) -> Result<(), Failure> {
    let overlap = GracePeriod::try_from(u32::try_from(overlap.as_secs())?)?;
    record::print_one(config, json, async |pool| {
        let company = companies::company_of_key(&mut *pool.acquire().await?, key).await?;
        let caller = Caller::command_line(company.ok_or_else(|| format!("there is no API key {key}"))?);
        let companies = Companies::new(pool.clone(), Clock::System, Lifecycle::default());
        let developers = Developers::new(pool.clone(), Clock::System, companies, app::catalogue());
        let new = developers.roll_api_key(&caller, key, overlap).await.map_err(|problem| problem.code().detail())?.members;
        let shown = ["id", "name", "scopes", "allowed_networks", "expires_at", "replaces", "key"].map(|member| (member, new.get(member)));
        let made: Map<_, _> = shown.into_iter().filter_map(|(member, value)| Some((member.to_owned(), value?.clone()))).collect();
        Ok(json!({ "key": made }))
    })
    .await
}

async fn revoke(config: &Config, key: KeyId, json: bool) -> Result<(), Failure> {
    record::print_one(config, json, async |pool| {
        let (conn, now) = (&mut *pool.acquire().await?, Clock::System.now());
        let revoked = if let Some(company) = companies::company_of_key(conn, key).await? {
            companies::revoke_api_key(conn, &Caller::command_line(company), key, now).await?
        } else if let Some(company) = storefront::company_of_store_key(conn, key).await? {
            storefront::revoke_store_key(conn, &Caller::command_line(company), key, now).await?
        } else {
            false
        };
        if revoked {
            Ok(json!({ "key": { "id": key, "revoked": true } }))
        } else {
            Err("there is no such key, or it is already revoked".into())
        }
    })
    .await
}
