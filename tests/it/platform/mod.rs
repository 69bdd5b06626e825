//! The program as a whole: its commands, its database, its documents.

mod backups;
mod commands;
mod companies;
mod database_away;
mod documentation;
mod editions;
mod grants;
mod instances;
mod key_rotation;
mod listen_command;
mod logging;
mod metrics;
mod migrating;
pub mod openapi;
mod ops;
mod problems;
mod readiness;
mod roles;
mod sealed_columns;
mod service_commands;
mod settings_from_files;
mod setup_commands;
mod statements;
mod stopping;
mod storage;
mod traces;
mod transport;
