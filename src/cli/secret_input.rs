//! Reads secrets from standard input, so that they do not appear in process lists and shell histories.

use std::io::{IsTerminal, Read, stdin};

use secrecy::SecretString;

use crate::cli::Failure;
use crate::kernel::terminal::complain;

/// The maximum length of a secret with its line end, in bytes. Longer input is probably the wrong file.
const LIMIT: u64 = 1024;

/// Reads standard input to its end. On a terminal, prints a prompt for `what` first. Trailing line ends are not part of the secret.
pub(super) fn read_secret(what: &str) -> Result<SecretString, Failure> {
    if stdin().is_terminal() {
        complain(&format!("{what}, then Enter and Ctrl-D:"));
    }
    let mut text = String::new();
    stdin().take(LIMIT).read_to_string(&mut text)?;
    Ok(SecretString::from(text.trim_end_matches(['\r', '\n'])))
}
