//! The world of a story: a service of its own on a database of its own, a clock that only the story moves, and the outside parties.

mod answer;
pub mod card_provider;
pub mod chance;
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
