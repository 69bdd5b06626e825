//! The options of an operation: what it takes, as its documentation says, and how its answer is shown.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Args, Command, value_parser};

use crate::cli::service::action::Action;
use crate::cli::service::connection::Connection;
use crate::handbook::{Field, Parameter, Place};
use crate::resources::Input;

/// The names of the options that are not of the API.
pub(super) const SERVICE: &str = "service";
pub(super) const JSON: &str = "json";
pub(super) const BODY: &str = "body";
pub(super) const ALL: &str = "all";
pub(super) const LIMIT: &str = "limit";
pub(super) const COLUMNS: &str = "columns";
pub(super) const SHOW_SECRETS: &str = "show_secrets";

/// What a list shows unless more is asked for.
const SHOWN: &str = "25";

/// The command of an action.
pub(super) fn command(action: &Action) -> Command {
    let operation = action.operation;
    let mut command = Command::new(action.name.clone());
    // The pages of a list are the program's affair.
    let parameters = operation.parameters.iter().filter(|parameter| !(action.is_list() && is_page(&parameter.field)));
    command = command.args(parameters.map(of_parameter));
    if let Some(body) = operation.body.as_ref().filter(|body| !body.fields.is_empty()) {
        command = command.args(body.fields.iter().map(of_field));
        let whole = Arg::new(BODY).long("body").value_name("FILE").help("File with the whole body as JSON, - for standard input");
        let fields: Vec<_> = body.fields.iter().map(|field| field.name.clone()).collect();
        command = command.arg(whole.conflicts_with_all(fields).help_heading("Input"));
    }
    command = command.args(if action.is_list() { of_lists(action) } else { of_answers() });
    let json = "Print JSON: the answer of the API; of a list each record in a line of its own. Problems are JSON too";
    command = command.arg(flag(JSON, "json", json));
    // Last, because a struct of arguments has a description of its own.
    command = Connection::augment_args(command).about(operation.heading().to_owned());
    match operation.description.as_str() {
        "" => command.long_about(None),
        more => command.long_about(format!("{}\n\n{more}", operation.heading())),
    }
}

fn is_page(field: &Field) -> bool {
    ["limit", "after", "follow"].contains(&field.name.as_str())
}

fn flag(id: &'static str, long: &'static str, help: &'static str) -> Arg {
    Arg::new(id).long(long).action(ArgAction::SetTrue).help(help).help_heading("Output")
}

fn of_lists(action: &Action) -> Vec<Arg> {
    let limit = Arg::new(LIMIT).long("limit").value_name("N").value_parser(value_parser!(u64).range(1..)).default_value(SHOWN);
    let columns = Arg::new(COLUMNS).long("columns").value_name("FIELDS").value_delimiter(',').default_value(action.kind.columns.join(","));
    vec![
        limit.help("How many records are shown at most").help_heading("Output"),
        flag(ALL, "all", "Show all records").conflicts_with(LIMIT),
        columns.help("Fields that the table shows; those within fields have names like health.state").help_heading("Output"),
    ]
}

fn of_answers() -> Vec<Arg> {
    vec![flag(SHOW_SECRETS, "show-secrets", "Print secrets that the service shows, such as a new signing secret")]
}

fn of_parameter(parameter: &Parameter) -> Arg {
    let arg = Arg::new(parameter.field.name.clone()).help(help(&parameter.field));
    match parameter.place {
        Place::Path => arg.value_name("ID").required(true),
        Place::Query | Place::Header => {
            let arg = entered(arg, &parameter.field).required(parameter.field.required);
            // A list is narrowed to any of several words.
            if matches!(parameter.field.input, Input::Choice(_)) { arg.value_delimiter(',') } else { arg }
        }
    }
}

/// A field of the body. What the API takes and never shows is read from a file.
fn of_field(field: &Field) -> Arg {
    let arg = Arg::new(field.name.clone()).help_heading("Input");
    let arg = match is_secret(field) {
        true => {
            arg.long(format!("{}-file", long(&field.name))).value_name("FILE").help(format!("File, - for standard input. {}", help(field)))
        }
        false => entered(arg.help(help(field)), field),
    };
    if field.required { arg.required_unless_present(BODY) } else { arg }
}

/// Whether others must not see the value.
pub(super) fn is_secret(field: &Field) -> bool {
    field.write_only && matches!(field.input, Input::Line | Input::Text | Input::Secret)
}

fn entered(arg: Arg, field: &Field) -> Arg {
    let arg = arg.long(long(&field.name)).allow_hyphen_values(true);
    match &field.input {
        Input::Switch => arg.value_parser(["true", "false"]).num_args(0..=1).require_equals(true).default_missing_value("true"),
        Input::Choice(words) if !field.kind.ends_with("or null") => arg.value_name("WORD").value_parser(PossibleValuesParser::new(words)),
        Input::Choice(_) => arg.value_name("WORD"),
        Input::Choices(words) => arg.value_name("WORDS").value_delimiter(',').value_parser(PossibleValuesParser::new(words)),
        Input::List | Input::Events => arg.value_name("WORDS").value_delimiter(','),
        Input::Integer | Input::Number => arg.value_name("NUMBER"),
        Input::Instant => arg.value_name("INSTANT"),
        Input::Array | Input::Object => arg.value_name("JSON"),
        Input::Record(_) => arg.value_name("ID"),
        Input::Line | Input::Text | Input::Secret => arg.value_name("TEXT"),
    }
}

/// `created_after` is `--created-after`, and `If-Match` is `--if-match`.
fn long(name: &str) -> String {
    name.replace('_', "-").to_lowercase()
}

/// The sentence of the documentation and the limits of the value, without the dot that help texts do not have.
fn help(field: &Field) -> String {
    let limits = field.limits.iter().filter(|limit| !limit.starts_with("only in")).cloned();
    let sentence = field.sentence.trim_end_matches('.').to_owned();
    [sentence].into_iter().filter(|sentence| !sentence.is_empty()).chain(limits).collect::<Vec<_>>().join("; ")
}
