//! `portico listen`: for those who cannot host an endpoint. Reads along at a running service and passes every event on to an address of this
//! machine, signed like a delivery.
//!
//! A connection that is lost is opened again and goes on behind the last event that was passed on, so nothing is left out. What the
//! receiving side answers is printed and not acted upon: nothing is sent twice.

mod events;
mod forward;

use std::time::Duration;

use reqwest::{Client, Response, StatusCode, header};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use url::Url;

use crate::cli::listen::events::EventReader;
use crate::cli::listen::forward::Forward;
use crate::cli::{Failure, output, say};
use crate::kernel::ids::EventId;
use crate::kernel::telemetry::chain;
use crate::webhooks::SigningSecret;

/// Before a lost connection is opened again; doubled up to the second each time that nothing came.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream says every 15 seconds that it is there; one that does not is gone.
const SILENCE: Duration = Duration::from_secs(45);

/// What stands after `portico listen`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Where events are posted to, such as http://localhost:3000/hook
    #[arg(long, value_name = "URL")]
    forward: Url,
    /// The service whose events they are
    #[arg(long, value_name = "URL", env = "URL", default_value = "http://127.0.0.1:8080")]
    from: Url,
    /// An API key with the scope `read`
    #[arg(long, value_name = "KEY", env = "API_KEY", hide_env_values = true)]
    api_key: SecretString,
    /// Names (order.created) and groups (order.*), separated by commas; all events without it
    #[arg(long, value_name = "EVENTS", default_value = "")]
    events: String,
    /// Begin behind this event instead of with what happens from now on
    #[arg(long, value_name = "event_…")]
    after: Option<EventId>,
    /// Sign with this secret instead of a new one
    #[arg(long, value_name = "whsec_…")]
    secret: Option<SigningSecret>,
}

/// Why a connection ended.
#[derive(Debug, thiserror::Error)]
enum Broken {
    /// Trying again helps.
    #[error("the connection was lost")]
    Lost(#[source] reqwest::Error),
    /// The service closed it, as it does now and then, or has no room.
    #[error("{0}")]
    Over(String),
    /// Trying again does not help.
    #[error("{0}")]
    Refused(String),
}

/// Passes events on until `stop` is cancelled, or the service refuses.
pub(super) async fn run(arguments: Arguments, stop: CancellationToken) -> Result<(), Failure> {
    let secret = arguments.secret.clone().unwrap_or_else(SigningSecret::generate);
    let mut listener = Listener {
        client: Client::builder().no_proxy().connect_timeout(CONNECT_TIMEOUT).read_timeout(SILENCE).build()?,
        forward: Forward::new(arguments.forward.clone(), secret.clone())?,
        after: arguments.after,
        arguments,
    };
    say(&format!("Forwarding to {}, signed with {}", listener.arguments.forward, secret.reveal()));
    tokio::select! {
        () = stop.cancelled() => Ok(()),
        refused = listener.listen() => Err(refused.into()),
    }
}

struct Listener {
    arguments: Arguments,
    client: Client,
    forward: Forward,
    /// The last event that was passed on.
    after: Option<EventId>,
}

impl Listener {
    async fn listen(&mut self) -> String {
        let mut pause = PAUSES.0;
        loop {
            let before = self.after;
            match self.read().await {
                Broken::Refused(reason) => return reason,
                broken => output::complain(&format!("portico listen: {}; coming back", chain(&broken))),
            }
            pause = if self.after == before { (pause * 2).min(PAUSES.1) } else { PAUSES.0 };
            sleep(pause).await;
        }
    }

    /// Passes on what one connection brings, until it ends.
    async fn read(&mut self) -> Broken {
        let mut response = match self.connect().await {
            Ok(response) => response,
            Err(broken) => return broken,
        };
        let mut reader = EventReader::default();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) => reader.push(&chunk),
                Ok(None) => return Broken::Over("the service closed the stream".to_owned()),
                Err(error) => return Broken::Lost(error),
            }
            while let Some(event) = reader.next_event() {
                if let Some(event_id) = event.id {
                    if let Some(name) = &event.name {
                        say(&self.forward.pass_on(event_id, name, &event).await);
                    }
                    self.after = Some(event_id);
                }
            }
        }
    }

    async fn connect(&self) -> Result<Response, Broken> {
        let mut address = self.arguments.from.clone();
        address.set_path(&format!("{}/developers/int/v1/events/stream", address.path().trim_end_matches('/')));
        if !self.arguments.events.is_empty() {
            address.query_pairs_mut().append_pair("events", &self.arguments.events);
        }
        let mut request = self.client.get(address).bearer_auth(self.arguments.api_key.expose_secret());
        if let Some(after) = self.after {
            request = request.header("last-event-id", after.to_string());
        }
        let response = request.header(header::ACCEPT, "text/event-stream").send().await.map_err(Broken::Lost)?;
        match response.status() {
            StatusCode::OK => Ok(response),
            status => Err(refusal(status, response).await),
        }
    }
}

async fn refusal(status: StatusCode, response: Response) -> Broken {
    let problem: serde_json::Value = response.json().await.unwrap_or_default();
    let reason = format!("the service answered {status}: {}", problem["detail"].as_str().unwrap_or("without a reason"));
    match status {
        StatusCode::TOO_MANY_REQUESTS => Broken::Over(reason),
        status if status.is_server_error() => Broken::Over(reason),
        _ => Broken::Refused(reason),
    }
}
