//! The world of a story: a service of its own on a database of its own, a clock that only the story moves, and the outside parties.

mod answer;
mod database;
pub mod people;
pub mod receiver;
mod request;
pub mod subscribers;
mod world;

pub use answer::Answer;
pub use world::World;
