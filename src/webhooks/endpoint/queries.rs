//! The SQL of endpoints.

use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::ids::SubscriptionId;
use crate::webhooks::endpoint::{AttemptTimeout, SignatureFormat, StoredSubscription};
use crate::webhooks::targets::EndpointUrl;

/// Reads what sending needs to know about these subscriptions.
pub async fn find_endpoints(conn: &mut Connection, subscriptions: &[Uuid]) -> Result<Vec<StoredSubscription>, sqlx::Error> {
    sqlx::query_as!(
        StoredSubscription,
        r#"select subscription_id as "subscription!: SubscriptionId", version as "version!", url as "url!: EndpointUrl",
                  sealed_headers, signature_format as "signature_format!: SignatureFormat",
                  timeout as "timeout!: AttemptTimeout", sealed_secret as "sealed_secret!", sealed_previous_secret, previous_secret_until
           from subscription_endpoints where subscription_id = any($1)"#,
        subscriptions,
    )
    .fetch_all(conn)
    .await
}
