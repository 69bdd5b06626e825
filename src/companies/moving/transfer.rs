//! The moment in which a company changes its cell: everything that belongs to it is copied and deleted, but for the log.

use chrono::{DateTime, Utc};

use crate::companies::belongings::{ATTEMPTS, HAVE_ATTEMPTS, MOVES, TABLES};
use crate::companies::moving::copy::{MoveError, begin_leaving, begin_waiting, copy_table, must_not_be_cancelling, run};
use crate::companies::moving::queries;
use crate::companies::standing::Stage;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;

/// The log, which follows later, but for the events of what is still to be delivered.
pub(super) const LOG: [&str; 3] = ["feed", "events", "deliveries"];
/// Copies a company that is leaving into the cell where it goes, and deletes it where it was. Both connections have no open transaction.
///
/// Both transactions are committed, the new cell's first: until the other is, what is there does not count. `progress` is told how many rows
/// were copied.
pub async fn transfer(
    source: &mut Connection,
    target: &mut Connection,
    company: CompanyId,
    from: &str,
    now: DateTime<Utc>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), MoveError> {
    let mut leaving = begin_leaving(source).await?;
    let departure = queries::lock_departure(&mut leaving, company).await?.ok_or(MoveError::NotLeaving)?;

    // Somebody may have resumed it who looked before it was to leave.
    queries::suspend_for_move(&mut leaving, company, now).await?;

    let mut arriving = begin_waiting(target).await?;
    let of_company = |condition: &str| condition.replace("$1", &format!("'{}'", company.uuid()));
    let mut copied = copy_table(&mut leaving, &mut arriving, "companies", &of_company("id = $1"), &of_company("id = $1"), "").await?;
    queries::suspend_for_move(&mut arriving, company, now).await?;
    queries::insert_arrival(&mut arriving, company, &departure, from).await?;
    // What others refer to is deleted after them, so it is copied before them.
    for (table, rows) in TABLES.iter().rev().filter(|(table, _)| *table != MOVES) {
        let chosen = match *table {
            "events" => format!("id in ({})", of_open("event_id", &["outbox", "waiting", "in_flight"])),
            table if LOG.contains(&table) => continue,
            _ => (*rows).to_owned(),
        };
        let (chosen, arrived) = (of_company(&chosen), of_company(rows));
        must_not_be_cancelling(&mut leaving, table, &chosen).await?;
        copied += copy_table(&mut leaving, &mut arriving, table, &chosen, &arrived, order_of(table)).await?;
        progress(copied);
    }
    let open: Vec<_> = HAVE_ATTEMPTS.into_iter().filter(|table| !LOG.contains(table)).collect();
    let at_open = of_company(&format!("delivery_id in ({})", of_open("id", &open)));
    copied += copy_table(&mut leaving, &mut arriving, ATTEMPTS, &at_open, &at_open, "").await?;
    progress(copied);

    run(&mut leaving, format!("delete from {ATTEMPTS} where {at_open}")).await?;
    for (table, rows) in TABLES.iter().filter(|(table, _)| *table != MOVES && !LOG.contains(table)) {
        run(&mut leaving, format!("delete from {table} where {}", of_company(rows))).await?;
    }
    queries::set_stage(&mut leaving, company, Stage::Leaving, Stage::Left).await?;
    arriving.commit().await?;
    leaving.commit().await?;
    Ok(())
}

/// The order in which the new cell numbers what each database numbers by itself. Of a chain of deliveries the head comes first.
fn order_of(table: &str) -> &'static str {
    match table {
        "outbox" => "order by position",
        "waiting" => "order by lane = 2, place",
        _ => "",
    }
}

/// A column of the rows of a company in these tables.
fn of_open(column: &str, tables: &[&str]) -> String {
    let each: Vec<_> = tables.iter().map(|table| format!("select {column} from {table} where company_id = $1")).collect();
    each.join(" union ")
}
