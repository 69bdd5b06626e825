//! Tests that read the sources: what the architecture promises, and no compiler checks.

pub mod floors;
mod secret_comparison;
mod single_writer;
