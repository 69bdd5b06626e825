//! Secrets come from standard input, so that no process list and no shell history shows them.

use std::io::{IsTerminal, Read, stdin};

use secrecy::SecretString;

use crate::cli::Failure;
use crate::cli::output::complain;

/// The longest secret and its line end; more than that is a wrong file piped in.
const LIMIT: u64 = 1024;

/// Reads standard input to its end; on a terminal it asks for `what` first. Line ends behind the secret do not belong to it.
pub(super) fn read_secret(what: &str) -> Result<SecretString, Failure> {
    if stdin().is_terminal() {
        complain(&format!("{what}, then Enter and Ctrl-D:"));
    }
    let mut text = String::new();
    stdin().take(LIMIT).read_to_string(&mut text)?;
    Ok(SecretString::from(text.trim_end_matches(['\r', '\n'])))
}
