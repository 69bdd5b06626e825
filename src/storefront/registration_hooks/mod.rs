//! Registration hooks: a server of the company that is asked before a customer registers in a store. It may know what nobody here does: who is
//! not welcome, whose address is thrown away tomorrow, where a shop does not deliver.
//!
//! The hook is asked once all else is right, and before anything is written. What happens without an answer is up to the company
//! ([`OnFailure`]). What is asked ([`question`]) is an envelope like that of an event, and what it answers ([`answer`]) is a word and a reason.
//!
//! Hooks are records ([`RegistrationHookRecord`](crate::storefront::resources)). Here they are looked up, once a second at most, and asked.

mod answer;
mod queries;
mod question;

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::events::{API_VERSION, Envelope, EventName};
use crate::kernel::built_cache::BuiltCache;
use crate::kernel::clock::Clock;
use crate::kernel::crypto::ApplicationKey;
use crate::kernel::database::{Connection, Pool};
use crate::kernel::error_chain::chain;
use crate::kernel::ids::{CompanyId, EventId, RegistrationHookId, StoreId};
use crate::kernel::opaque::Opaque;
use crate::kernel::problem::{Problem, ProblemCode};
use crate::kernel::rate_limit::Full;
use crate::kernel::sealed_values::{Context, SealedColumn, SentTo};
use crate::kernel::ttl_cache::TtlCache;
use crate::resources::ResourceState;
use crate::storefront::audit::SignInAttempt;
use crate::storefront::customers::NewCustomer;
use crate::storefront::metrics::Metrics;
use crate::storefront::stores::Store;
use crate::webhooks::{Hook, Hooks, NoAnswer, NoHook, SealedSecrets, SigningSecret};

pub use answer::Answer;
pub use queries::StoredHook;

/// The columns that hold secrets.
pub const SEALED: [SealedColumn; 2] =
    [column("sealed_secret", "secrets of registration hooks"), column("sealed_previous_secret", "old secrets of registration hooks")];

const fn column(column: &'static str, content: &'static str) -> SealedColumn {
    let context = Context::OfId(SigningSecret::sealed_for::<RegistrationHookId>);
    SealedColumn { table: "registration_hooks", column, content, context, sent_to: SentTo::Nobody }
}

/// What the envelope calls the question. It is no event: nothing has happened yet.
const NAME: EventName = EventName::constant("customer.registering");
/// Seconds after which a customer is told to try again if the hook does not answer.
const RETRY_AFTER_SECONDS: u64 = 5;
/// The stores whose hooks are cached.
const MAX_CACHED_STORES: usize = 2_000;
/// The hooks that are kept with their connections.
const MAX_PREPARED: usize = 500;

crate::text_enum! {
    /// What happens to a registration if the hook does not answer as it should.
    pub enum OnFailure, default Refuse {
        /// It is refused, and the customer is told to try again.
        Refuse = "refuse",
        /// The customer registers all the same.
        Allow = "allow",
    }
}

/// The registration hooks of all stores. Clones share them.
#[derive(Clone, Debug)]
pub struct RegistrationHooks(Opaque<Shared>);

#[derive(Debug)]
struct Shared {
    pool: Pool,
    clock: Clock,
    key: ApplicationKey,
    hooks: Hooks,
    metrics: Metrics,
    /// By the company and its store.
    cached: TtlCache<(CompanyId, StoreId), Option<Arc<StoreHook>>>,
    prepared: BuiltCache<RegistrationHookId, i64, Arc<StoreHook>>,
}

/// The parts that [`RegistrationHooks`] are built from.
#[derive(Debug)]
pub struct Parts {
    pub pool: Pool,
    pub clock: Clock,
    pub key: ApplicationKey,
    pub hooks: Hooks,
    pub metrics: Metrics,
}

/// The hook of a store.
#[derive(Debug)]
pub struct StoreHook {
    id: RegistrationHookId,
    on_failure: OnFailure,
    hook: Result<Hook, NoHook>,
}

impl StoreHook {
    /// What the company says about registrations that the hook has not answered.
    fn without_answer(&self) -> Result<(), Refusal> {
        match self.on_failure {
            OnFailure::Refuse => Err(Refusal::Unavailable),
            OnFailure::Allow => Ok(()),
        }
    }
}

/// Why a customer does not register.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("the hook refuses the registration")]
    Refused {
        /// What the customer may be told.
        reason: Option<String>,
    },
    #[error("the hook does not answer as it should")]
    Unavailable,
}

/// Why nothing was learnt from a hook.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    #[error(transparent)]
    NoAnswer(#[from] NoAnswer),
    #[error(transparent)]
    NotUnderstood(#[from] answer::NotUnderstood),
}

/// The refusals of a registration that is asked for, for the descriptions of routes.
pub const REFUSALS: &[ProblemCode] = &[ProblemCode::RegistrationRefused, ProblemCode::RegistrationHookUnavailable];

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Refused { reason: None } => ProblemCode::RegistrationRefused.into(),
            Refusal::Refused { reason: Some(reason) } => Self::new(ProblemCode::RegistrationRefused).detail(reason),
            Refusal::Unavailable => Self::new(ProblemCode::RegistrationHookUnavailable).retry_after(RETRY_AFTER_SECONDS),
        }
    }
}

