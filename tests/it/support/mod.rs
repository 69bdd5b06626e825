//! The world of a story: its own service, database and controlled clock, and mocks of the external services.

mod answer;
pub mod card_provider;
pub mod database;
mod emitted;
pub mod fleet;
pub mod gateways;
pub mod http2;
pub mod http_texts;
pub mod identity_provider;
pub mod people;
pub mod program;
pub mod receiver;
pub mod request;
pub mod smtp;
pub mod socket_server;
pub mod subscribers;
mod told;
pub mod twilio;
pub mod vonage;
mod world;

pub use answer::Answer;
pub use world::World;
