//! One answer: as lines, or as the JSON that the service sent.

use clap::ArgMatches;
use serde_json::Value;

use crate::cli::Failure;
use crate::cli::layout::lines;
use crate::cli::service::action::Action;
use crate::cli::service::connection::Service;
use crate::cli::service::options::{JSON, SHOW_SECRETS};
use crate::cli::service::request::Request;
use crate::kernel::terminal::{complain, say};

/// Asks, and prints the answer. Whoever asks for a secret by the name of the command wants to see it.
pub(super) async fn run(service: &Service, action: &Action, request: Request, matches: &ArgMatches) -> Result<(), Failure> {
    let mut answer = service.answer(request.to(service)).await?;
    let hidden = !matches.get_flag(SHOW_SECRETS) && action.name != "secret" && hide_secrets(&mut answer);
    say(&if matches.get_flag(JSON) { answer.to_string() } else { lines(only_member(&answer)) });
    if hidden {
        complain("The secret is not printed: --show-secrets prints it.");
    }
    Ok(())
}

/// The record in an answer that consists of it.
fn only_member(answer: &Value) -> &Value {
    match answer.as_object().map(|members| members.values().collect::<Vec<_>>()).as_deref() {
        Some([record]) if record.is_object() => record,
        _ => answer,
    }
}

/// Takes away what is secret in an answer. Returns whether there was anything.
fn hide_secrets(value: &mut Value) -> bool {
    let mut hidden = false;
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                if (name == "secret" || name.ends_with("_secret")) && value.is_string() {
                    *value = Value::Null;
                    hidden = true;
                }
                hidden |= hide_secrets(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| hidden |= hide_secrets(item)),
        _ => {}
    }
    hidden
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_are_taken_away_wherever_they_are() {
        let mut answer =
            json!({ "webhook": { "secret": "whsec_1", "previous_secret_until": "2026" }, "list": [{ "signing_secret": "x" }] });
        assert!(hide_secrets(&mut answer));
        let left = json!({ "webhook": { "secret": null, "previous_secret_until": "2026" }, "list": [{ "signing_secret": null }] });
        assert_eq!(answer, left);
        assert!(!hide_secrets(&mut answer));
    }

    #[test]
    fn a_record_is_shown_without_what_it_is_wrapped_in() {
        assert_eq!(only_member(&json!({ "webhook": { "id": 1 } })), &json!({ "id": 1 }));
        assert_eq!(only_member(&json!({ "status": "ok", "ended": 2 })), &json!({ "status": "ok", "ended": 2 }));
    }
}
