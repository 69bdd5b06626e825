//! A code in the place of the previous one of the same purpose and identity.

use chrono::{DateTime, Utc};
use secrecy::SecretString;

use crate::kernel::database::Connection;
use crate::kernel::ids::{CodeId, TestIdentityId};
use crate::storefront::codes::issue::IssueRequest;
use crate::storefront::codes::issue_error::IssueError;
use crate::storefront::codes::{digest, queries};
use crate::storefront::customers;
use crate::storefront::new_codes::{self, NewCode, Placed};
use crate::storefront::sending::Channel;
use crate::storefront::state::Storefront;

/// The code that is asked for.
pub(super) fn new_code(
    storefront: &Storefront,
    request: &IssueRequest,
    (digits, test_identity): (&SecretString, Option<TestIdentityId>),
    (channel, sent_to): (Channel, &str),
    now: DateTime<Utc>,
) -> NewCode {
    let id = CodeId::new(now).uuid();
    NewCode {
        id,
        store: request.store.id,
        purpose: request.purpose,
        identity: request.identity.key(),
        sent_to: sent_to.to_owned(),
        channel: channel.as_str(),
        requested_by: request.requested_by,
        customer: request.customer,
        digest: digest(&storefront.application_key, id, digits),
        asked_by: request.asker().digest().to_vec(),
        test_identity,
        issued_at: now,
    }
}

/// Stores a code in the place of the previous one.
pub(super) async fn replace(tx: &mut Connection, code: &NewCode) -> Result<Placed, IssueError> {
    if let Some(customer) = code.requested_by {
        // Two parallel requests of one customer touch the same codes. The lock serializes them, also with the closure of the
        // account.
        customers::lock_customer(tx, customer).await?.ok_or(IssueError::Closed)?;
    }
    let placed = new_codes::store(tx, &[code]).await?.remove(&code.id);
    if let Some(customer) = code.requested_by {
        // A repeated request, too, makes the code the one that was asked for last.
        queries::supersede_others(tx, code.store, code.purpose, &code.identity, customer).await?;
    }
    Ok(placed.ok_or(sqlx::Error::RowNotFound)?)
}

/// The channel that the existing code was sent by.
pub(super) async fn existing_channel(storefront: &Storefront, request: &IssueRequest, otherwise: Channel) -> Result<Channel, IssueError> {
    let (store, key) = (request.store.id, request.identity.key());
    let mut conn = storefront.code_pool.acquire().await?;
    let channel = queries::find_channel(&mut conn, store, request.purpose, &key, request.requested_by).await?;
    Ok(match channel.as_deref() {
        Some("sms") => Channel::Sms,
        Some("email") => Channel::Email,
        _ => otherwise,
    })
}
