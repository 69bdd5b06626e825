//! The SQL of accounts that are closed, and erased some time later.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CompanyId, CustomerId};
use crate::kernel::password_hashing::HashedPassword;
use crate::storefront::customers::Customer;

/// Marks an account as closed. Returns `None` if it is closed already.
pub async fn close_customer(conn: &mut Connection, id: CustomerId, now: DateTime<Utc>) -> Result<Option<Customer>, sqlx::Error> {
    sqlx::query_as!(
        Customer,
        r#"update customers set closed_at = $2, updated_at = $2 where id = $1 and closed_at is null
         returning id, name, email, email_verified_at, phone, phone_verified_at, title, photo_url, meta,
             password_hash as "password_hash: HashedPassword", created_at, updated_at, banned_at"#,
        id.uuid(),
        now,
    )
    .fetch_optional(conn)
    .await
}

/// Blanks the personal fields of an account that is closed. Returns its company, or `None` if it is open or erased already.
pub async fn erase_closed(conn: &mut Connection, id: CustomerId, now: DateTime<Utc>) -> Result<Option<CompanyId>, sqlx::Error> {
    let erased = sqlx::query_scalar!(
        r#"update customers set name = '', email = null, email_verified_at = null, phone = null, phone_verified_at = null, title = null,
             photo_url = null, meta = '{}', password_hash = null, banned_at = null, banned_reason = null, banned_until = null, external_id = null,
             languages = null,
             erased_at = $2, updated_at = $2
         where id = $1 and closed_at is not null and erased_at is null
         returning company_id as "company_id: CompanyId""#,
        id.uuid(),
        now,
    );
    erased.fetch_optional(conn).await
}

/// The accounts that were closed before an instant and are not erased, the oldest first.
pub async fn list_to_erase(conn: &mut Connection, closed_before: DateTime<Utc>, limit: i64) -> Result<Vec<CustomerId>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select id as "id: CustomerId" from customers where closed_at <= $1 and erased_at is null order by closed_at limit $2"#,
        closed_before,
        limit,
    )
    .fetch_all(conn)
    .await
}
