//! `portico backup` and `portico restore`: a copy of the database that says what it needs, and a restore that looks first.
//!
//! `pg_dump` and `pg_restore` do the work. A dump alone does not say which application key opens its secrets, which version can read it and
//! which declared extensions it has; whoever finds that out after the restore finds it out too late. So a backup is a directory with the dump
//! and a [`manifest`], and a restore refuses what would not work, before it changes anything.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! backup  restore      the commands
//! refusal              what keeps a backup from being restored here
//! manifest  programs   what a backup says about itself; how PostgreSQL's programs are run
//! ```

pub(super) mod backup;
mod manifest;
mod programs;
mod refusal;
pub(super) mod restore;

/// The dump, in the custom format of `pg_dump`: `pg_restore` reads it without the manifest too.
const DUMP: &str = "database.dump";
const MANIFEST: &str = "manifest.json";
/// How much of the dump is in memory.
const CHUNK: usize = 256 * 1024;
