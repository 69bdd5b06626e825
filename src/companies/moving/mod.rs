//! Moving a company to another cell, with everything that belongs to it.
//!
//! No statement spans two databases, so both sides write down how far they are, and whoever finds the two can go on or, until the company has left, go back:
//!
//! | from | to | |
//! |---|---|---|
//! | `preparing` | | Deliveries are held. Requests are answered. |
//! | `leaving` | | Requests have to wait. |
//! | `leaving` | `arriving` | Everything was copied. Until the next step is done it does not count, and goes again. |
//! | `left` | `arriving` | It is deleted where it came from. |
//! | `left` | `arrived` | It is served where it went, and its log follows. |
//! | `left` | | What requests of before it left have added follows, and the rest is deleted. |
//!
//! Both sides of the copy are one transaction each ([`transfer`]). The first reads from one snapshot and deletes what it has read: what a request
//! that was under way has changed meanwhile makes it fail, and it begins anew. What such a request adds later is found when the log follows
//! ([`log`]).

mod copy;
mod log;
mod queries;
mod transfer;

use chrono::{DateTime, Utc};

use crate::audit_trail::{self, Action, ChangedRecord};
use crate::callers::Caller;
use crate::companies::standing::{Stage, Standing};
use crate::companies::suspension::standing;
use crate::kernel::database::Connection;
use crate::kernel::ids::CompanyId;
use crate::kernel::problem::Problem;

pub use copy::{MoveError, begin_waiting};
pub use log::send_some;
pub use queries::{any_awaits_its_log, conclude, find_step, lock_step, prepare};
pub use transfer::transfer;

/// Lets the requests of the company wait, in a transaction, whether it is suspended or not. Returns `false` if its move is at another stage.
pub async fn freeze(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<bool, sqlx::Error> {
    let frozen = queries::set_stage(conn, company, Stage::Preparing, Stage::Leaving).await?;
    if frozen {
        queries::suspend_for_move(conn, company, now).await?;
    }
    Ok(frozen)
}

/// Ends a move on the side of a cell that has the company: it is served there, unless it is suspended. Returns whether it is.
pub async fn unfreeze(conn: &mut Connection, company: CompanyId) -> Result<Standing, sqlx::Error> {
    queries::unsuspend_after_move(conn, company).await?;
    queries::forget(conn, company).await?;
    standing(conn, company).await
}

/// The company has arrived, and its log is still to come. Returns whether it is served. Does nothing if somebody has said so already.
pub async fn arrive(conn: &mut Connection, company: CompanyId, now: DateTime<Utc>) -> Result<Standing, sqlx::Error> {
    if !queries::set_stage(conn, company, Stage::Arriving, Stage::Arrived).await? {
        return standing(conn, company).await;
    }
    queries::unsuspend_after_move(conn, company).await?;
    let (caller, change) = (Caller::command_line(company), Action::Updated(&["cell"]));
    audit_trail::record(conn, &caller, change, ChangedRecord::Company(company), now).await?;
    standing(conn, company).await
}

/// Whether the log of the company is still on its way, so that it cannot be searched for everything that there was.
pub async fn awaits_its_log(conn: &mut Connection, company: CompanyId) -> Result<bool, sqlx::Error> {
    Ok(find_step(conn, company).await?.is_some_and(|step| step.stage == Stage::Arrived))
}

/// Refuses what concerns the whole log of a company while it is on its way.
pub async fn must_have_its_log(conn: &mut Connection, company: CompanyId) -> Result<(), Problem> {
    if awaits_its_log(conn, company).await? { Standing::Moving.must_be_open() } else { Ok(()) }
}
