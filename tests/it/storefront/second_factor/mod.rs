//! The second factor of a customer: decisions, section 3, Second factor.

mod guesses;
mod own;
mod recovery;
mod repeats;
mod sign_in;

use serde_json::json;

use crate::support::World;
use crate::support::authenticator_app::{Authenticator, enrol, offer};
use crate::support::customers::{EMAIL, PASSWORD, token};

/// A customer with a password and a second factor, and her token.
async fn ada(world: &World) -> (String, Authenticator) {
    offer(world, "optional").await;
    let ada = token(&world.register_with(EMAIL, json!({ "password": PASSWORD })).await);
    let app = enrol(world, &ada).await;
    (ada, app)
}
