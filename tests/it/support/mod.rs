//! The world of a story: its own service, database and controlled clock, and mocks of the external services.

mod answer;
pub mod authenticator;
pub mod authenticator_app;
pub mod browser;
pub mod card_provider;
pub mod challenge_service;
pub mod chance;
pub mod collector;
pub mod console;
pub mod customers;
pub mod database;
mod event_schema_check;
pub mod fleet;
pub mod gateways;
pub mod http2;
pub mod identity_provider;
pub mod nameserver;
mod openapi_check;
pub mod own_postgres;
pub mod page;
pub mod program;
pub mod proxy;
pub mod receiver;
pub mod request;
pub mod routes;
pub mod sealed_shop;
pub mod small_disk;
pub mod sms;
pub mod smtp;
pub mod socket_server;
pub mod streams;
pub mod subscribers;
pub mod waiting;
mod world;

pub use answer::Answer;
pub use world::World;
