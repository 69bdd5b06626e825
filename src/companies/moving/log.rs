//! The log of a company that has left, which follows it: in pieces, the latest first, each copied in a transaction and then deleted in another.
//! What was interrupted between the two is sent again, and found to be there.
//!
//! What a request that was under way has added after the company had left is sent with it.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;

use crate::companies::belongings::{ATTEMPTS, TABLES};
use crate::companies::moving::copy::{AT_EASE, BEGIN, MoveError, SENT_ELSEWHERE, add_to_table, run};
use crate::companies::moving::transfer::LOG;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The rows of a piece.
const PIECE: u32 = 5_000;
/// What only says how far the move is goes last, with the company.
const LAST: &str = "company_moves";
/// The condition of tables whose rows name the company. All others have rows only beside those of such a table.
const OWN: &str = "company_id = $1";

/// Sends a piece of what a company has left behind. Returns how many rows it had; 0 if nothing is left.
pub async fn send_some(source: &mut Connection, target: &mut Connection, company: CompanyId) -> Result<u64, MoveError> {
    let others = TABLES.iter().filter(|(table, rows)| *rows == OWN && *table != LAST && !LOG.contains(table)).map(|(table, _)| *table);
    for table in LOG.into_iter().chain(others) {
        let sent = send_some_of(source, target, table, company).await?;
        if sent > 0 {
            return Ok(sent);
        }
    }
    Ok(0)
}

async fn send_some_of(source: &mut Connection, target: &mut Connection, table: &str, company: CompanyId) -> Result<u64, MoveError> {
    let mut leaving = source.begin_with(BEGIN).await?;
    run(&mut leaving, AT_EASE.to_owned()).await?;
    run(&mut leaving, SENT_ELSEWHERE.to_owned()).await?;
    let piece = choose(&mut leaving, table, company).await?;
    if piece.rows == 0 {
        return Ok(0);
    }
    let mut arriving = target.begin().await?;
    run(&mut arriving, AT_EASE.to_owned()).await?;
    // What streams read is there with its number.
    let with = match table {
        "feed" => Some(("events", format!("id in (select event_id from feed where {})", piece.condition()))),
        "deliveries" => Some((ATTEMPTS, format!("delivery_id in (select id from deliveries where {})", piece.condition()))),
        _ => None,
    };
    if let Some((with, chosen)) = &with {
        add_to_table(&mut leaving, &mut arriving, with, chosen).await?;
    }
    if add_to_table(&mut leaving, &mut arriving, table, &piece.condition()).await? != piece.rows {
        return Err(MoveError::Different(table.to_owned()));
    }
    arriving.commit().await?;
    if let Some((with, chosen)) = with {
        run(&mut leaving, format!("delete from {with} where {chosen}")).await?;
    }
    for (part, places) in &piece.places {
        run(&mut leaving, format!("delete from {part} where ctid = any({})", list(places))).await?;
    }
    leaving.commit().await?;
    Ok(piece.rows)
}

/// Some rows of a table, by their places in its parts, as a transaction that is open sees them.
struct Piece {
    rows: u64,
    places: BTreeMap<String, Vec<String>>,
}

impl Piece {
    /// The condition for these rows.
    fn condition(&self) -> String {
        let of_part = |(part, places): (&String, &Vec<String>)| format!("(tableoid = '{part}'::regclass and ctid = any({}))", list(places));
        self.places.iter().map(of_part).collect::<Vec<_>>().join(" or ")
    }
}

/// The latest of the log first: whoever reads along asks for that.
async fn choose(conn: &mut Connection, table: &str, company: CompanyId) -> Result<Piece, sqlx::Error> {
    let order = match table {
        "feed" => "order by number desc",
        "events" | "deliveries" => "order by created_at desc, id desc",
        _ => "",
    };
    let statement = format!("select tableoid::regclass::text, ctid::text from {table} where {OWN} {order} limit {PIECE}");
    let rows: Vec<(String, String)> =
        sqlx::query_as(AssertSqlSafe(statement)).persistent(false).bind(company.uuid()).fetch_all(conn).await?;
    let mut piece = Piece { rows: rows.len() as u64, places: BTreeMap::new() };
    for (part, place) in rows {
        piece.places.entry(part).or_default().push(place);
    }
    Ok(piece)
}

/// Places as an array.
fn list(places: &[String]) -> String {
    let quoted: Vec<_> = places.iter().map(|place| format!("\"{place}\"")).collect();
    format!("'{{{}}}'::tid[]", quoted.join(","))
}
