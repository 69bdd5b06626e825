//! A socket server: it knows the shared key and asks the service about tokens and channels.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use portico::kernel::crypto::hmac_sha256;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::request::Request;

/// The key that it shares with the service.
pub const KEY: &str = "mkuM1tpUW9vL5K9FhVGnJ6eFVTQhV8tGnVqKpXGnVgE=";

impl World {
    /// A world with socket authentication.
    pub async fn with_socket(changes: &[(&str, &str)]) -> Self {
        Self::with(&[&[("socket.key", KEY)], changes].concat()).await
    }

    /// The socket token of a signed-in customer.
    pub async fn socket_token(&self, customer_token: &str) -> String {
        let answer = self.storefront("customers/socket-token").token(customer_token).send().await.ok(200);
        answer["token"].as_str().unwrap().to_owned()
    }

    /// Asks whether the holder of a token may listen to a channel.
    pub async fn ask(&self, token: &str, channel: &str) -> Value {
        self.question(&json!({ "token": token, "channel": channel })).send().await.ok(200)
    }

    /// A correctly signed question.
    pub fn question(&self, body: &Value) -> Request {
        let (timestamp, body) = (self.clock.now().timestamp().to_string(), body.to_string());
        self.signed_question(&timestamp, &sign(KEY, &timestamp, &body), body)
    }

    pub fn signed_question(&self, timestamp: &str, signature: &str, body: String) -> Request {
        let request = self.request(Method::POST, "/socket/authorize").body(body).header("content-type", "application/json");
        request.header("x-socket-timestamp", timestamp).header("x-socket-signature", signature)
    }
}

/// The signature of a question.
pub fn sign(key: &str, timestamp: &str, body: &str) -> String {
    hex::encode(hmac_sha256(key.as_bytes(), &[timestamp.as_bytes(), b".", body.as_bytes()]))
}

/// Builds a token by hand.
pub fn forge(key: &str, header: &Value, claims: &Value) -> String {
    let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let signature = URL_SAFE_NO_PAD.encode(hmac_sha256(key.as_bytes(), &[header.as_bytes(), b".", claims.as_bytes()]));
    format!("{header}.{claims}.{signature}")
}

/// The header and the claims of a token, after verifying its signature.
pub fn open(token: &str) -> (Value, Value) {
    let [header, claims, signature] = token.split('.').collect::<Vec<_>>().try_into().unwrap();
    let right = hmac_sha256(KEY.as_bytes(), &[header.as_bytes(), b".", claims.as_bytes()]);
    assert!(right.is(URL_SAFE_NO_PAD.decode(signature).unwrap()));
    let [header, claims] = [header, claims].map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap());
    (header, claims)
}
