//! Declared extensions: kinds of records that a deployment defines in files, without Rust code (`docs/specification/decisions.md`,
//! section 9).
//!
//! A file in `extensions.directory` defines a namespace. For each resource it defines a JSON Schema, which fields can be searched
//! and filtered, which other records it references, and which values of fields publish events of their own. `declaration` parses
//! the files and rejects declarations that cannot be served; the error names the file and key. `record` makes such a kind a regular
//! resource: its five routes, list parameters, `ETag`s, events and documentation come from [`crate::resources`]. At startup,
//! `start` has `schemas` compare the files with the schemas that stored records were written under, and `indexes` create the
//! indexes of the filters.
//!
//! Writes `declared_records`, one table for all kinds, and `declared_schemas`, every schema that stored records may have been
//! written under.
//!
//! # What is guaranteed
//!
//! - Every record fits the latest schema of its kind, even if it was written under an older one: a schema that older records might
//!   not fit is rejected at startup. Only if the kind has no records, such a schema replaces the older ones, and instances that only
//!   know the older ones cannot write records any more.
//! - Instances that start at the same time create each index once, without blocking reads or writes.
//! - A reference names a live record of the same company when it is committed.
//! - The service does not start without the file of a kind that has records, unless the settings say that the kind is retired.
//!
//! # What is not guaranteed
//!
//! - A record can be deleted while others reference it; their references remain.
//! - An index that no filter needs any more is not dropped, because another instance may still need it. It does not reject any record.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! settings  start             which files are loaded, and the database in line with them
//! schemas  indexes  record    what the database needs for them, and their records as resources
//! state                       the kinds with their pool
//! declaration  queries        a parsed file, the statements
//! ```

mod declaration;
mod indexes;
mod queries;
mod record;
mod schemas;
mod settings;
mod start;
mod state;

use std::sync::Arc;

use axum::extract::FromRef;

use crate::companies::Companies;
use crate::resources::{Extension, Operation};

pub use declaration::{BuiltIn, Declaration, FieldForm, Incompatible, InvalidDeclaration};
pub use queries::{Records, count_records_of_others};
pub use record::DeclaredRecord;
pub use schemas::Unsuitable;
pub use settings::{Settings, load};
pub use state::{Declared, DeclaredState};

/// The state that the routes of one declared kind can extract.
#[derive(Clone, FromRef)]
struct KindState {
    declared: DeclaredState,
    companies: Companies,
}

impl Declared {
    /// The routes and their documentation, one extension per kind. The kinds of one file share a namespace.
    pub fn extensions<S>(&self, companies: &Companies) -> Vec<Extension<S>> {
        let extension = |declaration: &Arc<Declaration>| {
            let declared = DeclaredState { pool: self.pool.clone(), clock: self.clock.clone(), declaration: declaration.clone() };
            let state = KindState { declared, companies: companies.clone() };
            Extension::new(&declaration.namespace)
                .kind::<DeclaredRecord>(declaration.descriptor, declaration.members(), Operation::ALL)
                .with_state(state)
        };
        self.kinds.iter().map(extension).collect()
    }
}
