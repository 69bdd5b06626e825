//! `portico doctor`: looks at everything the service leans on and says in words what is wrong.

use std::process::ExitCode;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgPool;

use crate::cli::{Failure, say};
use crate::config::{Config, Environment};
use crate::kernel::clock::Clock;
use crate::kernel::database;
use crate::kernel::telemetry::chain;
use crate::providers::mail::Mail;
use crate::providers::sms::Sms;
use crate::set_up::{SetUp, application_key};
use crate::storefront::Messages;

/// The service's clock and the database's may differ by this much.
const CLOCK_TOLERANCE: TimeDelta = TimeDelta::seconds(5);

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
        ("certificates", certificates()),
        ("texts", texts(config)),
        ("mail", mail(config)),
        ("messages", messages(config)),
    ];
    match SetUp::new(config).await {
        Err(error) => findings.push(("database", Bad(chain(&error)))),
        Ok(set_up) => {
            findings.extend(look_at_database(&set_up.pool).await);
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

fn certificates() -> Finding {
    match reqwest::Client::builder().build() {
        Ok(_) => Good("the system's authorities can be read".to_owned()),
        Err(error) => Bad(format!("no authorities to verify HTTPS with ({}): install ca-certificates", chain(&error))),
    }
}

fn texts(config: &Config) -> Finding {
    match Sms::new(&config.sms, None) {
        Err(error) => Bad(chain(&error)),
        Ok(sms) if sms.is_available() => Good("a provider is configured".to_owned()),
        Ok(_) if config.environment() == Environment::Development => Note("no provider: texts go to the mailbox alone".to_owned()),
        Ok(_) => Note("no provider: customers cannot get texts (sms.providers)".to_owned()),
    }
}

fn mail(config: &Config) -> Finding {
    match Mail::new(&config.mail, None) {
        Err(error) => Bad(chain(&error)),
        Ok(mail) if mail.is_available() => Good("a server is configured".to_owned()),
        Ok(_) if config.environment() == Environment::Development => Note("no server: mail goes to the mailbox alone".to_owned()),
        Ok(_) => Note("no server: customers cannot get mail (mail.smtp_url)".to_owned()),
    }
}

fn messages(config: &Config) -> Finding {
    match Messages::load(&config.messages) {
        Err(error) => Bad(chain(&error)),
        Ok(messages) => Good(format!("can be said in {}", messages.languages().collect::<Vec<_>>().join(", "))),
    }
}

async fn look_at_database(pool: &PgPool) -> Vec<(&'static str, Finding)> {
    let version = match sqlx::query_scalar!(r#"select current_setting('server_version') as "version!""#).fetch_one(pool).await {
        Ok(version) => Good(format!("PostgreSQL {version} answers")),
        Err(error) => return vec![("database", Bad(format!("does not answer: {}", chain(&error))))],
    };
    vec![("database", version), ("migrations", migrations(pool).await), ("clock", clock(pool).await)]
}

async fn migrations(pool: &PgPool) -> Finding {
    match database::missing_migrations(pool).await {
        Ok(0) => Good("the database is of this version".to_owned()),
        Ok(missing) => Bad(format!("the database lacks {missing} migrations: run portico migrate")),
        Err(error) => Bad(chain(&error)),
    }
}

async fn clock(pool: &PgPool) -> Finding {
    match sqlx::query_scalar!(r#"select clock_timestamp() as "now!""#).fetch_one(pool).await {
        Ok(theirs) => compare(theirs, Clock::System.now()),
        Err(error) => Bad(chain(&error)),
    }
}

fn compare(theirs: DateTime<Utc>, ours: DateTime<Utc>) -> Finding {
    let difference = ours - theirs;
    match difference.abs() <= CLOCK_TOLERANCE {
        true => Good("agrees with the database's".to_owned()),
        false => Bad(format!("differs from the database's by {} seconds", difference.num_seconds())),
    }
}
