//! Tests that read the sources: rules of the architecture that the compiler does not check.

mod documented;
mod floors;
mod giving;
mod migrations;
mod permissions;
mod portable;
mod repeated_statements;
mod secret_comparison;
mod single_writer;
pub mod sources;
mod steps;
mod stories;
mod tables;
