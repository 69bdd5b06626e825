//! The send-message hook: a company's own endpoint gets a message, as a POST that is signed as Standard Webhooks says, and sends it by
//! whatever service it uses. A status of 2xx means that it has taken the message.
//!
//! An endpoint that does not answer in time, or with 5xx, is asked once more with the same `webhook-id`, by which it tells the two apart. So
//! silence is no receipt here, as it is of other providers.

mod secret;

use chrono::{DateTime, Utc};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use url::Url;

use crate::kernel::clock::timestamp;
use crate::kernel::crypto::standard_signature;
use crate::kernel::ids::{StoreId, uuid_v7};
use crate::providers::outgoing;

pub use secret::{HookSecret, InvalidHookSecret};

/// How often an endpoint is asked for one message.
const TRIES: usize = 2;

/// What a message is for. Only a hook is told.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// What its code is for, what it tells, or `test`.
    pub purpose: &'static str,
    /// The store; a test has none.
    pub store: Option<StoreId>,
    /// The tag of the language that it is written in.
    pub language: &'a str,
}

/// The endpoint of a company.
#[derive(Debug)]
pub struct Hook {
    client: Client,
    url: Url,
    secret: HookSecret,
}

/// The endpoint did not take a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HookFailure {
    /// Its answer has another status than 2xx.
    #[error("status {}", .0.as_u16())]
    Status(StatusCode),
    /// There is no connection, or no answer in time.
    #[error("no answer")]
    NoAnswer,
}

impl Hook {
    /// An endpoint that is asked through this client, whose timeout is that of one try.
    pub fn new(client: Client, url: Url, secret: HookSecret) -> Self {
        Self { client, url, secret }
    }

    /// Hands over a message: `data` of the body, beside its type and the time.
    pub(super) async fn hand_over(&self, data: Value, at: DateTime<Utc>) -> Result<(), HookFailure> {
        let body = json!({ "type": "message.send", "timestamp": timestamp(at), "data": data }).to_string();
        let id = format!("message_{}", uuid_v7(at).simple());
        let mut asked = self.ask(&id, &body, at).await;
        for _ in 1..TRIES {
            match asked {
                Err(HookFailure::NoAnswer) => {}
                Err(HookFailure::Status(status)) if status.is_server_error() => {}
                _ => break,
            }
            asked = self.ask(&id, &body, at).await;
        }
        asked
    }

    async fn ask(&self, id: &str, body: &str, at: DateTime<Utc>) -> Result<(), HookFailure> {
        let signature = standard_signature(&self.secret.decoded(), id, at, body.as_bytes());
        let request = self.client.post(self.url.clone()).header(CONTENT_TYPE, "application/json").body(body.to_owned());
        let request = request.header("webhook-id", id).header("webhook-timestamp", at.timestamp()).header("webhook-signature", signature);
        // The body of the answer is not read: the status says all.
        match outgoing::send(request, "ask a send-message hook").await {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(HookFailure::Status(answer.status())),
            Err(_) => Err(HookFailure::NoAnswer),
        }
    }
}
