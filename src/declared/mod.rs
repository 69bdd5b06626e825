//! Declared extensions: kinds of records that a deployment describes in files, and that need no Rust (decisions, section 9).
//!
//! A file of `extensions.directory` names a namespace and, for each resource, a JSON Schema, what can be searched and filtered, which other
//! records it refers to, and which values are events of their own. `declaration` reads the files and refuses, by file and key, what could
//! not be served. `record` makes such a kind a resource like any other: its five routes, list parameters, `ETag`s, events and documentation
//! come from [`crate::resources`]. At the `start`, `schemas` holds those of the files against those that records were written under, and
//! `indexes` makes what the filters need.
//!
//! Writes `declared_records`, one table for all kinds, and `declared_schemas`, every schema that their records may have been written under.
//!
//! # What is guaranteed
//!
//! - A record fits the latest schema of its kind, whoever wrote it under an older one: a schema that older records might not fit is refused
//!   at start. Only where there is no record it takes the place of the others, and a program that knows none but those writes no more.
//! - Instances that start at once make each index once, and nobody who reads or writes waits for it.
//! - A reference names a live record of the same company when it is committed.
//!
//! # What is not
//!
//! - A record that others refer to can be deleted: they go on naming it.
//! - An index that no filter needs any more stays; who dropped it could be an instance beside one that needs it. It refuses no record.

mod body;
mod declaration;
mod indexes;
mod queries;
mod record;
mod schemas;
mod start;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::FromRef;
use sqlx::PgPool;

use crate::companies::Companies;
use crate::events::EventType;
use crate::kernel::clock::Clock;
use crate::kernel::settings;
use crate::resources::{Extension, Operation, Room};

pub use declaration::{BadDeclaration, BuiltIn, Declaration, FieldForm, Incompatible, load};
pub use record::DeclaredRecord;
pub use schemas::Unsuitable;

/// Looked into where the settings name no directory.
const USUAL_DIRECTORY: &str = "config/extensions";

/// `[extensions]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Where the files lie. Unset, in `config/extensions` of the working directory, if there is one.
    #[serde(deserialize_with = "settings::optional")]
    pub directory: Option<PathBuf>,
}

impl Settings {
    /// Everything that the files declare beside what is `built_in`.
    pub fn load(&self, built_in: &BuiltIn<'_>) -> Result<Vec<Declaration>, BadDeclaration> {
        match &self.directory {
            Some(directory) => load(directory, built_in),
            None if Path::new(USUAL_DIRECTORY).is_dir() => load(Path::new(USUAL_DIRECTORY), built_in),
            None => Ok(Vec::new()),
        }
    }
}

/// Every declared extension.
#[derive(Clone, Debug)]
pub struct Declared {
    pool: PgPool,
    clock: Clock,
    kinds: Arc<[Arc<Declaration>]>,
}

/// The room of one declared kind.
#[derive(Clone, Debug)]
pub struct DeclaredRoom {
    pool: PgPool,
    clock: Clock,
    declaration: Arc<Declaration>,
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
    /// The extensions that `declarations` are about.
    pub fn new(pool: PgPool, clock: Clock, declarations: Vec<Declaration>) -> Self {
        Self { pool, clock, kinds: declarations.into_iter().map(Arc::new).collect() }
    }

    /// The events of every kind, for the catalogue.
    pub fn event_types(&self) -> Vec<EventType> {
        self.kinds.iter().flat_map(|declaration| declaration.event_types.clone()).collect()
    }

    /// The routes and their documentation, an extension for each kind; those of one file share a namespace.
    pub fn extensions<S>(&self, companies: &Companies) -> Vec<Extension<S>> {
        let extension = |declaration: &Arc<Declaration>| {
            let room = DeclaredRoom { pool: self.pool.clone(), clock: self.clock.clone(), declaration: declaration.clone() };
            let state = KindState { room, companies: companies.clone() };
            Extension::new(&declaration.namespace)
                .kind::<DeclaredRecord>(declaration.terms, declaration.members(), Operation::ALL)
                .with_state(state)
        };
        self.kinds.iter().map(extension).collect()
    }
}
