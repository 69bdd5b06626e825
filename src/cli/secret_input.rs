//! Reads secrets from standard input or a file, so that they do not appear in process lists and shell histories.

use std::fs::File;
use std::io::{IsTerminal, Read, stdin};
use std::path::Path;

use ::console::Term;
use secrecy::SecretString;

use crate::cli::Failure;

/// The maximum length of a secret with its line end, in bytes. Every password that is not too long fits, in any spelling. Longer input is probably
/// the wrong file, and is refused: a cut secret would be another secret.
const LIMIT: usize = 8 * 1024;

/// Reads standard input to its end; on a terminal, asks for `what` and reads one line that does not appear there. Trailing line ends are not
/// part of the secret.
pub(super) fn read_secret(what: &str) -> Result<SecretString, Failure> {
    if !stdin().is_terminal() {
        return secret(stdin());
    }
    let terminal = Term::stderr();
    if !terminal.is_term() {
        return Err(format!("{what} is read from standard input, or asked for where standard error is a terminal").into());
    }
    terminal.write_str(&format!("{what}: "))?;
    Ok(terminal.read_secure_line()?.into())
}

/// Reads the secret in a file; `-` is standard input.
pub(super) fn read_file(file: &Path) -> Result<SecretString, Failure> {
    match file == Path::new("-") {
        true => read_secret("The secret"),
        false => secret(open(file)?),
    }
}

/// Reads a whole file; `-` is standard input.
pub(super) fn read_text(file: &Path) -> Result<String, Failure> {
    let mut text = String::new();
    match file == Path::new("-") {
        true => stdin().read_to_string(&mut text)?,
        false => open(file)?.read_to_string(&mut text)?,
    };
    Ok(text)
}

fn open(file: &Path) -> Result<File, Failure> {
    File::open(file).map_err(|error| format!("{} cannot be read: {error}", file.display()).into())
}

fn secret(input: impl Read) -> Result<SecretString, Failure> {
    let mut text = String::new();
    input.take(LIMIT as u64 + 1).read_to_string(&mut text)?;
    if text.len() > LIMIT {
        return Err(format!("a secret has at most {LIMIT} bytes: is this the right file?").into());
    }
    Ok(SecretString::from(text.trim_end_matches(['\r', '\n'])))
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn a_secret_is_read_whole_or_not_at_all() {
        let read = |text: &str| secret(text.as_bytes()).map(|secret| secret.expose_secret().to_owned()).ok();
        assert_eq!(read("correct horse\r\n").as_deref(), Some("correct horse"));
        let longest = "e\u{301}".repeat(256) + "\n";
        assert_eq!(read(&longest).as_deref(), Some(longest.trim_end()));
        assert_eq!(read(&"x".repeat(LIMIT + 1)), None);
    }
}
