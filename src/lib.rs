//! Portico: storefront sign-in and a webhook hub, one binary on one Postgres.
//!
//! ```text
//!  8   cli  serve  app  config  dev                                the composition root: knows everyone
//!  6   realtime                                                    socket tokens, channel authorization
//!  5   storefront   fleet   gateways   developers   declared       what the outside can ask for
//!  4   webhooks                                                    the delivery hub
//!  3   resources                                                   the five-route convention
//!  2   events     companies     operators    providers             shared business, the outside world
//!  1   contact                                                     phone, email, identity
//!  0   kernel                                                      clock, ids, problems, crypto, database, lifecycle
//! ```
//!
//! A folder is a business capability with its own routes, rules and SQL. It uses folders on lower floors; folders of one floor do not
//! use each other. Capabilities talk through [`events`]: whoever changes a record publishes an event in the same transaction and has
//! never heard of [`webhooks`], which delivers it. `tests/it/layers.rs` keeps it so.

pub mod app;
pub mod cli;
pub mod companies;
pub mod config;
pub mod contact;
pub mod declared;
pub mod dev;
pub mod developers;
pub mod events;
pub mod fleet;
pub mod gateways;
pub mod kernel;
pub mod operators;
pub mod providers;
pub mod realtime;
pub mod resources;
pub mod serve;
pub mod set_up;
pub mod storefront;
pub mod webhooks;
