//! Servers of a company that the console has pages of: hooks and message providers.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::World;
use crate::support::fleet::id;
use crate::support::receiver::Receiver;

/// The secret of a send-message hook.
pub const KEY: &[u8] = b"0123456789abcdef01234567";

impl World {
    /// A hook of the store: its endpoint, its page and its secret.
    pub async fn hook_with_a_page(&self) -> (Receiver, String, String) {
        let receiver = self.endpoint("hook.test").await;
        let body = json!({ "store": self.store, "url": receiver.url() });
        let made = self.api(Method::POST, "/storefront/int/v1/registration-hooks").json(&body).send().await.ok(201);
        let hook = &made["registration_hook"];
        (receiver, format!("/console/records/storefront/registration-hooks/{}", id(hook)), hook["secret"].as_str().unwrap().to_owned())
    }

    /// The page of a new message provider.
    pub async fn provider_with_a_page(&self, body: Value) -> String {
        let made = self.api(Method::POST, "/storefront/int/v1/message-providers").json(&body).send().await.ok(201);
        format!("/console/records/storefront/message-providers/{}", id(&made["message_provider"]))
    }

    /// A send-message hook: its endpoint and its page.
    pub async fn message_hook_with_a_page(&self) -> (Receiver, String) {
        let receiver = self.endpoint("sms.test").await;
        let secret = portico::kernel::crypto::standard_secret(KEY);
        let body = json!({ "channel": "sms", "kind": "webhook", "settings": { "url": receiver.url() }, "secret": secret });
        (receiver, self.provider_with_a_page(body).await)
    }
}
