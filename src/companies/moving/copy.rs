//! Copying rows of a company from one cell to another, column by column.

use sqlx::AssertSqlSafe;

use crate::kernel::database::{Connection, is_unavailable};

/// What each database numbers by itself, and what refers to such numbers.
const OWN_TO_A_DATABASE: [(&str, &str); 3] = [("outbox", "position"), ("waiting", "place"), ("endpoints", "cancelled_before")];

/// Why a company did not move.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    /// It is not where it was a moment ago: somebody else moves it as well.
    #[error("the company is not leaving: another command moves it as well")]
    NotLeaving,
    /// What arrived is not what was sent. Nothing was deleted.
    #[error("the rows of `{0}` are others in the new cell than they were")]
    Different(String),
    /// A database failed. What was not committed is as it was.
    #[error("a database could not be used")]
    Database(#[from] sqlx::Error),
}

impl MoveError {
    /// Whether a request that was under way has changed what was being moved, so that the same may succeed now.
    pub fn is_conflict(&self) -> bool {
        let Self::Database(error) = self else { return false };
        // 40: rolled back because of others. 23503: somebody has added to a row that was being deleted.
        let code = error.as_database_error().and_then(|error| error.code().map(|code| code.into_owned()));
        !is_unavailable(error) && code.is_some_and(|code| code.starts_with("40") || code == "23503")
    }
}

/// The columns of a table that are copied. Both cells have the same schema.
pub(super) async fn columns(conn: &mut Connection, table: &str) -> Result<String, sqlx::Error> {
    let names = sqlx::query_scalar!(
        r#"select attname::text as "name!" from pg_attribute
           where attrelid = to_regclass($1) and attnum > 0 and not attisdropped and attgenerated = '' order by attname"#,
        table,
    );
    let names = names.fetch_all(conn).await?;
    let copied = names.iter().filter(|name| !OWN_TO_A_DATABASE.contains(&(table, name)));
    // Some are keywords.
    Ok(copied.map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", "))
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

/// Begins a transaction that waits for another database between its statements.
pub(super) const BEGIN: &str = "begin isolation level repeatable read";
/// Nobody ends it for being idle.
pub(super) const AT_EASE: &str = "set local idle_in_transaction_session_timeout = 0";
/// What leaves the outbox is not numbered here, but where it goes.
pub(super) const SENT_ELSEWHERE: &str = "set local portico.numbers_feed = 'on'";
