//! The log: lines for people in a terminal, JSON for machines elsewhere.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// `[log]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// What is logged, as a filter of the `tracing` family: `info`, `portico=debug,sqlx=warn`.
    pub filter: String,
    /// How a line looks.
    pub format: Format,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// One line for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// The log's filter cannot be understood.
#[derive(Debug, thiserror::Error)]
#[error("log.filter is not a log filter")]
pub struct BadFilter(#[from] tracing_subscriber::filter::ParseError);

/// Starts the log on standard error; a second call changes nothing.
pub fn start(settings: &Settings) -> Result<(), BadFilter> {
    let filter = EnvFilter::try_new(&settings.filter)?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let started = match settings.format {
        Format::Text => registry.with(lines.with_target(false)).try_init(),
        Format::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "the log runs already");
    }
    Ok(())
}

/// An error with everything that caused it, for the one line that logs it.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}
