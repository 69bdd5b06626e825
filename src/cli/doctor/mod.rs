//! `portico doctor`: checks everything that the service depends on and explains what is wrong.
//!
//! [`database`] checks Postgres and its contents, [`sealed`] the secrets in it, [`outside`] external services. Each configured service gets a request that sends
//! no messages and costs nothing. A service that is not configured is a note, not an error.

mod database;
mod outside;
mod sealed;

use std::borrow::Cow;
use std::process::ExitCode;

use crate::bootstrap::{Database, application_key};
use crate::cli::Failure;
use crate::config::{Config, Environment};
use crate::kernel::error_chain::chain;
use crate::kernel::terminal::say;
use crate::storefront::Messages;

/// The result of one check.
enum Finding {
    Good(String),
    Note(String),
    Bad(String),
}
use Finding::{Bad, Good, Note};

/// Checks a database and what is in it.
async fn look_at(config: &Config) -> Vec<(&'static str, Finding)> {
    let database = match Database::new(config).await {
        Err(error) => return vec![("database", Bad(chain(&error)))],
        Ok(database) => database,
    };
    let mut findings = database::look(&database.pool).await;
    findings.push(("cards", outside::cards(config, &database.pool).await));
    findings.extend(sealed::look(config, &database.pool).await);
    findings.push(("extensions", database::extensions(config, &database.pool).await));
    database.stop().await;
    findings
}

/// Runs all checks and prints the findings. Fails if one of them is bad.
pub(super) async fn run(config: &Config) -> Result<ExitCode, Failure> {
    let environment = match config.environment() {
        Environment::Development => "development",
        Environment::Production => "production",
    };
    let mut findings: Vec<(Cow<'static, str>, Finding)> = vec![
        ("environment".into(), Good(environment.to_owned())),
        ("application key".into(), key(config)),
        ("certificates".into(), outside::certificates()),
        ("messages".into(), messages(config)),
    ];
    findings.extend(outside::texts(config).await.into_iter().map(|finding| ("texts".into(), finding)));
    findings.push(("mail".into(), outside::mail(config).await));
    findings.extend(outside::identity_providers(config).await);
    findings.extend(outside::challenge(config).await.map(|finding| ("challenge".into(), finding)));
    findings.extend(outside::traces(config).await.map(|finding| ("traces".into(), finding)));
    let cells = config.cells();
    for config in &cells {
        let name = &config.database.name;
        let of_cell = look_at(config).await.into_iter();
        // With one database, nobody need know that it is a cell.
        findings
            .extend(of_cell.map(|(what, finding)| (if cells.len() > 1 { format!("{what} {name}").into() } else { what.into() }, finding)));
    }
    let failed = findings.iter().any(|(_, finding)| matches!(finding, Bad(_)));
    let width = findings.iter().map(|(what, _)| what.len()).max().unwrap_or_default().max(16);
    for (what, finding) in findings {
        let (mark, text) = match finding {
            Good(text) => ("ok  ", text),
            Note(text) => ("note", text),
            Bad(text) => ("BAD ", text),
        };
        say(&format!("{mark}  {what:width$} {text}"));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn key(config: &Config) -> Finding {
    match application_key(config) {
        Ok(key) => Good(format!("is valid; its fingerprint is {}", key.fingerprint())),
        Err(error) => Bad(chain(&error)),
    }
}

fn messages(config: &Config) -> Finding {
    match Messages::load(&config.messages) {
        Err(error) => Bad(chain(&error)),
        Ok(messages) => Good(format!("are available in {}", messages.languages().collect::<Vec<_>>().join(", "))),
    }
}
