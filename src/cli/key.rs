//! `portico key create`, `key list`, `key roll` and `key revoke`: store keys and API keys.

use chrono::TimeDelta;
use clap::{Args, Subcommand};
use humantime_serde::re::humantime;
use serde_json::{Map, json};

use crate::callers::{AllowedNetworks, Caller, Scope};
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::cli::record::{self, parse_name};
use crate::companies::{self, Companies};
use crate::config::Config;
use crate::developers::{self, ApiKeyBody, ApiKeyRecord, SomeScopes};
use crate::kernel::clock::{Clock, timestamp};
use crate::kernel::database::Pool;
use crate::kernel::ids::{CompanyId, KeyId, StoreId};
use crate::kernel::lifecycle::Lifecycle;
use crate::resources::{GracePeriod, Instant, Line, operations};
use crate::storefront::{self, StoreRecord, Stores};

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
        name: Line<255>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the API keys of a company and the keys of its stores, never the keys themselves
    List {
        /// The company, as an id (company_…) or UUID
        #[arg(long)]
        company: CompanyId,
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
        match self {
            Self::Create { owner: Owner { store: Some(store), .. }, json, .. } => create_store_key(config, store, json).await,
            Self::Create { owner, scopes, networks, expires_in, name, json } => {
                let company = owner.company.expect("the command line requires a store or a company");
                let networks = AllowedNetworks::try_from(networks)?;
                let body = ApiKeyBody::of(name, SomeScopes::try_from(scopes)?).within(networks, expires_in.map(end_of).transpose()?);
                create_api_key(config, company, body, json).await
            }
            Self::List { company, json } => list(config, company, json).await,
            Self::Roll { key, overlap, json } => roll(config, key, overlap, json).await,
            Self::Revoke { key, json } => revoke(config, key, json).await,
        }
    }
}

fn end_of(lifetime: humantime::Duration) -> Result<Instant, Failure> {
    let lifetime = TimeDelta::from_std(*lifetime)?;
    if lifetime < TimeDelta::seconds(1) {
        return Err("--expires-in must be at least one second".into());
    }
    let end = Clock::System.now().checked_add_signed(lifetime).map(Instant::try_from);
    end.and_then(Result::ok).ok_or_else(|| "--expires-in must end before the year 10000".into())
}

/// What the operations on API keys need.
fn api_keys(pool: &Pool) -> Companies {
    Companies::new(pool.clone(), pool.clock(), Lifecycle::default())
}

async fn create_store_key(config: &Config, store: StoreId, json: bool) -> Result<(), Failure> {
    record::print_one(config, json, async |pool| {
        let (stores, unknown) = (Stores::new(pool.clone(), pool.clock()), || NotFound(format!("there is no store {store}")));
        let caller = Caller::command_line(operations::company_of::<StoreRecord>(&stores, store).await?.ok_or_else(unknown)?);
        let created = storefront::create_store_key(&mut pool.acquire().await?, &caller, store, pool.clock().now()).await?;
        let (id, key) = created.ok_or_else(unknown)?;
        Ok(json!({ "key": { "id": id, "store": store, "key": key.reveal() } }))
    })
    .await
}

async fn create_api_key(config: &Config, company: CompanyId, body: ApiKeyBody, json: bool) -> Result<(), Failure> {
    record::print_one(config, json, async |pool| {
        let caller = record::caller_of(pool, company).await?;
        let created = operations::create::<ApiKeyRecord>(&api_keys(pool), &caller, body).await?;
        let (id, fields) = (created.record.id, created.record.fields);
        let key = &created.members["key"];
        let mut made = json!({ "id": id, "company": company, "name": fields.name, "scopes": fields.scopes, "key": key });
        if !fields.allowed_networks.is_empty() {
            made["allowed_networks"] = json!(fields.allowed_networks);
        }
        if let Some(at) = fields.expires_at {
            made["expires_at"] = json!(at);
        }
        Ok(json!({ "key": made }))
    })
    .await
}

async fn list(config: &Config, company: CompanyId, json: bool) -> Result<(), Failure> {
    record::print_list(config, json, "keys", async |pool| {
        let mut conn = pool.acquire().await?;
        let of_company = companies::list_api_keys(&mut conn, company).await?.into_iter().map(|key| {
            json!({
                "id": key.id, "kind": "api_key", "name": key.name, "scopes": key.scopes, "allowed_networks": key.allowed_networks,
                "created_at": timestamp(key.created_at), "last_used_at": key.last_used_at.map(timestamp),
                "expires_at": key.expires_at.map(timestamp), "revoked_at": key.revoked_at.map(timestamp),
            })
        });
        let of_stores = storefront::list_store_keys(&mut conn, company).await?.into_iter().map(|key| {
            let (created_at, revoked_at) = (timestamp(key.created_at), key.revoked_at.map(timestamp));
            json!({ "id": key.id, "kind": "store_key", "store": key.store, "created_at": created_at, "revoked_at": revoked_at })
        });
        Ok(of_company.chain(of_stores).collect())
    })
    .await
}

async fn roll(config: &Config, key: KeyId, overlap: humantime::Duration, json: bool) -> Result<(), Failure> {
    let overlap = GracePeriod::try_from(u32::try_from(overlap.as_secs())?)?;
    record::print_one(config, json, async |pool| {
        let companies = api_keys(pool);
        let company = operations::company_of::<ApiKeyRecord>(&companies, key).await?;
        let caller = Caller::command_line(company.ok_or_else(|| NotFound(format!("there is no API key {key}")))?);
        let new = developers::roll_api_key(&companies, &caller, key, overlap).await?.members;
        let shown = ["id", "name", "scopes", "allowed_networks", "expires_at", "replaces", "key"].map(|member| (member, new.get(member)));
        let made: Map<_, _> = shown.into_iter().filter_map(|(member, value)| Some((member.to_owned(), value?.clone()))).collect();
        Ok(json!({ "key": made }))
    })
    .await
}

async fn revoke(config: &Config, key: KeyId, json: bool) -> Result<(), Failure> {
    record::print_one(config, json, async |pool| {
        let companies = api_keys(pool);
        let revoked = match operations::company_of::<ApiKeyRecord>(&companies, key).await? {
            Some(company) => developers::revoke_api_key(&companies, &Caller::command_line(company), key).await?,
            None => revoke_store_key(pool, key).await?,
        };
        if revoked {
            Ok(json!({ "key": { "id": key, "revoked": true } }))
        } else {
            Err(NotFound("there is no such key, or it is already revoked".to_owned()).into())
        }
    })
    .await
}

async fn revoke_store_key(pool: &Pool, key: KeyId) -> Result<bool, Failure> {
    let mut conn = pool.acquire().await?;
    let Some(company) = storefront::company_of_store_key(&mut conn, key).await? else { return Ok(false) };
    Ok(storefront::revoke_store_key(&mut conn, &Caller::command_line(company), key, pool.clock().now()).await?)
}
