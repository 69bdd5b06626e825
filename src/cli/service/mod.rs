//! `portico webhook`, `event`, `delivery` and the like: the records of a running service, with an API key.
//!
//! The commands are thin: a request, and its answer as a table, as lines or as JSON. They are made of the OpenAPI document, so that an
//! operation, a filter or a field of the API is one of the command line too, with the same description, and nothing is declared twice.
//! Only the names of the commands and the columns of their lists are chosen here. A command is filled when it is used, so no other one
//! reads the document.
//!
//! Secrets do not come from the command line, which other users of the machine can see: the API key is in the environment or a file, and
//! what the API only takes and never shows is read from a file. What it shows once is printed if it is asked for.
//!
//! # Rooms
//!
//! From top to bottom; a room uses only rooms below it.
//!
//! ```text
//! listing  answer          several records, page by page; one answer
//! request                  what the command line asks for
//! options                  the options of an operation
//! action                   the operations on a kind of record, by their names
//! connection               the service and the key
//! ```

mod action;
mod answer;
mod connection;
mod listing;
mod options;
mod request;

use clap::{ArgMatches, Command, FromArgMatches};

pub(super) use connection::Connection;

use crate::cli::Failure;
use crate::cli::exit::{Exit, Refusal};
use crate::cli::service::action::{Action, KINDS, Kind};
use crate::kernel::terminal::complain;

/// The whole command line with the commands of the kinds of records. `gateway` has local ones beside them.
pub(super) fn add_to(mut program: Command) -> Command {
    for kind in KINDS {
        program = match program.find_subcommand(kind.command) {
            Some(_) => program.mut_subcommand(kind.command, |command| command.defer(fill)),
            None => program.subcommand(Command::new(kind.command).about(kind.about).subcommand_required(true).defer(fill)),
        };
    }
    program
}

/// Adds the operations on the kind of record that the command is named for. One that the command has by itself goes before.
fn fill(command: Command) -> Command {
    let kind = Kind::of(command.get_name()).expect("only the commands of kinds are filled");
    let own: Vec<_> = command.get_subcommands().map(|own| own.get_name().to_owned()).collect();
    let actions = kind.actions().filter(|action| !own.contains(&action.name));
    command.arg_required_else_help(true).subcommands(actions.map(|action| options::command(&action)))
}

/// What the command line asks a service for, if it does.
pub(super) fn asked_for(matches: &ArgMatches) -> Option<(Action, &ArgMatches)> {
    let (command, matches) = matches.subcommand()?;
    let (name, matches) = matches.subcommand()?;
    // The commands of this machine have no connection.
    matches.try_contains_id(options::SERVICE).ok().filter(|known| *known)?;
    Some((Kind::of(command)?.actions().find(|action| action.name == name)?, matches))
}

/// Asks the service, and prints what it answers. With `--json`, a refusal is printed as JSON too.
pub(super) async fn run(action: &Action, matches: &ArgMatches) -> Result<(), Failure> {
    let connection = Connection::from_arg_matches(matches)?;
    let (service, request) = (connection.open()?, request::read(action, matches)?);
    match action.is_list() {
        true => listing::run(&service, action, request, matches).await,
        false => answer::run(&service, action, request, matches).await,
    }
}

/// Prints why a command failed, and says with which code it ends.
pub(super) fn explain(error: &Failure, matches: &ArgMatches) -> Exit {
    match error.downcast_ref::<Refusal>() {
        Some(refusal) if matches.get_flag(options::JSON) => complain(&refusal.problem.to_string()),
        _ => complain(&format!("portico: {}", crate::kernel::error_chain::chain(&**error))),
    }
    Exit::of(&**error)
}
