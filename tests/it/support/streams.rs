//! Event streams, as clients read them.

use std::time::Duration;

use axum::body::Bytes;
use reqwest::StatusCode;

use crate::support::World;
use crate::support::waiting::{in_time, until};

/// A stream as a client reads it.
pub struct Stream {
    pub response: reqwest::Response,
    pub text: String,
}

/// An event of the stream, by field.
#[derive(Debug, Default, PartialEq)]
pub struct StreamedEvent {
    pub id: String,
    pub event: String,
    pub data: String,
}

impl World {
    pub async fn stream_of(&self, key: &str, query: &str, last_event_id: Option<&str>) -> reqwest::Response {
        self.fan_out_by_itself();
        let address = format!("http://{}/developers/int/v1/events/stream{query}", self.address);
        let mut request = reqwest::Client::builder().no_proxy().build().unwrap().get(address).bearer_auth(key);
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        request.send().await.unwrap()
    }

    /// Fans out what is published from now on, as a worker does, but delivers nothing.
    pub fn fan_out_by_itself(&self) {
        self.fans_out.call_once(|| {
            let (webhooks, lifecycle) = (self.state.webhooks.clone(), self.lifecycle.clone());
            self.lifecycle.spawn(async move {
                let fan_out = async || webhooks.fan_out().await.map(drop);
                lifecycle.every(Duration::from_millis(10), "the story does not fan out", fan_out).await;
            });
        });
    }

    /// Fans out what has been published.
    pub async fn everything_is_fanned_out(&self) {
        let waiting = "select count(*) from outbox";
        self.fan_out_by_itself();
        until("nothing waits in the outbox", async || self.count(waiting).await == 0).await;
    }

    pub async fn stream(&self, query: &str, last_event_id: Option<&str>) -> Stream {
        let response = self.stream_of(&self.api_key, query, last_event_id).await;
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Stream { response, text: String::new() }
    }
}

impl Stream {
    /// The next event with data; `None` at the end of the stream.
    pub async fn next(&mut self) -> Option<StreamedEvent> {
        loop {
            while let Some((block, rest)) = self.text.split_once("\n\n").map(|(block, rest)| (block.to_owned(), rest.to_owned())) {
                self.text = rest;
                let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
                let event = StreamedEvent { id: field("id: "), event: field("event: "), data: field("data: ") };
                if !event.data.is_empty() {
                    return Some(event);
                }
            }
            let chunk = next_chunk(&mut self.response).await?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    pub async fn names(&mut self, count: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..count {
            names.push(self.next().await.unwrap().event);
        }
        names
    }
}

/// The next bytes of a response; `None` at its end.
pub async fn next_chunk(response: &mut reqwest::Response) -> Option<Bytes> {
    in_time("the stream sends data", response.chunk()).await.unwrap()
}
