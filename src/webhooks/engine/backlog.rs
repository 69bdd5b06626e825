//! How much waits to be delivered, for the metrics.
//!
//! It takes some tens of milliseconds, whatever waits: an index tells the counts, up to a limit, and the first due delivery of each endpoint.
//! The full order of the index is asked for, because a plan that is made while the table is empty would otherwise use another one for ever.

use chrono::{DateTime, Utc};

use crate::kernel::database::Connection;

/// No more deliveries of a lane are counted.
const MOST_COUNTED: i64 = 20_000;
/// Of no more endpoints of a lane the first delivery is looked for.
const MOST_ENDPOINTS: i32 = 1_000;

/// A lane of what waits.
#[derive(Clone, Copy, Debug)]
pub struct LaneBacklog {
    /// Its word in the metrics.
    pub lane: &'static str,
    /// Deliveries that wait, at most 20,000.
    pub waiting: i64,
    /// When the first of them was due whose webhook is not paused. `None` if there are none, or if the lane is not for claims.
    pub first_due: Option<DateTime<Utc>>,
}

/// What waits at one moment, in all instances.
#[derive(Clone, Debug)]
pub struct Backlog {
    /// Every lane.
    pub lanes: Vec<LaneBacklog>,
    /// Deliveries in flight.
    pub in_flight: i64,
    /// Endpoints with an open circuit, or that have asked for silence, for which deliveries are held back.
    pub open_circuits: i64,
}

impl Backlog {
    /// Reads it.
    pub async fn read(conn: &mut Connection) -> Result<Self, sqlx::Error> {
        let lanes = list_lanes(conn).await?;
        let row = sqlx::query!(
            r#"select (select count(*) from (select from in_flight order by id limit $1) as found) as "in_flight!",
                      (select count(*) from (select from endpoints where held_until is not null limit $1) as found) as "open_circuits!""#,
            MOST_COUNTED,
        )
        .fetch_one(conn)
        .await?;
        Ok(Self { lanes, in_flight: row.in_flight, open_circuits: row.open_circuits })
    }
}

/// Steps from endpoint to endpoint through the index, as claims do.
async fn list_lanes(conn: &mut Connection) -> Result<Vec<LaneBacklog>, sqlx::Error> {
    let rows = sqlx::query!(
        r#"with recursive visited as (
             select known.lane, 1 as place,
                    (select subscription_id from waiting where waiting.lane = known.lane order by subscription_id, due_at limit 1) as subscription_id
             from unnest('{0,1,3}'::smallint[]) as known (lane)
             union all
             select lane, place + 1,
                    (select waiting.subscription_id from waiting
                     where waiting.lane = visited.lane and waiting.subscription_id > visited.subscription_id
                     order by waiting.subscription_id, waiting.due_at limit 1)
             from visited where subscription_id is not null and place < $2
         ), due as (
             select lane, min((select due_at from waiting where waiting.lane = visited.lane
                               and waiting.subscription_id = visited.subscription_id order by due_at limit 1)) as first_due
             from visited
             where subscription_id is not null
             and not exists (select from endpoints where endpoints.subscription_id = visited.subscription_id and paused)
             group by lane
         )
         select known.lane as "lane!", due.first_due,
                (select count(*) from (select from waiting where waiting.lane = known.lane order by subscription_id, due_at limit $1) as found) as "waiting!"
         from unnest('{0,1,2,3,4}'::smallint[]) as known (lane) left join due on due.lane = known.lane order by known.lane"#,
        MOST_COUNTED,
        MOST_ENDPOINTS,
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|row| LaneBacklog { lane: word(row.lane), waiting: row.waiting, first_due: row.first_due }).collect())
}

/// What waits in a lane of the table.
fn word(lane: i16) -> &'static str {
    match lane {
        0 => "first",
        1 => "retry",
        2 => "in_order",
        3 => "replay",
        _ => "held",
    }
}
