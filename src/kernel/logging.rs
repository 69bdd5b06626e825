//! Logging: text lines for people, JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// `[log]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The log filter, in the syntax of `tracing`: `info`, `portico=debug,sqlx=warn`.
    pub filter: String,
    /// How lines are written to standard error.
    pub format: Format,
    /// Whether every request has a line at level info.
    pub access: bool,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Human-readable text.
    Text,
    /// One JSON object per line.
    Json,
}

/// The log filter is invalid.
#[derive(Debug, thiserror::Error)]
#[error("log.filter is not a valid log filter")]
pub struct InvalidLogFilter(#[from] tracing_subscriber::filter::ParseError);

/// Starts logging to standard error. A second call has no effect.
pub fn start(settings: &Settings) -> Result<(), InvalidLogFilter> {
    let filter = EnvFilter::try_new(&settings.filter)?;
    let registry = tracing_subscriber::registry().with(filter);
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    let started = match settings.format {
        Format::Text => registry.with(lines.with_target(false)).try_init(),
        Format::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
    if let Err(error) = started {
        tracing::debug!(%error, "the log is already set up");
    }
    Ok(())
}
