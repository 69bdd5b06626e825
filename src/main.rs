//! The `portico` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    portico::cli::run()
}
