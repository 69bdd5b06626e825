//! An index for each filter of each kind, made while others read and write.

use std::time::Duration;

use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::declared::{Declaration, Declared, queries};
use crate::kernel::secrets::sha256;

/// Who makes indexes holds this advisory lock, so that instances that start together make each once.
const LOCK: i64 = 0x706f_7274_6963_6f01;
/// How often somebody who waits for it tries again.
const TRY_AGAIN: Duration = Duration::from_millis(200);

impl Declared {
    /// Makes those that are missing. This may take as long as the longest transaction of others; lists are only slower meanwhile.
    pub async fn make_indexes(&self) -> Result<(), sqlx::Error> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        // A connection of its own, with which the lock ends whatever happens.
        let mut conn = self.pool.acquire().await?.detach();
        while !queries::try_lock(&mut conn, LOCK).await? {
            sleep(TRY_AGAIN).await;
        }
        for declaration in self.kinds.iter() {
            make_indexes_of(&mut conn, declaration).await?;
        }
        conn.close().await
    }
}

async fn make_indexes_of(conn: &mut PgConnection, declaration: &Declaration) -> Result<(), sqlx::Error> {
    let kind = &declaration.kind;
    for (member, form) in &declaration.filters {
        let expression = form.expression(member);
        let name = format!("declared_{}", &hex::encode(sha256(format!("{kind} {expression}")))[..16]);
        match queries::find_index(conn, &name).await? {
            Some(true) => continue,
            Some(false) => queries::drop_index(conn, &name).await?,
            None => {}
        }
        queries::create_index(conn, &name, kind, &expression).await?;
    }
    Ok(())
}
