//! Copying rows of a company from one cell to another, column by column.

use sqlx::{AssertSqlSafe, Executor};

use crate::kernel::database::{Connection, MayBeConflict, Transaction};

/// What each database numbers by itself.
const NUMBERED: [(&str, &str); 2] = [("outbox", "position"), ("waiting", "place")];
/// Up to which of these numbers deliveries are being cancelled. It means nothing in another database.
const CANCELLED_BEFORE: (&str, &str) = ("endpoints", "cancelled_before");

/// Why a company did not move.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// It is not where it was a moment ago: somebody else moves it as well.
    #[error("the company is not leaving: another command moves it as well")]
    NotLeaving,
    /// Deliveries are being cancelled, and would be made where the company goes.
    #[error("deliveries of the company are being cancelled")]
    Cancelling,
    /// What arrived is not what was sent. Nothing was deleted.
    #[error("the rows of `{0}` are others in the new cell than they were")]
    Different(String),
    /// A database failed. What was not committed is as it was.
    #[error("a database could not be used")]
    Database(#[from] sqlx::Error),
}

/// A request that was under way has changed what was being moved, or has added to what was being deleted; or the worker has something to end.
impl MayBeConflict for MoveError {
    fn is_conflict(&self) -> bool {
        match self {
            Self::Database(error) => error.is_conflict() || error.as_database_error().is_some_and(|error| error.is_foreign_key_violation()),
            Self::Cancelling => true,
            Self::NotLeaving | Self::Different(_) => false,
        }
    }
}

/// The columns of a table that are copied. Both cells have the same schema.
async fn columns(conn: &mut Connection, table: &str) -> Result<String, sqlx::Error> {
    let names = sqlx::query_scalar!(
        r#"select attname::text as "name!" from pg_attribute
           where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = '' order by attname"#,
        table,
    );
    let names = names.fetch_all(conn).await?;
    let copied = names.iter().filter(|name| !NUMBERED.contains(&(table, name)) && (table, name.as_str()) != CANCELLED_BEFORE);
    // Some are keywords.
    Ok(copied.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
}

/// Refuses while deliveries are being cancelled. `chosen` are the rows of the company in this table.
pub(super) async fn must_not_be_cancelling(source: &mut Connection, table: &str, chosen: &str) -> Result<(), MoveError> {
    let (of, column) = CANCELLED_BEFORE;
    if table != of {
        return Ok(());
    }
    let any = format!("select exists (select from {of} where {chosen} and {column} is not null)");
    match sqlx::query_scalar(AssertSqlSafe(any)).persistent(false).fetch_one(source).await? {
        true => Err(MoveError::Cancelling),
        false => Ok(()),
    }
}

/// Copies the chosen rows of a table, and compares what has arrived: the rows that are chosen by `arrived` there. `order` is that in which the new
/// cell numbers them.
pub(super) async fn copy_table(
    source: &mut Connection,
    target: &mut Connection,
    table: &str,
    chosen: &str,
    arrived: &str,
    order: &str,
) -> Result<u64, MoveError> {
    let columns = columns(source, table).await?;
    let rows = |condition: &str| format!("select {columns} from {table} where {condition}");
    let sent = source.copy_rows(&format!("{} {order}", rows(chosen)), target, &format!("{table} ({columns})")).await?;
    if sent.rows > 0 && target.sum_up(&rows(arrived)).await? != sent {
        return Err(MoveError::Different(table.to_owned()));
    }
    Ok(sent.rows)
}

/// Copies rows of a table, but for those that the new cell has already. They are those of its `parts`, each with a condition. Returns how many there
/// were.
pub(super) async fn add_to_table(
    source: &mut Connection,
    target: &mut Connection,
    table: &str,
    parts: &[(String, String)],
) -> Result<u64, MoveError> {
    let (columns, arriving) = (columns(source, table).await?, format!("arriving_{table}"));
    let make =
        format!("create temporary table if not exists {arriving} on commit delete rows as select {columns} from {table} with no data");
    run(target, make).await?;
    let queries: Vec<_> = parts.iter().map(|(part, chosen)| format!("select {columns} from {part} where {chosen}")).collect();
    let sent = source.copy_rows(&queries.join(" union all "), target, &format!("{arriving} ({columns})")).await?;
    if target.sum_up(&format!("select {columns} from {arriving}")).await? != sent {
        return Err(MoveError::Different(table.to_owned()));
    }
    let add = format!("insert into {table} ({columns}) overriding system value select {columns} from {arriving} on conflict do nothing");
    run(target, add).await?;
    Ok(sent.rows)
}

/// Runs a statement that is made of names of tables, ids and constants.
pub(super) async fn run(conn: &mut Connection, statement: String) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(statement)).persistent(false).execute(conn).await.map(drop)
}

/// Begins the transaction of the old cell. It sees one state, and nobody ends it because it waits for the other cell.
pub(super) async fn begin_leaving(source: &mut Connection) -> Result<Transaction<'_>, sqlx::Error> {
    let mut leaving = source.begin_with("begin isolation level repeatable read").await?;
    leaving.execute("set local idle_in_transaction_session_timeout = 0").await?;
    Ok(leaving)
}

/// Begins a transaction that nobody ends because it waits for the other cell.
pub async fn begin_waiting(conn: &mut Connection) -> Result<Transaction<'_>, sqlx::Error> {
    let mut waiting = conn.begin().await?;
    waiting.execute("set local idle_in_transaction_session_timeout = 0").await?;
    Ok(waiting)
}
