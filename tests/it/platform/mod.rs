//! The program as a whole: its commands, its database, its documents.

mod commands;
mod companies;
mod database_away;
mod documentation;
mod editions;
mod grants;
mod instances;
mod listen_command;
mod logging;
mod migrating;
pub mod openapi;
mod problems;
mod readiness;
mod service_commands;
mod setup_commands;
mod statements;
mod storage;
mod transport;
