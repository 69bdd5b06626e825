//! The conventions that all extension resources share.

mod documented;
pub mod every_resource;
mod following;
mod forms;
mod limits;
mod lists;
mod lists_at_size;
mod numbers;
mod records;
mod spellings;
