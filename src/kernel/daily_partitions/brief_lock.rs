//! Statements that lock a table against everybody, for a moment that nobody notices.
//!
//! Whoever waits for such a lock lets all others wait behind it. Therefore it is asked for only while no transaction that lasts uses the
//! table: those that do are looked at twice, and who is there both times is expected to stay. The lock timeout is for one that comes in
//! between.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Executor};
use tokio::time::sleep;

use crate::kernel::database::Connection;

/// How long a transaction that uses the table may last.
const GLANCE: Duration = Duration::from_millis(25);
/// How many times a moment without a longer one is looked for, and the time in between.
const TRIES: usize = 20;
const PAUSE: Duration = Duration::from_millis(50);
/// How long everybody may have to wait.
const LOCK_TIMEOUT: Duration = Duration::from_millis(50);

/// Runs `step`, several statements as one transaction, which locks `relations`. Returns whether there was a moment for it.
pub async fn run(conn: &mut Connection, relations: &[&str], step: &str) -> Result<bool, sqlx::Error> {
    let relations: Vec<_> = relations.iter().map(|relation| (*relation).to_owned()).collect();
    let message = format!("set local lock_timeout = {}; {step}", LOCK_TIMEOUT.as_millis());
    for _ in 0..TRIES {
        if !anybody_stays(conn, &relations).await? {
            match conn.execute(AssertSqlSafe(message.as_str())).await {
                Err(error) if is_lock_timeout(&error) => {}
                done => return done.map(|_| true),
            }
        }
        sleep(PAUSE).await;
    }
    Ok(false)
}

/// Whether a transaction uses one of the relations for longer than a glance.
async fn anybody_stays(conn: &mut Connection, relations: &[String]) -> Result<bool, sqlx::Error> {
    let seen = transactions_using(conn, relations).await?;
    if seen.is_empty() {
        return Ok(false);
    }
    sleep(GLANCE).await;
    Ok(transactions_using(conn, relations).await?.iter().any(|transaction| seen.contains(transaction)))
}

async fn transactions_using(conn: &mut Connection, relations: &[String]) -> Result<Vec<String>, sqlx::Error> {
    sqlx::query_scalar!(
        r#"select distinct virtualtransaction as "transaction!" from pg_locks
           where locktype = 'relation' and granted and pid <> pg_backend_pid()
           and database = (select oid from pg_database where datname = current_database())
           and relation in (select to_regclass(name) from unnest($1::text[]) as name)"#,
        relations,
    )
    .fetch_all(conn)
    .await
}

fn is_lock_timeout(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Database(error) if error.code().is_some_and(|code| code == "55P03"))
}
