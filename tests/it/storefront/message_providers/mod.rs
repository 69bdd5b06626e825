//! What companies' texts and mails are sent by, in place of the providers of the deployment.

mod mails;
mod mistakes;
mod receipts;
mod texts;
mod unusable;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use portico::kernel::crypto::standard_signature;
use reqwest::Method;
use serde_json::{Value, json};
use wiremock::MockServer;

use crate::support::receiver::{Received, Receiver};
use crate::support::sms::twilio;
use crate::support::{Answer, World};

const PATH: &str = "/storefront/int/v1/message-providers";
/// How a change is refused that would send the secret to another address.
const SEND_AGAIN: &str = "Send the value again: the stored one is for another address, or cannot be decrypted.";
/// The key of the hooks of these stories.
const KEY: &[u8] = b"0123456789abcdef01234567";

impl World {
    async fn make_message_provider(&self, body: Value) -> Answer {
        self.api(Method::POST, PATH).json(&body).send().await
    }

    async fn change_message_provider(&self, made: &Value, body: Value) -> Answer {
        let path = format!("{PATH}/{}", made["message_provider"]["id"].as_str().unwrap());
        self.api(Method::PUT, &path).json(&body).send().await
    }

    async fn test_message_provider(&self, made: &Value, to: &str) -> Answer {
        let path = format!("{PATH}/{}/test", made["message_provider"]["id"].as_str().unwrap());
        self.api(Method::POST, &path).json(&json!({ "to": to })).send().await
    }

    /// An endpoint of the company on loopback.
    async fn hook(&self, name: &str) -> Receiver {
        self.resolver.insert(name, &["127.0.0.1".parse().unwrap()]);
        Receiver::start(name, Some(name)).await
    }
}

fn hook_secret() -> String {
    format!("whsec_{}", STANDARD.encode(KEY))
}

fn by_twilio() -> Value {
    let account = json!({ "account_sid": twilio::ACCOUNT, "from": "+15005550006" });
    json!({ "channel": "sms", "kind": "twilio", "settings": account, "secret": twilio::TOKEN })
}

fn by_hook(hook: &Receiver) -> Value {
    json!({ "channel": "sms", "kind": "webhook", "settings": { "url": hook.url() }, "secret": hook_secret() })
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The `data` of a message, whose signature is right.
#[track_caller]
fn data(world: &World, received: &Received) -> Value {
    let signature = standard_signature(KEY, received.header("webhook-id"), world.clock.now(), &received.body);
    assert_eq!(received.header("webhook-signature"), signature);
    assert_eq!(received.header("webhook-timestamp"), world.clock.now().timestamp().to_string());
    let body: Value = serde_json::from_slice(&received.body).unwrap();
    assert_eq!(body["type"], "message.send");
    body["data"].clone()
}

async fn asked(provider: &MockServer) -> usize {
    provider.received_requests().await.unwrap().len()
}

fn settings<'a>(of: &'a [(&'static str, String)]) -> Vec<(&'a str, &'a str)> {
    of.iter().map(|(key, value)| (*key, value.as_str())).collect()
}
