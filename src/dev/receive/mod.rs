//! `portico receive`: a subscriber for developers, which shows every delivery and whether its
//! signatures are right.

mod delivery;
mod server;
#[cfg(test)]
mod tests;
mod verify;

use std::io::{self, IsTerminal, Write};

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use tokio_util::sync::CancellationToken;

pub use self::delivery::Delivery;
pub use self::server::{Desk, ReceiveError, Receiver};
pub use self::verify::{NotASigningSecret, SERVICE_SIGNATURE, STANDARD_SIGNATURE, SigningSecret, Verdict, Verdicts};
use super::authority::Authority;

/// What stands after `portico receive`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Port on 127.0.0.1; 0 takes any free one
    #[arg(long, default_value_t = 8443)]
    pub port: u16,
    /// Signing secret to check signatures with; repeat it while a rotation overlaps
    #[arg(long = "secret", value_name = "whsec_…")]
    pub secrets: Vec<SigningSecret>,
    /// Status to answer with, unless a signature is wrong: then it is 401
    #[arg(long, value_name = "STATUS", default_value = "200", value_parser = final_status)]
    pub answer: StatusCode,
}

/// Receives, and prints to standard output, until `stop` is cancelled.
///
/// # Errors
/// [`ReceiveError`] when the port is not to be had or the server breaks off.
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

/// A closed standard output (`portico receive | head`) is no reason to stop receiving.
fn print(paragraph: &str) {
    let _ = writeln!(io::stdout(), "{paragraph}");
}

/// A status that ends an exchange; one below 200 would only announce another.
fn final_status(text: &str) -> Result<StatusCode, String> {
    let status = text.parse().ok().filter(|status: &StatusCode| *status >= StatusCode::OK && status.as_u16() < 600);
    status.ok_or_else(|| "a status is a number from 200 to 599".to_owned())
}
