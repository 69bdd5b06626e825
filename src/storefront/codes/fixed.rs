//! Issuing the fixed code of a test identity: nothing is sent, and the guess is judged like any other.

use chrono::{DateTime, Utc};

use crate::contact::Identity;
use crate::storefront::codes::issue::IssueRequest;
use crate::storefront::codes::issue_error::IssueError;
use crate::storefront::codes::queries;
use crate::storefront::codes::replacing::{new_code, replace};
use crate::storefront::customers;
use crate::storefront::sending::Channel;
use crate::storefront::state::Storefront;
use crate::storefront::test_identities::find_test_identity;

/// Returns `None` if the code has to be sent: the identity is not for tests, or a customer has it. The fixed code never opens the account
/// of a customer, and no customer's account gets a test identity.
pub(super) async fn issue(storefront: &Storefront, request: &IssueRequest, now: DateTime<Utc>) -> Result<Option<Channel>, IssueError> {
    let key = request.identity.key();
    let mut tx = storefront.pool.begin().await?;
    let Some(tested) = find_test_identity(&mut tx, request.store.id, &key).await? else { return Ok(None) };
    if customers::is_of_a_customer(&mut tx, request.store.id, &key, true).await? {
        return Ok(None);
    }
    if let Some(caller) = request.requested_by {
        if !customers::is_test(&mut tx, caller).await? {
            return Err(IssueError::ForTests { is_phone: matches!(request.identity, Identity::Phone(_)) });
        }
        // Before its codes, as everywhere.
        customers::lock_customer(&mut tx, caller).await?.ok_or(IssueError::Closed)?;
    }
    // A customer whose account merely lists the number.
    if let Some(customer) = request.customer
        && !customers::is_test(&mut tx, customer).await?
    {
        return Ok(None);
    }
    if tested.expires_at <= now {
        return Err(IssueError::TestExpired);
    }
    // A test does not wait for a minute between two codes that are the same.
    queries::forget_code(&mut tx, request.store.id, request.purpose, &key, request.requested_by).await?;
    let channel = match request.identity {
        Identity::Phone(_) => Channel::Sms,
        Identity::Email(_) => Channel::Email,
    };
    replace(&mut tx, &new_code(storefront, request, (&tested.code, Some(tested.id)), (channel, &key), now)).await?;
    tx.commit().await?;
    tracing::info!(store = %request.store.id, test_identity = %tested.id, "the code of a test identity was asked for; nothing is sent");
    Ok(Some(channel))
}
