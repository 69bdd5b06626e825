//! Moving a company to another cell: its deliveries are held where it leaves, until they are made where it has arrived.

use chrono::{DateTime, Utc};

use crate::companies::{Standing, moving};
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::webhooks::engine::endpoints;

/// Begins to move a company to a cell: its deliveries are held. Does nothing if it is on its way already.
pub async fn prepare_move(conn: &mut Connection, company: CompanyId, to: &str, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut transaction = conn.begin().await?;
    if moving::prepare(&mut transaction, company, to, now).await? {
        endpoints::hold_all(&mut transaction, company).await?;
    }
    transaction.commit().await
}

/// Whether no attempt at a delivery of the company is under way, and no deliveries are being cancelled.
pub async fn is_at_rest(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    endpoints::are_at_rest(conn, company).await
}

/// Lets the requests of a company wait. The deliveries of a webhook that was added meanwhile are held as well. Returns `false` if its move is not
/// being prepared any more.
pub async fn freeze_for_move(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let frozen = moving::freeze(&mut transaction, company, now).await?;
    if frozen {
        endpoints::hold_all(&mut transaction, company).await?;
    }
    transaction.commit().await.map(|()| frozen)
}

/// Goes back to before a move, as long as the company is still here.
pub async fn undo_move(conn: &mut Connection, company: CompanyId) -> Result<(), sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let standing = moving::unfreeze(&mut transaction, company).await?;
    release_if_open(&mut transaction, company, standing).await?;
    transaction.commit().await
}

/// Serves a company that has arrived, and makes the deliveries that were held.
pub async fn arrive(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<(), sqlx::Error> {
    let mut transaction = conn.begin().await?;
    let standing = moving::arrive(&mut transaction, company, now).await?;
    release_if_open(&mut transaction, company, standing).await?;
    transaction.commit().await
}

async fn release_if_open(conn: &mut Connection, company: CompanyId, standing: Standing) -> Result<(), sqlx::Error> {
    if standing == Standing::Open {
        endpoints::release_all(conn, company).await?;
        endpoints::notify_resumed(conn).await?;
    }
    Ok(())
}
