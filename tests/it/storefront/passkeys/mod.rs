//! Passkeys: made, used to sign in and to step up, and removed (decisions, section 6, Passkeys).

mod operators;
mod proofs;
mod recovery;
mod registering;
mod signing_in;
mod stores;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::authenticator::Passkey;
use crate::support::customers::{EMAIL, token};
use crate::support::{Answer, World};

pub const DOMAIN: &str = "shop.example";

impl World {
    /// A world whose store takes passkeys.
    pub async fn with_passkeys(settings: &[(&str, &str)]) -> Self {
        let world = Self::with(settings).await;
        world.change_store(json!({ "passkey_domain": DOMAIN })).await.ok(200);
        world
    }

    /// What a passkey of this session is made with.
    async fn creation_options(&self, token: &str) -> Value {
        self.storefront("customers/passkeys/request").token(token).send().await.ok(200)
    }

    async fn add_passkey(&self, token: &str, credential: &Value, name: Option<&str>) -> Answer {
        let body = json!({ "credential": credential, "name": name });
        self.storefront("customers/passkeys").token(token).json(&body).send().await
    }

    /// A passkey of the customer of this session.
    pub async fn passkey(&self, token: &str) -> Passkey {
        let options = self.creation_options(token).await;
        let passkey = Passkey::new(&options);
        self.add_passkey(token, &passkey.created(&options), None).await.ok(201);
        passkey
    }

    /// A challenge to sign in or to step up with.
    async fn challenge(&self) -> Value {
        self.storefront("customers/login-with-passkey/request").send().await.ok(200)
    }

    async fn login_with(&self, credential: &Value) -> Answer {
        self.storefront("customers/login-with-passkey").json(&json!({ "credential": credential })).send().await
    }

    /// Answers a new challenge.
    pub async fn prove(&self, passkey: &Passkey) -> Answer {
        self.login_with(&passkey.answer(&self.challenge().await)).await
    }

    pub async fn passkeys_of(&self, token: &str) -> Vec<Value> {
        let listed = self.storefront_get("customers/passkeys").token(token).send().await.ok(200);
        listed["passkeys"].as_array().unwrap().clone()
    }

    /// Does something to a passkey of the customer of this session.
    async fn at_passkey(&self, method: Method, token: &str, path: &str, body: Value) -> Answer {
        let path = format!("/storefront/v1/customers/passkeys/{path}");
        self.request(method, &path).key(&self.store_key).token(token).json(&body).send().await
    }
}

/// A customer with a passkey: the token of the session, and the passkey.
async fn ada(world: &World) -> (String, Passkey) {
    let ada = token(&world.register(EMAIL).await);
    let passkey = world.passkey(&ada).await;
    (ada, passkey)
}

fn id(passkey: &Value) -> &str {
    passkey["id"].as_str().unwrap()
}
