//! An authenticator app, and a customer who sets one up.

use chrono::TimeDelta;
use reqwest::Method;
use serde_json::{Value, json};
use totp_rs::{Builder, Secret};

use crate::support::customers::wrong;
use crate::support::{Answer, World};

/// The code that an app with this secret, in base32, shows now.
pub fn app_code(world: &World, secret: &str) -> String {
    code_at(secret, world.clock.now().timestamp())
}

fn code_at(secret: &str, seconds: i64) -> String {
    let time = u64::try_from(seconds).unwrap();
    let secret = Secret::try_from_base32(secret).unwrap();
    Builder::new().with_secret(secret).with_account_name("a").build_noncompliant().generate(time).to_string()
}

/// The second factor of a customer.
pub struct Authenticator {
    pub secret: String,
    pub recovery_codes: Vec<String>,
}

impl Authenticator {
    /// The code of this moment.
    pub fn code(&self, world: &World) -> String {
        app_code(world, &self.secret)
    }

    /// The next code that was not used, half a minute later.
    pub fn next_code(&self, world: &World) -> String {
        world.pass(TimeDelta::seconds(30));
        self.code(world)
    }

    /// Six digits that are no code of these minutes.
    pub fn wrong_code(&self, world: &World) -> String {
        let now = world.clock.now().timestamp();
        let near: Vec<_> = (-2..=2).map(|steps| code_at(&self.secret, now + 30 * steps)).collect();
        let mut code = wrong(&near[2]);
        while near.contains(&code) {
            code = wrong(&code);
        }
        code
    }
}

/// Has the store offer a second factor, or none.
pub async fn offer(world: &World, word: &str) {
    let path = format!("/storefront/int/v1/stores/{}", world.store);
    world.api(Method::PUT, &path).json(&json!({ "second_factor": word })).send().await.ok(200);
}

/// Sets up a second factor in a fresh session.
pub async fn enrol(world: &World, token: &str) -> Authenticator {
    let offered = world.storefront("customers/totp/request").token(token).send().await.ok(200);
    let secret = offered["secret"].as_str().unwrap().to_owned();
    let body = json!({ "code": app_code(world, &secret) });
    let enabled = world.storefront("customers/totp").token(token).json(&body).send().await.ok(200);
    let recovery_codes = enabled["recovery_codes"].as_array().unwrap().iter().map(|code| code.as_str().unwrap().to_owned()).collect();
    Authenticator { secret, recovery_codes }
}

/// The handle that a first factor was answered with.
pub fn handle(answer: Answer) -> String {
    answer.refused(403, "second_factor_required")["second_factor"].as_str().unwrap().to_owned()
}

/// Finishes a sign-in with a code of the app.
pub async fn finish(world: &World, handle: &str, code: &str) -> Answer {
    finish_with(world, json!({ "second_factor": handle, "code": code })).await
}

pub async fn finish_with(world: &World, body: Value) -> Answer {
    world.storefront("customers/login-with-totp").json(&body).send().await
}
