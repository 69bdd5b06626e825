//! How far a command is: a bar on a terminal, a line now and then otherwise.

use std::cell::Cell;
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressStyle};

use crate::kernel::terminal::complain;

/// How long a command that has no terminal is silent.
const SILENCE: Duration = Duration::from_secs(10);
/// How often the sign of life of work of unknown length turns.
const TICK: Duration = Duration::from_millis(100);

/// Goes to standard error, so that the standard output of a command has its result alone.
pub(super) struct Progress {
    what: &'static str,
    total: Option<u64>,
    in_bytes: bool,
    bar: Option<ProgressBar>,
    said_at: Cell<Instant>,
}

impl Progress {
    /// Of so many things.
    pub(super) fn new(what: &'static str, total: u64) -> Self {
        Self::with(what, Some(total), false, "{msg} {wide_bar} {pos} of {len}, {eta} left")
    }

    /// Of so many bytes, if it is known how many.
    pub(super) fn of_bytes(what: &'static str, total: Option<u64>) -> Self {
        let template = if total.is_some() { "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left" } else { "{msg} {spinner} {bytes}" };
        Self::with(what, total, true, template)
    }

    /// Of nobody knows how many things.
    pub(super) fn counting(what: &'static str) -> Self {
        let this = Self::with(what, None, false, "{spinner} {msg} {human_pos}");
        if let Some(bar) = &this.bar {
            bar.enable_steady_tick(TICK);
        }
        this
    }

    fn with(what: &'static str, total: Option<u64>, in_bytes: bool, template: &'static str) -> Self {
        let style = ProgressStyle::with_template(template).expect("the template is valid");
        let bar = || total.map_or_else(ProgressBar::new_spinner, ProgressBar::new).with_style(style).with_message(what);
        Self { what, total, in_bytes, bar: stderr().is_terminal().then(bar), said_at: Cell::new(Instant::now()) }
    }

    /// So much is done.
    pub(super) fn at(&self, done: u64) {
        match &self.bar {
            Some(bar) => bar.set_position(done),
            None if self.said_at.get().elapsed() >= SILENCE => {
                let amount = |amount| if self.in_bytes { HumanBytes(amount).to_string() } else { amount.to_string() };
                let total = self.total.map(|total| format!(" of {}", amount(total))).unwrap_or_default();
                complain(&format!("{}: {}{total}", self.what, amount(done)));
                self.said_at.set(Instant::now());
            }
            None => {}
        }
    }

    /// Prints something beside the bar.
    pub(super) fn suspend(&self, print: impl FnOnce()) {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Takes the bar away.
    pub(super) fn end(self) {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
    }
}
