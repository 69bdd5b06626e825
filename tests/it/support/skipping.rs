//! Stories that need what is not installed everywhere.

use std::env;
use std::io::{self, Write};

/// Set where everything is installed: a story that is skipped fails there, because it proves nothing.
const ALL_IS_THERE: &str = "PORTICO_TEST_NO_SKIPS";

/// Says that a story, or a part of it, is skipped.
pub fn skipped(why: &str) {
    assert!(env::var_os(ALL_IS_THERE).is_none(), "skipped: {why}");
    // The standard error of the process, which the test harness does not capture.
    let _ = writeln!(io::stderr(), "skipped: {why}");
}
