//! Portico: storefront sign-in and a webhook hub in one binary on one Postgres database.
//!
//! # Floors
//!
//! ```text
//!  9   main                                                        the program
//!  8   cli                                                         the composition root: depends on everything
//!      serve
//!      bootstrap
//!      app
//!      dev
//!      config
//!  7   console                                                     what operators look at
//!  6   handbook                                                    what the documentation says, read from the OpenAPI document
//!      realtime                                                    socket tokens, channel authorization
//!  5   storefront   fleet   developers   declared   portal         the public APIs
//!  4   webhooks     gateways                                       the delivery hub, payment gateways and their ledger
//!  3   resources                                                   the five-route convention
//!  2   operators                                                   who signs in to the console
//!      events     companies     providers                          shared business logic, external providers
//!      audit_trail                                                 who changed what
//!  1   callers      contact                                        who asks and what they may do; phone, email, identity
//!  0   kernel                                                      clock, ids, problems, crypto, database, lifecycle
//! ```
//!
//! A folder is a business capability with its own routes, rules and SQL. It may use folders on lower layers; folders of the same
//! layer do not use each other. Capabilities communicate through [`events`]: a module that changes a record publishes an event in
//! the same transaction and does not depend on [`webhooks`], which delivers the event. `tests/it/architecture/floors.rs` reads this picture
//! and checks these rules, `tests/it/architecture/tables.rs` who writes and reads which table. `docs/architecture.md` follows four requests
//! through the rooms, and says what to touch for which kind of change.

pub mod app;
pub mod audit_trail;
pub mod bootstrap;
pub mod callers;
pub mod cli;
pub mod companies;
pub mod config;
pub mod console;
pub mod contact;
pub mod declared;
pub mod dev;
pub mod developers;
pub mod events;
pub mod fleet;
pub mod gateways;
pub mod handbook;
pub mod kernel;
pub mod operators;
pub mod portal;
pub mod providers;
pub mod realtime;
pub mod resources;
pub mod serve;
pub mod storefront;
pub mod webhooks;
