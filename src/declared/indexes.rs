//! Indexes for the filters of each kind, created without blocking reads and writes.

use crate::declared::{Declaration, Declared, queries};
use crate::kernel::crypto::sha256;
use crate::kernel::database::Connection;
use crate::kernel::leases::Lease;

impl Declared {
    /// Creates missing indexes. This may take as long as the longest open transaction; until then, lists are slower.
    pub async fn make_indexes(&self) -> Result<(), sqlx::Error> {
        if self.kinds.is_empty() {
            return Ok(());
        }
        // Two instances at once would each make the index that the other has begun.
        let making = async {
            let mut conn = self.pool.owner().acquire_patient().await?;
            for declaration in self.kinds.iter() {
                make_indexes_of(&mut conn, declaration).await?;
            }
            Ok(())
        };
        Lease::wait(&self.pool, "making indexes").await?.during(making).await
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
