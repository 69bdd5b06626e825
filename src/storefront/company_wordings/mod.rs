//! The wording of companies, over that of the deployment. What a company says takes the place of single entries; all others are those of the
//! deployment's files, also those that a later version brings.
//!
//! Wordings are records ([`MessageWordingRecord`](crate::storefront::resources)), checked as the files are. They are read once a second at
//! most. The checked wording is kept until one of its company changes; the number that is kept is bounded.

mod queries;

use std::sync::Arc;

use serde_json::{Map, Value, json};
use sqlx::types::Json;

use crate::kernel::built_cache::BuiltCache;
use crate::kernel::clock::Clock;
use crate::kernel::database::Pool;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, MessageWordingId, StoreId};
use crate::kernel::languages::LanguageTag;
use crate::kernel::ttl_cache::TtlCache;
use crate::resources::ResourceState;
use crate::storefront::messages::{CompanyWording, Messages, StoreMessages};
use crate::storefront::stores::Store;

pub use queries::list_wordings;

/// The languages of one company.
pub const MAX_OF_COMPANY: usize = 20;
/// The longest wordings of one company together, as JSON in bytes.
pub const MAX_LEN_OF_COMPANY: usize = 128 * 1024;
/// The companies whose wordings are cached.
const MAX_CACHED_COMPANIES: usize = 2_000;
/// The checked wordings that are kept. Each has some fifty kilobytes, and what its company says.
const MAX_CHECKED: usize = 500;

/// The wordings of all companies. Clones share them.
#[derive(Clone, Debug)]
pub struct CompanyWordings(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    clock: Clock,
    deployment: Messages,
    cached: TtlCache<CompanyId, OfCompany>,
    /// By company, and by store where one has files of its own.
    checked: BuiltCache<(CompanyId, Option<StoreId>), Stamp, StoreMessages>,
}

/// Which wordings something was made of.
type Stamp = Vec<(MessageWordingId, i64)>;

/// The wordings of one company.
#[derive(Debug)]
struct OfCompany {
    stamp: Stamp,
    wording: CompanyWording,
}

/// A wording as it is stored.
#[derive(Debug)]
pub struct StoredWording {
    pub id: MessageWordingId,
    pub version: i64,
    pub language: String,
    pub messages: Json<Map<String, Value>>,
}

/// How long the entries of a language are, as JSON in bytes.
pub fn len_of(messages: &Json<Map<String, Value>>) -> usize {
    json!(messages).to_string().len()
}

impl ResourceState for CompanyWordings {
    fn pool(&self) -> &Pool {
        &self.0.pool
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl CompanyWordings {
    /// Reads wordings when they are asked for.
    pub fn new(pool: Pool, clock: Clock, deployment: Messages) -> Self {
        let (cached, checked) = (TtlCache::new(MAX_CACHED_COMPANIES), BuiltCache::new(MAX_CHECKED));
        Self(Arc::new(Shared { pool, clock, deployment, cached, checked }))
    }

    /// Evicts the wordings of a company, after this instance has changed one of them.
    pub fn forget(&self, company: CompanyId) {
        self.0.cached.invalidate(&company);
    }

    /// The wording of the deployment.
    pub fn deployment(&self) -> &Messages {
        &self.0.deployment
    }

    /// What a store says.
    pub async fn of(&self, store: &Store) -> Result<StoreMessages, sqlx::Error> {
        let company = store.company_id;
        let of_company = self.0.cached.get_or_read(company, self.0.clock.now(), || self.read(company)).await?;
        if of_company.stamp.is_empty() {
            return Ok(self.0.deployment.of(store.id));
        }
        let kept_for = (company, self.0.deployment.has_own_files(store.id).then_some(store.id));
        let check = || self.0.deployment.of_company(store.id, &of_company.wording);
        Ok(self.0.checked.get_or_build(kept_for, &of_company.stamp, check))
    }

    async fn read(&self, company: CompanyId) -> Result<OfCompany, sqlx::Error> {
        let stored = list_wordings(&mut self.0.pool.acquire().await?, company).await?;
        let stamp = stored.iter().map(|wording| (wording.id, wording.version)).collect();
        let mut wording = CompanyWording::default();
        for StoredWording { id, language, messages: Json(messages), .. } in stored {
            let Some(language) = LanguageTag::parse(&language) else { continue };
            if let Err(error) = wording.add(language, messages) {
                tracing::warn!(wording = %id, error = chain(&error), "a wording of a company cannot be used");
            }
        }
        Ok(OfCompany { stamp, wording })
    }
}
