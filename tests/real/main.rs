//! Stories of the specification that need what is real: seconds that pass, processes and their signals, browsers, servers and programs of others.
//!
//! They are a test program of their own, because many stories at once take from them the time that they are about: `cargo test` runs it after the
//! others, a few stories at a time. All others are in `tests/it`.

#![expect(clippy::unwrap_used, reason = "a test fails at an unexpected value")]

#[path = "../it/support/mod.rs"]
#[expect(dead_code, reason = "the other stories need more of it")]
mod support;

mod console;
mod drills;
mod platform;
mod portal;
mod storefront;
mod webhooks;
