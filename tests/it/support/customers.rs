//! Steps that many stories share.

use chrono::TimeDelta;
use portico::contact::Identity;
use portico::kernel::crypto::sha256;
use serde_json::{Value, json};

use crate::support::{Answer, World};

/// A valid US mobile number that no other customer in this file has.
pub const PHONE: &str = "+12015550123";
pub const EMAIL: &str = "ada@example.com";
pub const PASSWORD: &str = "correct horse battery";

/// A password that moves in from another service, as Django hashes it.
pub const MOVED_PASSWORD: &str = "correct horse";
pub const MOVED_HASH: &str = "pbkdf2_sha256$1000$NaCl$y6UK+57OG2yJnZIbS3E5E599IliwIIbBdkxEFXXGYlM=";

/// A world with a customer who registered with [`PHONE`], long enough ago for another code to be sent.
pub async fn registered() -> World {
    let world = World::new().await;
    world.register(PHONE).await;
    world.pass(TimeDelta::minutes(2));
    world
}

/// The address of the phone of whoever has this identity, however it is spelled: codes are asked for and typed there.
pub fn home(identity: &str) -> String {
    let [a, b, c, ..] = sha256(Identity::parse(identity).map_or_else(|_| identity.to_owned(), |identity| identity.key()));
    format!("8.{a}.{b}.{c}")
}

impl World {
    /// Requests a creation code and reads it.
    pub async fn creation_code(&self, identity: &str) -> String {
        ask_to_register(self, identity).await.ok(200);
        self.last_code()
    }

    /// Registers a customer with a proven `identity`; returns the login response.
    pub async fn register(&self, identity: &str) -> Value {
        self.register_with(identity, json!({})).await
    }

    /// Registers with additional fields in the request.
    pub async fn register_with(&self, identity: &str, more: Value) -> Value {
        let code = self.creation_code(identity).await;
        let mut body = json!({ "name": "Ada", "identity": identity, "code": code });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.storefront("customers").from(&home(identity)).json(&body).send().await.ok(201)
    }

    /// Registers with a code that may be wrong.
    pub async fn open_account(&self, identity: &str, code: &str) -> Answer {
        let body = json!({ "name": "Ada", "identity": identity, "code": code });
        self.storefront("customers").from(&home(identity)).json(&body).send().await
    }

    /// Makes every session fresh, as its customer does with a code or the password. Sessions are cached for one second, which passes.
    pub async fn freshen(&self) {
        sqlx::query("update customer_tokens set proven_at = $1").bind(self.clock.now()).execute(&self.pool).await.unwrap();
        self.pass(TimeDelta::seconds(1));
    }

    /// Requests a sign-in code and reads it.
    pub async fn sign_in_code(&self, identity: &str) -> String {
        let member = if identity.contains('@') { "identity" } else { "phone" };
        self.storefront("customers/login-with-sms").from(&home(identity)).json(&json!({ member: identity })).send().await.ok(200);
        self.last_code()
    }

    /// Tries a sign-in code once, where it was asked for.
    pub async fn verify(&self, identity: &str, code: impl Into<Value>) -> Answer {
        let body = json!({ "identity": identity, "code": code.into() });
        self.storefront("customers/verify-code").from(&home(identity)).json(&body).send().await
    }

    /// Tries a sign-in code once, from an address that nobody else has.
    pub async fn guess(&self, identity: &str, code: impl Into<Value>) -> Answer {
        let body = json!({ "identity": identity, "code": code.into() });
        self.storefront("customers/verify-code").json(&body).send().await
    }
}

/// Requests a creation code: by mail if the identity has an `@`, by text otherwise.
pub async fn ask_to_register(world: &World, identity: &str) -> Answer {
    let mode = if identity.contains('@') { "email" } else { "sms" };
    let body = json!({ "mode": mode, "identity": identity });
    world.storefront("customers/request-creation-code").from(&home(identity)).json(&body).send().await
}

/// Requests a sign-in code.
pub async fn ask_to_sign_in(world: &World, identity: &str) -> Answer {
    world.storefront("customers/login-with-sms").json(&json!({ "identity": identity })).send().await
}

/// Signs in with a password.
pub async fn login(world: &World, identity: &str, password: &str) -> Answer {
    let body = json!({ "identity": identity, "password": password });
    world.storefront("customers/login").json(&body).send().await
}

/// Sets a password with a sign-in code.
pub async fn reset_password(world: &World, identity: &str, code: impl Into<Value>, password: &str) -> Answer {
    let body = json!({ "identity": identity, "code": code.into(), "password": password });
    world.storefront("customers/reset-password").from(&home(identity)).json(&body).send().await
}

/// The customer who is signed in with this token.
pub async fn me(world: &World, token: &str) -> Value {
    world.storefront_get("customers/me").token(token).send().await.ok(200)
}

/// The token of a login response.
pub fn token(login: &Value) -> String {
    login["token"].as_str().unwrap().to_owned()
}

/// Six digits that differ from `code`.
pub fn wrong(code: &str) -> String {
    let digits: u32 = code.parse().unwrap();
    format!("{:06}", (digits + 1) % 1_000_000)
}
