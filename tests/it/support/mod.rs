//! The world of a story: a service of its own on a database of its own, a clock that only the story moves, and the outside parties.

mod answer;
mod database;
pub mod people;
mod request;
mod world;

pub use answer::Answer;
pub use world::World;
