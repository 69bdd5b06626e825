//! Where servers are in the write-ahead log.

use crate::kernel::database::Connection;
use crate::kernel::database::replica::positions::Position;

/// Up to where the primary has its log on its disk, and so everything that it has acknowledged.
pub async fn find_written(conn: &mut Connection) -> Result<Position, sqlx::Error> {
    sqlx::query_as!(
        Position,
        r#"select left(pg_walfile_name(pg_current_wal_flush_lsn()), 8) as "timeline!",
                  (pg_current_wal_flush_lsn() - '0/0')::bigint as "bytes!""#,
    )
    .fetch_one(conn)
    .await
}

/// Up to where a standby shows what the primary has written; `None` if it is no standby any more. After a promotion elsewhere it may take the
/// standby some minutes to note the new timeline in its control file.
pub async fn find_replayed(conn: &mut Connection) -> Result<Option<Position>, sqlx::Error> {
    sqlx::query_as!(
        Position,
        r#"select lpad(upper(to_hex(greatest(timeline_id, min_recovery_end_timeline))), 8, '0') as "timeline!",
                  (pg_last_wal_replay_lsn() - '0/0')::bigint as "bytes!"
           from pg_control_checkpoint(), pg_control_recovery()
           where pg_is_in_recovery() and pg_last_wal_replay_lsn() is not null"#,
    )
    .fetch_optional(conn)
    .await
}
