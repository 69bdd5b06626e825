//! The log of a company that has left, which follows it: in pieces, the latest first, each copied in a transaction and then deleted in another.
//! What was interrupted between the two is sent again, and found to be there.
//!
//! What a request that was under way has added after the company had left is sent with it.

use sqlx::AssertSqlSafe;
use uuid::Uuid;

use crate::companies::belongings::{ATTEMPTS, MOVES, TABLES, parts};
use crate::companies::moving::copy::{MoveError, add_to_table, begin_leaving, begin_waiting, run};
use crate::companies::moving::transfer::LOG;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The rows of a piece.
const PIECE: u32 = 5_000;
/// The condition of the tables of the log.
const OWN: &str = "company_id = $1";

/// Sends a piece of what a company has left behind. Returns how many rows it had; 0 if nothing is left.
pub async fn send_some(source: &mut Connection, target: &mut Connection, company: CompanyId) -> Result<u64, MoveError> {
    for table in LOG {
        let sent = send_some_of(source, target, table, company).await?;
        if sent > 0 {
            return Ok(sent);
        }
    }
    send_late(source, target, company).await
}

/// Sends what requests have added after the company had left, but for the log: all of it, because its rows refer to one another.
async fn send_late(source: &mut Connection, target: &mut Connection, company: CompanyId) -> Result<u64, MoveError> {
    let of_company = |condition: &str| condition.replace("$1", &format!("'{}'", company.uuid()));
    let late: Vec<_> = TABLES
        .iter()
        .filter(|(table, _)| *table != MOVES && !LOG.contains(table))
        .map(|(table, condition)| ((*table).to_owned(), of_company(condition)))
        .collect();
    let mut leaving = begin_leaving(source).await?;
    let mut arriving = begin_waiting(target).await?;
    let mut sent = 0;
    // What others refer to is deleted after them, so it is sent before them.
    for part in late.iter().rev() {
        let any = format!("select exists (select from {} where {})", part.0, part.1);
        if sqlx::query_scalar(AssertSqlSafe(any)).persistent(false).fetch_one(&mut *leaving).await? {
            sent += add_to_table(&mut leaving, &mut arriving, &part.0, std::slice::from_ref(part)).await?;
        }
    }
    if sent == 0 {
        return Ok(0);
    }
    arriving.commit().await?;
    for (table, chosen) in &late {
        run(&mut leaving, format!("delete from {table} where {chosen}")).await?;
    }
    leaving.commit().await?;
    Ok(sent)
}

async fn send_some_of(source: &mut Connection, target: &mut Connection, table: &str, company: CompanyId) -> Result<u64, MoveError> {
    let mut leaving = begin_leaving(source).await?;
    let piece = choose(&mut leaving, table, company).await?;
    if piece.rows == 0 {
        return Ok(0);
    }
    let mut arriving = begin_waiting(target).await?;
    let with = companions(&mut leaving, table).await?;
    if let Some((table, chosen)) = &with {
        add_to_table(&mut leaving, &mut arriving, table, &[((*table).to_owned(), chosen.clone())]).await?;
    }
    if add_to_table(&mut leaving, &mut arriving, table, &piece.parts).await? != piece.rows {
        return Err(MoveError::Different(table.to_owned()));
    }
    arriving.commit().await?;
    for (part, chosen) in &piece.parts {
        run(&mut leaving, format!("delete from {part} where {chosen}")).await?;
    }
    if let Some((table, chosen)) = with {
        run(&mut leaving, format!("delete from {table} where {chosen}")).await?;
    }
    leaving.commit().await?;
    Ok(piece.rows)
}

/// The rows that were chosen of a table, whose keys are in the temporary table `chosen` of the transaction that is open.
struct Piece {
    rows: u64,
    /// The parts of the table that have them, each with the condition for its own.
    parts: Vec<(String, String)>,
}

/// Chooses the latest of the log first: whoever reads along asks for that.
async fn choose(conn: &mut Connection, table: &str, company: CompanyId) -> Result<Piece, sqlx::Error> {
    let order = match table {
        "feed" => "order by number desc",
        "events" | "deliveries" => "order by created_at desc, id desc",
        _ => "",
    };
    let key = parts(conn, table).await?.swap_remove(0).key;
    let own = OWN.replace("$1", &format!("'{}'", company.uuid()));
    let choose = format!("select tableoid::regclass::text as part, {key} from {table} where {own} {order} limit {PIECE}");
    run(conn, format!("create temporary table chosen on commit drop as {choose}")).await?;
    run(conn, "analyze chosen".to_owned()).await?;
    let found: Vec<(String, i64)> =
        sqlx::query_as("select part, count(*) from chosen group by part").persistent(false).fetch_all(conn).await?;
    let rows = found.iter().map(|(_, rows)| rows.unsigned_abs()).sum();
    let of_part = |part: String| {
        let chosen = format!("({key}) in (select {key} from chosen where part = '{part}')");
        (part, chosen)
    };
    Ok(Piece { rows, parts: found.into_iter().map(|(part, _)| of_part(part)).collect() })
}

/// What goes with the chosen rows of a table, with its condition: with a number of the feed its event, so that streams which come upon it have both,
/// and with a delivery its attempts.
async fn companions(conn: &mut Connection, table: &str) -> Result<Option<(&'static str, String)>, sqlx::Error> {
    let (with, key, chosen) = match table {
        "feed" => ("events", "id", "event_id"),
        "deliveries" => (ATTEMPTS, "delivery_id", "id"),
        _ => return Ok(None),
    };
    // The least and the greatest name the days.
    let ends = format!("select (array_agg({chosen} order by {chosen}))[1], (array_agg({chosen} order by {chosen} desc))[1] from chosen");
    let (least, greatest): (Uuid, Uuid) = sqlx::query_as(AssertSqlSafe(ends)).persistent(false).fetch_one(conn).await?;
    Ok(Some((with, format!("{key} between '{least}' and '{greatest}' and {key} in (select {chosen} from chosen)"))))
}
