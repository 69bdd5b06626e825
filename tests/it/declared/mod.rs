//! Declared extensions: decisions, section 9. A file, and no Rust.

mod files;
mod records;
mod starting;
