//! Signing in with identity providers: interface 1, `login-with-idp-*`; decisions, section 6.

mod accounts;
mod documented;
mod grants;
mod keys;
mod listed;
mod names;
mod of_companies;
mod own_links;
mod proofs;
mod repeats;
mod tokens;

use serde_json::{Value, json};

use crate::support::identity_provider::{APP, another, rsa};
use crate::support::{Answer, World};

async fn login(world: &World, provider: &str, body: Value) -> Answer {
    world.storefront(&format!("customers/login-with-{provider}")).json(&body).send().await
}

/// Signs in with a new token of A that has these claims.
async fn login_a(world: &World, claims: &Value) -> Answer {
    login(world, "idp-a", json!({ "identityToken": rsa().sign(&another(claims)) })).await
}

/// Signs in with a new token of B that has these claims.
async fn login_b(world: &World, claims: &Value) -> Answer {
    login(world, "idp-b", json!({ "idToken": rsa().sign(&another(claims)), "clientId": APP })).await
}

/// The id of the customer who was signed in.
#[track_caller]
fn customer(answer: Answer) -> Value {
    answer.ok(200)["customer"]["id"].clone()
}
