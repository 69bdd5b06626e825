//! `portico receive`: a webhook receiver for developers, which prints every delivery and the result of verifying its signatures.

mod delivery;
mod server;
#[cfg(test)]
mod tests;
mod verify;

use std::io::{self, IsTerminal, Write};

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

pub use self::delivery::ReceivedDelivery;
pub use self::server::{Desk, ReceiveError, Receiver};
pub use self::verify::{InvalidSigningSecret, SERVICE_SIGNATURE, STANDARD_SIGNATURE, SigningSecret, Verdict, Verdicts};
use super::authority::Authority;

/// The command line arguments of `portico receive`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8443)]
    pub port: u16,
    /// Signing secret to verify signatures with; repeat it during a rotation
    #[arg(long = "secret", value_name = "whsec_…")]
    pub secrets: Vec<SigningSecret>,
    /// Status code of the response; a wrong signature always gets 401
    #[arg(long, value_name = "STATUS", default_value = "200", value_parser = final_status)]
    pub answer: StatusCode,
}

/// Receives deliveries, and prints them to standard output, until `stop` is cancelled.
///
/// # Errors
/// Returns a [`ReceiveError`] if the port is not available or the server fails.
pub async fn run(
    arguments: Arguments,
    authority: &Authority,
    now: impl Fn() -> DateTime<Utc> + Send + Sync + 'static,
    stop: CancellationToken,
) -> Result<(), ReceiveError> {
    let colours = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let desk = Desk {
        secrets: arguments.secrets,
        answer: arguments.answer,
        now: Box::new(now),
        show: Box::new(move |delivery| print(&delivery.render(colours))),
    };
    let receiver = Receiver::bind(arguments.port, authority, desk)?;
    print(&format!(
        "Receiving deliveries at https://localhost:{}/ with a certificate of {}",
        receiver.address().port(),
        authority.certificate_path().display()
    ));
    receiver.run(stop).await
}

/// A closed standard output (`portico receive | head`) does not stop the receiver.
fn print(paragraph: &str) {
    let _ = writeln!(io::stdout(), "{paragraph}");
}

/// Accepts final status codes only; a status code below 200 would announce another response.
fn final_status(text: &str) -> Result<StatusCode, String> {
    let status = text.parse().ok().filter(|status: &StatusCode| *status >= StatusCode::OK && status.as_u16() < 600);
    status.ok_or_else(|| "the status must be a number from 200 to 599".to_owned())
}
