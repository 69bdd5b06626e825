//! Shared by the commands that create, change or list records: run on the database, print the result.

use serde_json::{Value, json};

use crate::bootstrap::Database;
use crate::callers::Caller;
use crate::cli::Failure;
use crate::cli::exit::NotFound;
use crate::cli::layout::{columns, lines, table};
use crate::companies;
use crate::config::Config;
use crate::kernel::database::Pool;
use crate::kernel::ids::CompanyId;
use crate::kernel::terminal::{complain, say};
use crate::resources::Line;

/// Runs `work` on the database and prints the record that it returns, `{"<singular>": {…}}`: as JSON, or one line per field.
pub(super) async fn print_one(config: &Config, json: bool, work: impl AsyncFnOnce(&Pool) -> Result<Value, Failure>) -> Result<(), Failure> {
    let record = Database::new(config).await?.with_migrated(config, work).await?;
    say(&if json { record.to_string() } else { record.as_object().into_iter().flat_map(|outer| outer.values()).map(lines).collect() });
    Ok(())
}

/// Runs `work` on the database and prints the records that it returns: as JSON, or as a table.
pub(super) async fn print_list(
    config: &Config,
    json: bool,
    plural: &str,
    work: impl AsyncFnOnce(&Pool) -> Result<Vec<Value>, Failure>,
) -> Result<(), Failure> {
    let records = Database::new(config).await?.with_migrated(config, work).await?;
    show_list(json, plural, &records);
    Ok(())
}

/// Prints records: as JSON, or as a table.
pub(super) fn show_list(json: bool, plural: &str, records: &[Value]) {
    match (json, records.is_empty()) {
        (true, _) => say(&json!({ plural: records }).to_string()),
        (false, true) => complain("There are none."),
        (false, false) => say(&table(&columns(records), records)),
    }
}

/// Who runs a command that creates a record of this company. The company must exist.
pub(super) async fn caller_of(pool: &Pool, company: CompanyId) -> Result<Caller, Failure> {
    match companies::company_exists(&mut pool.acquire().await?, company).await? {
        true => Ok(Caller::command_line(company)),
        false => Err(NotFound(format!("there is no company {company}")).into()),
    }
}

/// The names of records.
pub(super) fn parse_name(text: &str) -> Result<Line<255>, &'static str> {
    Line::try_from(text.to_owned()).map_err(|_| "a name must have 1 to 255 characters and no control characters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_characters_that_can_be_seen() {
        assert_eq!(parse_name("  My Shop ").map(String::from).as_deref(), Ok("My Shop"));
        assert_eq!(parse_name(&"x".repeat(255)).map(|name| String::from(name).len()), Ok(255));
        for bad in ["", "  ", "a\nb", &"x".repeat(256)] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }
}
