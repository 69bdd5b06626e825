//! Integration tests of the specification: stories that send requests to the real router with a real PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a test fails at an unexpected value")]

mod support;

mod architecture;
mod console;
mod declared;
mod developers;
mod drills;
mod fleet;
mod gateways;
mod platform;
mod portal;
mod realtime;
mod resources;
mod storefront;
mod webhooks;
