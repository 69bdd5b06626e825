//! The warnings and errors that the service logs in a story. The test runner shows them if the story fails.

use tracing::Level;

/// Starts logging. A second call has no effect.
pub fn start() {
    let _ = tracing_subscriber::fmt().with_test_writer().with_max_level(Level::WARN).with_ansi(false).try_init();
}
