//! Tests that read the sources: rules of the architecture that the compiler does not check.

pub mod floors;
mod repeated_statements;
mod secret_comparison;
mod single_writer;
