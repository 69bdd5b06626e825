//! Companies that are suspended: their deliveries are held, and made once the company is resumed.

use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::endpoints;

/// Holds the deliveries of a company. What is in flight is still recorded.
pub async fn hold_deliveries(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    endpoints::hold_all(conn, company).await
}

/// Makes the deliveries that were held, except those of webhooks that are paused themselves.
pub async fn release_deliveries(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    endpoints::release_all(conn, company).await?;
    endpoints::notify_resumed(conn).await
}
