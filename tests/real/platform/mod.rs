//! The program as a whole: its commands, its database, its connections.

mod backups;
mod cells;
mod commands;
mod companies;
mod database_away;
mod editions;
mod hot_paths;
mod key_rotation;
mod listen_command;
mod logging;
mod metrics;
mod moving;
mod pooler;
mod readiness;
mod roles;
mod schemas;
mod service_commands;
mod settings_from_files;
mod setup_commands;
mod statements;
mod stopping;
mod traces;
mod transport;
