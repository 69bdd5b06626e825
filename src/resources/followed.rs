//! Lists that are followed: a client asks for `meta.next` again and again, and misses nothing.
//!
//! A record has the instant at which its transaction began, and appears when the transaction commits. So it can appear behind newer records, and
//! behind a client that has seen those. But it does so soon: a request is cut off after a time, and so is each of its statements. The part of the
//! list that is older than both together is *settled*: nothing can appear there any more.
//!
//! A page goes on to the newest record, so a client sees each record at once. The last page is not full, and maybe empty: that tells a client to
//! wait. Its cursor leads back to the end of the settled part. So the records after it are shown again, together with those that have appeared
//! among them. A client that reads several pages beyond the settled part goes back to where that part ended at the first of these pages: no record
//! that has appeared behind them meanwhile is older. A client that reads slowly, and finds more records each time, goes back after a minute all the
//! same.
//!
//! Nothing is written for it, and it needs no order of commits, which a distributed database could not tell.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::{BACKGROUND_STATEMENT_TIMEOUT, Limits};
use crate::kernel::middleware::TIME_LIMIT;
use crate::resources::cursor::{Cursor, Direction};

/// How long a client reads on before it goes back.
const LONGEST_ROUND: TimeDelta = TimeDelta::minutes(1);

/// The instant before which the list has all that it will ever have, for a page that is read after `now`.
pub(super) fn settled(now: DateTime<Utc>, limits: Limits) -> DateTime<Utc> {
    let statement = limits.statement_timeout.max(BACKGROUND_STATEMENT_TIMEOUT);
    // The last statement of a request may begin at its end, and the commit takes as long at most.
    let time = TimeDelta::from_std(TIME_LIMIT + 2 * statement).expect("statements do not take thousands of years");
    now - time
}

/// The cursor behind a page. It was asked for behind `asked`, and ends at `end`; `None` if it is not full, so that there are no more records.
pub(super) fn next(direction: Direction, asked: Option<Cursor>, end: Option<Cursor>, settled: DateTime<Utc>) -> Cursor {
    let back_to = asked.and_then(|asked| asked.back_to);
    match end {
        Some(end) if back_to.is_none_or(|back_to| settled < back_to + LONGEST_ROUND) => {
            Cursor { back_to: back_to.or((end.at > settled).then_some(settled)), ..end }
        }
        // No record has this id.
        _ => Cursor::new(direction, back_to.unwrap_or(settled).min(settled), Uuid::nil()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ORDER: Direction = Direction::OldestFirst;

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(second)
    }

    fn record(second: i64) -> Cursor {
        Cursor::new(ORDER, at(second), Uuid::from_u128(7))
    }

    fn position(second: i64) -> Cursor {
        Cursor::new(ORDER, at(second), Uuid::nil())
    }

    #[test]
    fn a_list_is_settled_once_every_request_of_before_has_ended() {
        let limits =
            |seconds| Limits { connections: 1, acquire_timeout: Duration::from_secs(3), statement_timeout: Duration::from_secs(seconds) };
        assert_eq!(settled(at(1000), limits(5)), at(940));
        assert_eq!(settled(at(1000), limits(60)), at(850));
    }

    #[test]
    fn among_settled_records_a_page_follows_the_other() {
        assert_eq!(next(ORDER, None, Some(record(900)), at(940)), record(900));
        assert_eq!(next(ORDER, Some(record(900)), Some(record(940)), at(940)), record(940));
    }

    #[test]
    fn the_end_of_a_list_is_where_it_is_settled() {
        assert_eq!(next(ORDER, None, None, at(940)), position(940));
        assert_eq!(next(ORDER, Some(position(940)), None, at(945)), position(945));
        // Somebody begins with the cursor of a list that was not followed.
        assert_eq!(next(ORDER, Some(record(990)), None, at(940)), position(940));
    }

    #[test]
    fn who_reads_on_beyond_that_goes_back_to_where_they_began() {
        let first = next(ORDER, Some(position(940)), Some(record(950)), at(945));
        assert_eq!(first, Cursor { back_to: Some(at(945)), ..record(950) });
        // What was not settled then may be now, and does not count: it may have appeared behind the page before.
        let second = next(ORDER, Some(first), Some(record(960)), at(970));
        assert_eq!(second, Cursor { back_to: Some(at(945)), ..record(960) });
        assert_eq!(next(ORDER, Some(second), None, at(980)), position(945));
        assert_eq!(next(ORDER, Some(second), Some(record(1004)), at(1004)), Cursor { back_to: Some(at(945)), ..record(1004) });
        assert_eq!(next(ORDER, Some(second), Some(record(1005)), at(1005)), position(945));
    }
}
