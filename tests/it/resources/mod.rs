//! What all records of the five routes have in common.

pub mod every_resource;
mod lists;
mod lists_at_size;
mod records;
