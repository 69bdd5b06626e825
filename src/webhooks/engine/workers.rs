//! The signs of life of workers. What a dead one had in flight is taken back by [`claim`](crate::webhooks::engine::claim).

use crate::kernel::database::Connection;
use crate::kernel::ids::WorkerId;
use crate::webhooks::Webhooks;

impl Webhooks {
    /// Gives a sign of life of this worker, and looks at those of the others.
    pub async fn beat(&self) -> Result<(), sqlx::Error> {
        let mut conn = self.worker_pool.acquire().await?;
        self.colleagues.look(count_beat(&mut conn, self.worker).await?);
        Ok(())
    }
}

/// Counts a beat of a worker, and returns those of all others.
async fn count_beat(conn: &mut Connection, worker: WorkerId) -> Result<Vec<(WorkerId, i64)>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"with own as (
             insert into workers as own (id, beats) values ($1, 1) on conflict (id) do update set beats = own.beats + 1
         )
         select id as "id: WorkerId", beats from workers where id <> $1"#,
        worker.uuid(),
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| (row.id, row.beats)).collect())
}
