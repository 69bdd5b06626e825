//! Terminal output of commands. No other module of the command line writes to the terminal.

use std::io::Write;

/// Prints a paragraph to standard output. A closed output (`| head`) is not an error.
pub fn say(paragraph: &str) {
    let _ = writeln!(std::io::stdout(), "{paragraph}");
}

/// Prints an error message to standard error.
pub fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
