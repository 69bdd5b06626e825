//! Shared by the commands that create, change or list records: run on the database, print the result.

use serde_json::{Value, json};

use crate::bootstrap::Database;
use crate::callers::Caller;
use crate::cli::Failure;
use crate::companies;
use crate::config::Config;
use crate::kernel::database::Pool;
use crate::kernel::ids::CompanyId;
use crate::kernel::terminal::say;
use crate::resources::Line;

/// Runs `work` on the database and prints the record that it returns, `{"<singular>": {…}}`: as JSON, or one line per field.
pub(super) async fn print_one(config: &Config, json: bool, work: impl AsyncFnOnce(&Pool) -> Result<Value, Failure>) -> Result<(), Failure> {
    let record = Database::new(config).await?.with_migrated(config, work).await?;
    say(&if json { record.to_string() } else { record.as_object().into_iter().flat_map(|outer| outer.values()).map(lines).collect() });
    Ok(())
}

/// Runs `work` on the database and prints the records that it returns: as JSON, or one block of lines per record.
pub(super) async fn print_list(
    config: &Config,
    json: bool,
    plural: &str,
    work: impl AsyncFnOnce(&Pool) -> Result<Vec<Value>, Failure>,
) -> Result<(), Failure> {
    let records = Database::new(config).await?.with_migrated(config, work).await?;
    say(&if json { json!({ plural: records }).to_string() } else { records.iter().map(lines).collect::<Vec<_>>().join("\n\n") });
    Ok(())
}

/// Who runs a command that creates a record of this company. The company must exist.
pub(super) async fn caller_of(pool: &Pool, company: CompanyId) -> Result<Caller, Failure> {
    match companies::company_exists(&mut pool.acquire().await?, company).await? {
        true => Ok(Caller::command_line(company)),
        false => Err(format!("there is no company {company}").into()),
    }
}

/// The names of records.
pub(super) fn parse_name(text: &str) -> Result<Line<255>, &'static str> {
    Line::try_from(text.to_owned()).map_err(|_| "a name must have 1 to 255 characters and no control characters")
}

/// One line for each field that has a value, the values in one column.
fn lines(record: &Value) -> String {
    let fields: Vec<(&String, String)> = record
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| {
            let text = match value {
                Value::Null => String::new(),
                Value::String(text) => text.clone(),
                Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
                other => other.to_string(),
            };
            (name, text)
        })
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    fields.iter().map(|(name, text)| format!("{name:width$}  {text}")).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_a_value_are_left_out_and_the_others_are_aligned() {
        let record = json!({ "id": "key_1", "scopes": ["read", "write"], "expires_at": null, "allowed_networks": [], "revoked": true });
        assert_eq!(lines(&record), "id       key_1\nscopes   read,write\nrevoked  true");
    }

    #[test]
    fn a_name_has_characters_that_can_be_seen() {
        assert_eq!(parse_name("  My Shop ").map(String::from).as_deref(), Ok("My Shop"));
        assert_eq!(parse_name(&"x".repeat(255)).map(|name| String::from(name).len()), Ok(255));
        for bad in ["", "  ", "a\nb", &"x".repeat(256)] {
            assert!(parse_name(bad).is_err(), "{bad}");
        }
    }
}
