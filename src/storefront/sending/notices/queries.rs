//! The SQL of the log of notices.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;
use crate::kernel::ids::{CustomerId, NoticeId};
use crate::storefront::messages::Notice;
use crate::storefront::sending::Channel;
use crate::storefront::sending::notices::Status;

pub(super) async fn insert_notice(
    conn: &mut Connection,
    customer: CustomerId,
    about: Notice,
    (channel, status): (Channel, Status),
    at: DateTime<Utc>,
) -> Result<(), sqlx::Error> {
    sqlx::query!(
        "insert into notices (id, store_id, customer_id, about, channel, status, created_at)
         select $1, store_id, id, $3, $4, $5, $6 from customer_identities where id = $2",
        NoticeId::new(at).uuid(),
        customer.uuid(),
        about.as_str(),
        channel.as_str(),
        status.as_str(),
        at,
    )
    .execute(conn)
    .await?;
    Ok(())
}

/// A message that told a customer what happened.
#[derive(Debug)]
pub struct LoggedNotice {
    pub about: String,
    pub channel: String,
    pub status: String,
    pub created_at: DateTime<Utc>,
}

/// Returns the latest notices to a customer before an instant.
pub async fn list_notices(
    conn: &mut Connection,
    customer: CustomerId,
    before: DateTime<Utc>,
    limit: i64,
) -> Result<Vec<LoggedNotice>, sqlx::Error> {
    sqlx::query_as!(
        LoggedNotice,
        "select about, channel, status, created_at from notices
         where customer_id = $1 and created_at < $2 order by created_at desc, id desc limit $3",
        customer.uuid(),
        before,
        limit,
    )
    .fetch_all(conn)
    .await
}

pub async fn forget_notices(conn: &mut Connection, before: DateTime<Utc>) -> Result<(), sqlx::Error> {
    sqlx::query!("delete from notices where created_at < $1", before).execute(conn).await?;
    Ok(())
}
