//! A question before what cannot be undone.

use std::io::{IsTerminal, stdin};

use ::console::Term;

use crate::cli::Failure;

/// Returns an error unless somebody at a terminal types `name` again, or `--yes` was given.
pub(super) fn confirm(what: &str, name: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    let terminal = Term::stderr();
    if !(stdin().is_terminal() && terminal.is_term()) {
        return Err(format!("{what} cannot be undone: --yes confirms it where nobody can be asked").into());
    }
    terminal.write_str(&format!("{what} cannot be undone. To confirm, type {name}: "))?;
    match terminal.read_line()?.trim() == name {
        true => Ok(()),
        false => Err("nothing was done".into()),
    }
}
