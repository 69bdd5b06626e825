//! The program as a whole: its commands, its database, its documents.

mod caches;
mod conflicts;
mod documentation;
mod grants;
mod inside_networks;
mod instances;
mod leases;
mod migrating;
pub mod openapi;
mod ops;
mod problems;
mod sealed_columns;
mod storage;
mod sweeping;
mod wire;