impl ResourceState for RegistrationHooks {
    fn pool(&self) -> &Pool {
        &self.0.pool
    }

    fn clock(&self) -> &Clock {
        &self.0.clock
    }
}

impl RegistrationHooks {
    /// Reads hooks when they are needed.
    pub fn new(parts: Parts) -> Self {
        let Parts { pool, clock, key, hooks, metrics } = parts;
        let (cached, prepared) = (TtlCache::new(MAX_CACHED_STORES), BuiltCache::new(MAX_PREPARED));
        Self(Opaque::new(Shared { pool, clock, key, hooks, metrics, cached, prepared }))
    }

    /// Evicts the hooks of a company, after this instance has changed one of them.
    pub fn forget(&self, company: CompanyId) {
        self.0.cached.invalidate_if(|(of, _), _| *of == company);
    }

    /// The key that signing secrets are sealed with.
    pub fn key(&self) -> &ApplicationKey {
        &self.0.key
    }

    /// Asks hooks of any kind.
    pub fn hooks(&self) -> &Hooks {
        &self.0.hooks
    }

    /// The hook that is asked about registrations in a store, if there is one.
    pub async fn of(&self, conn: &mut Connection, store: &Store) -> Result<Option<Arc<StoreHook>>, sqlx::Error> {
        let read = || async move {
            let stored = queries::find_active_hook(conn, store.id).await?;
            Ok::<_, sqlx::Error>(stored.map(|stored| self.prepared(store.company_id, &stored)))
        };
        Ok(Option::clone(&*self.0.cached.get_or_read((store.company_id, store.id), self.0.clock.now(), read).await?))
    }

    fn prepared(&self, company: CompanyId, stored: &StoredHook) -> Arc<StoreHook> {
        self.0.prepared.get_or_build(stored.id, &stored.version, || {
            let hook = self.prepare(company, stored);
            if let Err(error) = &hook {
                tracing::warn!(hook = %stored.id, error = chain(error), "a registration hook cannot be asked");
            }
            Arc::new(StoreHook { id: stored.id, on_failure: stored.on_failure, hook })
        })
    }

    /// Prepares a hook, or says why it cannot be asked. Nothing is requested.
    pub fn prepare(&self, company: CompanyId, stored: &StoredHook) -> Result<Hook, NoHook> {
        let previous = stored.sealed_previous_secret.as_deref().zip(stored.previous_secret_until);
        let sealed = SealedSecrets { current: &stored.sealed_secret, previous };
        self.0.hooks.prepare(&self.0.key, (company, stored.id), &stored.url, sealed)
    }

    /// Asks whether a customer may register. The caller holds no connection of the database.
    pub async fn ask(&self, of: &StoreHook, attempt: &SignInAttempt<'_>, newcomer: &NewCustomer) -> Result<(), Refusal> {
        let Ok(hook) = &of.hook else { return self.failed(of) };
        match self.put(hook, &question::of(attempt, newcomer)).await {
            Ok(Answer::Allowed) => {
                self.0.metrics.asked_hook("allowed");
                Ok(())
            }
            Ok(Answer::Refused { reason }) => {
                self.0.metrics.asked_hook("refused");
                Err(Refusal::Refused { reason })
            }
            Err(Unanswered::NoAnswer(NoAnswer::Busy(full))) => {
                self.0.metrics.asked_hook("busy");
                match full {
                    // Whatever the company says, nobody gets past its hook by asking it for many at once.
                    Full::Caller => Err(Refusal::Unavailable),
                    Full::Everybody => of.without_answer(),
                }
            }
            Err(error) => {
                tracing::warn!(hook = %of.id, error = chain(&error), "a registration hook did not answer as it should");
                self.failed(of)
            }
        }
    }

    fn failed(&self, of: &StoreHook) -> Result<(), Refusal> {
        self.0.metrics.asked_hook("failed");
        of.without_answer()
    }

    /// Asks with the sample of a customer.
    pub async fn try_out(&self, hook: &Hook, store: StoreId) -> Result<Answer, Unanswered> {
        self.put(hook, &question::sample(store)).await
    }

    async fn put(&self, hook: &Hook, data: &Map<String, Value>) -> Result<Answer, Unanswered> {
        let now = self.0.clock.now();
        let id = EventId::new(now);
        let envelope = Envelope { id, api_version: API_VERSION, event: &NAME, created_at: now, data: &data.into() };
        let answered = self.0.hooks.ask(hook, id, envelope.to_bytes(), now).await?;
        Ok(answer::read(&answered)?)
    }
}
