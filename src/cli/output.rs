//! The only place that writes to the terminal.

use std::io::Write;

/// A paragraph for whoever started the program. That nobody reads it (`| head`) is no reason to fail.
pub(crate) fn say(paragraph: &str) {
    let _ = writeln!(std::io::stdout(), "{paragraph}");
}

/// Why the program failed.
pub(super) fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
