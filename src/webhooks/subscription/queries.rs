//! The SQL beside that of every resource.

use crate::callers::Owner;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The number of webhooks of an owner.
pub(super) async fn count_of_owner(conn: &mut Connection, company: CompanyId, owner: &Owner) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select count(*) as "count!" from subscriptions where company_id = $1 and owner = $2 and deleted_at is null"#,
        company.uuid(),
        owner.as_str(),
    )
    .fetch_one(conn)
    .await
}
