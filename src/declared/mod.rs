//! Declared extensions: kinds of records that a deployment describes in files, and that need no Rust (decisions, section 9).
//!
//! A file of `extensions.directory` names a namespace and, for each resource, a JSON Schema, what can be searched and filtered, which other
//! records it refers to, and which values are events of their own. `declaration` reads the files and refuses, by file and key, what could
//! not be served. `record` makes such a kind a resource like any other: its five routes, list parameters, `ETag`s and events come from
//! [`crate::resources`]. `event_types` describes its events for the catalogue. `prepare` brings the database in line at start.
//!
//! Writes `declared_records`, one table for all kinds, and `declared_schemas`, which remembers the schema that the records of each kind fit.
//!
//! # What is guaranteed
//!
//! * A record fits the schema it was written under, and every later one: a schema that old records might not fit is refused at start,
//!   unless there are none.
//! * Two instances that start at once make each index once, and nobody who reads or writes waits for it.
//! * A reference names a live record of the same company when it is written. What is deleted later stays named.

mod declaration;
mod event_types;
mod prepare;
mod queries;
mod record;

use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::extract::FromRef;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::{BadEventType, EventType};
use crate::kernel::clock::Clock;
use crate::kernel::settings;
use crate::resources::{Operation, Room, routes_at};

pub use declaration::{BadDeclaration, Declaration, FieldForm, Incompatible, Target, load};
pub use prepare::PrepareError;
pub use record::DeclaredRecord;

/// `[extensions]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the files lie; none, when there are no declared extensions.
    #[serde(deserialize_with = "settings::optional")]
    pub directory: Option<PathBuf>,
}

/// Every declared extension.
#[derive(Clone, Debug)]
pub struct Declared {
    pool: PgPool,
    clock: Clock,
    kinds: Arc<[&'static Declaration]>,
}

/// The room of one declared kind.
#[derive(Clone, Debug)]
pub struct DeclaredRoom {
    pool: PgPool,
    clock: Clock,
    declaration: &'static Declaration,
}

impl Room for DeclaredRoom {
    fn pool(&self) -> &PgPool {
        &self.pool
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }
}

/// What the routes of one declared kind can ask for.
#[derive(Clone, FromRef)]
struct KindState {
    room: DeclaredRoom,
    companies: Companies,
}

impl Declared {
    /// Reads the files. `others` are the kinds of records that the program has itself and that declared ones may refer to.
    pub fn new(pool: PgPool, clock: Clock, settings: &Settings, others: &[Target]) -> Result<Self, BadDeclaration> {
        let declarations = settings.directory.as_deref().map_or(Ok(Vec::new()), |directory| load(directory, others))?;
        // What a file declares is there for as long as the program, like the kinds that are written in Rust.
        let kinds = declarations.into_iter().map(|declaration| &*Box::leak(Box::new(declaration)));
        Ok(Self { pool, clock, kinds: kinds.collect() })
    }

    /// The events of every kind, for the catalogue.
    pub fn event_types(&self) -> Result<Vec<EventType>, BadEventType> {
        let mut all = Vec::new();
        for declaration in self.kinds.iter() {
            all.extend(event_types::of(declaration)?);
        }
        Ok(all)
    }

    /// Every route, below `<namespace>/int/v1`.
    pub fn routes<S>(&self, companies: &Companies) -> Router<S>
    where
        S: Clone + Send + Sync + 'static,
    {
        let mut router = Router::new();
        for declaration in self.kinds.iter().copied() {
            let room = DeclaredRoom { pool: self.pool.clone(), clock: self.clock.clone(), declaration };
            let state = KindState { room, companies: companies.clone() };
            let routes = routes_at::<DeclaredRecord, KindState>(declaration.terms().plural, Operation::ALL).with_state(state);
            router = router.merge(Router::new().nest(&format!("/{}/int/v1", declaration.namespace), routes));
        }
        router
    }
}
