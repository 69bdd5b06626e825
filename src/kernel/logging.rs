//! Logging: text lines for people, JSON for machines.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// `[log]`
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The log filter, in the syntax of `tracing`: `info`, `portico=debug,sqlx=warn`. The TLS library logs only if it names `rustls`.
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

/// What TLS says of the other side, at level error and without a word of who that is: anybody could fill the log with it. Whoever has made the
/// connection says it themselves, as the attempts of deliveries and the errors of providers do.
const TLS: &str = "rustls=off";

/// The filter of the setting. TLS says something only if the setting names it.
fn filter(named: &str) -> Result<EnvFilter, InvalidLogFilter> {
    let filter = EnvFilter::try_new(named)?;
    Ok(if named.contains("rustls") { filter } else { filter.add_directive(TLS.parse()?) })
}

/// Starts logging to standard error. A second call has no effect.
pub fn start(settings: &Settings) -> Result<(), InvalidLogFilter> {
    let registry = tracing_subscriber::registry().with(filter(&settings.filter)?);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_the_certificate_of_somebody_else_is_no_error_here() {
        for (named, expected) in [("info,sqlx=warn", [false, true]), ("debug", [false, true]), ("info,rustls=warn", [true, true])] {
            let subscriber = tracing_subscriber::registry().with(filter(named).unwrap());
            let logged = tracing::subscriber::with_default(subscriber, || {
                [
                    tracing::enabled!(target: "rustls_platform_verifier::verification::others", tracing::Level::ERROR),
                    tracing::enabled!(target: "portico::kernel", tracing::Level::ERROR),
                ]
            });
            assert_eq!(logged, expected, "{named}");
        }
    }
}
