//! What goes on, while a person waits for it: on standard error, and only if that is a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

const TICK: Duration = Duration::from_millis(100);

/// A line for work of unknown length, with the number of what was done so far.
pub(super) fn counting(what: &'static str) -> ProgressBar {
    let bar = ProgressBar::no_length().with_style(style("{spinner} {msg} {human_pos}")).with_message(what);
    bar.enable_steady_tick(TICK);
    bar
}

/// A bar for `length` steps.
pub(super) fn steps(what: &'static str, length: u64) -> ProgressBar {
    let bar = ProgressBar::new(length).with_style(style("{msg} {wide_bar} {human_pos} of {human_len}, {eta} left")).with_message(what);
    bar.enable_steady_tick(TICK);
    bar
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is one of this file")
}
