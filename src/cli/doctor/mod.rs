//! `portico doctor`: looks at everything the service leans on and says in words what is wrong.
//!
//! [`database`] looks at Postgres and what lies in it, [`outside`] at the services of others: each that is configured is asked, in a way
//! that sends nobody anything and costs nothing. What is not configured is no fault, but worth a note.

mod database;
mod outside;

use std::process::ExitCode;

use crate::cli::{Failure, say};
use crate::config::{Config, Environment};
use crate::kernel::telemetry::chain;
use crate::set_up::{SetUp, application_key};
use crate::storefront::Messages;

/// What one look found.
enum Finding {
    Good(String),
    Note(String),
    Bad(String),
}
use Finding::{Bad, Good, Note};

/// Prints every finding; fails when one is bad.
pub(super) async fn run(config: &Config) -> Result<ExitCode, Failure> {
    let environment = match config.environment() {
        Environment::Development => "development",
        Environment::Production => "production",
    };
    let mut findings = vec![
        ("environment", Good(environment.to_owned())),
        ("application key", key(config)),
        ("certificates", outside::certificates()),
        ("messages", messages(config)),
    ];
    findings.extend(outside::texts(config).await.into_iter().map(|finding| ("texts", finding)));
    findings.push(("mail", outside::mail(config).await));
    findings.extend(outside::identity_providers(config).await);
    match SetUp::new(config).await {
        Err(error) => findings.push(("database", Bad(chain(&error)))),
        Ok(set_up) => {
            findings.extend(database::look(&set_up.pool).await);
            findings.push(("cards", outside::cards(config, &set_up.pool).await));
            findings.push(("extensions", database::extensions(config, &set_up.pool).await));
            set_up.stop().await;
        }
    }
    let failed = findings.iter().any(|(_, finding)| matches!(finding, Bad(_)));
    for (what, finding) in findings {
        let (mark, text) = match finding {
            Good(text) => ("ok  ", text),
            Note(text) => ("note", text),
            Bad(text) => ("BAD ", text),
        };
        say(&format!("{mark}  {what:16} {text}"));
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn key(config: &Config) -> Finding {
    match application_key(config) {
        Ok(_) => Good("can be used".to_owned()),
        Err(error) => Bad(chain(&error)),
    }
}

fn messages(config: &Config) -> Finding {
    match Messages::load(&config.messages) {
        Err(error) => Bad(chain(&error)),
        Ok(messages) => Good(format!("can be said in {}", messages.languages().collect::<Vec<_>>().join(", "))),
    }
}
