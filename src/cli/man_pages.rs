//! `portico completions` and `portico man`: what shells and the manual know of the commands.

use std::fs;
use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use crate::cli::{Failure, program};
use crate::kernel::terminal::say;

#[derive(Args, Debug)]
pub(super) struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

#[derive(Args, Debug)]
pub(super) struct ManArguments {
    /// The directory, which is created if it does not exist
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub(super) fn print_completions(arguments: &CompletionsArguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut program(), "portico", &mut script);
    say(String::from_utf8(script)?.trim_end());
    Ok(())
}

/// Writes one page for each command: `portico.1`, `portico-webhook.1`, `portico-webhook-list.1`.
pub(super) fn write_pages(arguments: &ManArguments) -> Result<(), Failure> {
    let directory = &arguments.directory;
    fs::create_dir_all(directory)?;
    clap_mangen::generate_to(program(), directory)?;
    let pages = fs::read_dir(directory)?.filter_map(Result::ok).filter(|entry| entry.path().extension().is_some_and(|end| end == "1"));
    say(&format!("{} pages were written to {1}. Read them with man -l {1}/portico.1", pages.count(), directory.display()));
    Ok(())
}
