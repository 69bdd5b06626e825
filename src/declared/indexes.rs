//! Indexes for the filters of each kind, created without blocking reads and writes.

use std::time::Duration;

use tokio::time::sleep;

use crate::declared::{Declaration, Declared, queries};
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;

/// The advisory lock held while creating indexes, so that instances that start at the same time create each index once.
const LOCK: i64 = 0x706f_7274_6963_6f01;
/// The retry interval for the lock.
const RETRY_DELAY: Duration = Duration::from_millis(200);

impl Declared {
    /// Creates missing indexes. This may take as long as the longest open transaction; until then, lists are slower.
    pub async fn make_indexes(&self) -> Result<(), sqlx::Error> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        // The lock is released when the connection ends.
        let mut conn = self.pool.owner().acquire_patient().await?;
        while !queries::try_lock(&mut conn, LOCK).await? {
            sleep(RETRY_DELAY).await;
        }
        for declaration in self.kinds.iter() {
            make_indexes_of(&mut conn, declaration).await?;
        }
        Ok(())
    }
}

async fn make_indexes_of(conn: &mut Connection, declaration: &Declaration) -> Result<(), sqlx::Error> {
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
