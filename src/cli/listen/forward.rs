//! Posts one event like a delivery, and summarizes the response in one line.

use std::time::{Duration, Instant};

use reqwest::{Client, Response};
use url::Url;

use crate::cli::listen::events::StreamEvent;
use crate::events::EventName;
use crate::kernel::clock::Clock;
use crate::kernel::error_chain::chain;
use crate::kernel::ids::EventId;
use crate::webhooks::{Forwarder, ReadEvent, SigningSecret};

/// The default timeout of a delivery.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The maximum number of characters of a response body that are shown.
const MAX_SHOWN_LEN: usize = 200;

pub(super) struct Forward {
    url: Url,
    client: Client,
    forwarder: Forwarder,
}

impl Forward {
    pub(super) fn new(url: Url, secret: SigningSecret) -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(TIMEOUT);
        // Each request has a connection of its own: none can meet the end of one that was kept, and be lost.
        let client = client.pool_max_idle_per_host(0).build()?;
        Ok(Self { url, client, forwarder: Forwarder::new(secret) })
    }

    /// Posts an event and returns a line with the result.
    pub(super) async fn pass_on(&self, id: EventId, name: &EventName, event: &StreamEvent) -> String {
        let (began, now) = (Instant::now(), Clock::System.now());
        let read = ReadEvent { id, name, sequence: event.sequence, body: event.data.as_bytes() };
        let headers = self.forwarder.headers(&read, now);
        let answer = self.client.post(self.url.clone()).headers(headers).body(event.data.clone()).send().await;
        let outcome = match answer {
            Ok(answer) => {
                let answered = format!("{} in {} ms", answer.status(), began.elapsed().as_millis());
                format!("{answered}  {}", beginning_of(answer).await)
            }
            Err(error) => chain(&error.without_url()),
        };
        let outcome = outcome.trim_end();
        format!("{}  {name}  {id}  {outcome}", now.format("%H:%M:%SZ"))
    }
}

/// The first characters of a response body in one line. Control characters are replaced, because a terminal might interpret them.
async fn beginning_of(mut answer: Response) -> String {
    let mut body = Vec::new();
    while body.len() < MAX_SHOWN_LEN
        && let Ok(Some(chunk)) = answer.chunk().await
    {
        body.extend_from_slice(&chunk);
    }
    String::from_utf8_lossy(&body)
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(MAX_SHOWN_LEN)
        .collect()
}
