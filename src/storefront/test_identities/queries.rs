//! The SQL of test identities.

use crate::kernel::database::Connection;
use crate::kernel::ids::{StoreId, TestIdentityId};
use crate::storefront::test_identities::TestIdentity;

/// The test identity with this key, expired or not.
pub async fn find_test_identity(conn: &mut Connection, store: StoreId, identity: &str) -> Result<Option<TestIdentity>, sqlx::Error> {
    let found = sqlx::query!(
        r#"select id as "id: TestIdentityId", code, expires_at from test_identities
           where store_id = $1 and identity = $2 and deleted_at is null"#,
        store.uuid(),
        identity,
    );
    let found = found.fetch_optional(conn).await?;
    Ok(found.map(|row| TestIdentity { id: row.id, code: row.code.into(), expires_at: row.expires_at }))
}
