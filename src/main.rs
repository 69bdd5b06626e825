//! The `portico` program.

fn main() {}
