//! Integration tests of the specification: stories that send requests to the real router with a real PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails at an unexpected value")]

#[expect(dead_code, reason = "the stories of tests/real need more of it")]
mod support;

mod architecture;
mod console;
mod declared;
mod developers;
mod fleet;
mod gateways;
mod platform;
mod portal;
mod realtime;
mod resources;
mod storefront;
mod webhooks;
