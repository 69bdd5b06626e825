//! What a signed-in customer does with their account.

use axum::Json as Answer;
use axum::extract::State;
use serde_json::{Value, json};

use crate::kernel::problem::Problem;
use crate::storefront::Storefront;
use crate::storefront::tokens::{SignedInCustomer, revoke_all_tokens, revoke_token};

/// `GET customers/me`
pub(super) async fn me(SignedInCustomer { customer, .. }: SignedInCustomer) -> Answer<Value> {
    Answer(Value::Object(customer.present()))
}

/// `POST customers/logout`: ends this sign-in.
pub(super) async fn logout(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Answer<Value>, Problem> {
    revoke_token(&mut *storefront.pool.acquire().await?, caller.token, storefront.clock.now()).await?;
    Ok(Answer(json!({ "status": "ok" })))
}

/// `POST customers/logout-all`: ends every sign-in of the customer, this one included.
pub(super) async fn logout_all(State(storefront): State<Storefront>, caller: SignedInCustomer) -> Result<Answer<Value>, Problem> {
    revoke_all_tokens(&mut *storefront.pool.acquire().await?, caller.customer.id, storefront.clock.now()).await?;
    Ok(Answer(json!({ "status": "ok" })))
}
