//! Held deliveries: what waits for an endpoint with an open circuit is in no lane, so that however many endpoints are dead, no claim visits
//! them.
//!
//! A claim that comes upon an open circuit moves the deliveries behind it out of its lane and notes in `endpoints.held_until` when the
//! circuit is half-open. Then one of them returns, to be sent on trial. [`record`](crate::webhooks::engine::record) notes the next instant
//! with the result of the trial: at once if the circuit is closed, and then all return.
//!
//! The deliveries of an endpoint that has asked for silence (`endpoints.silent_until`) are held in the same way: until then it is as if the
//! circuit were open, and then as if it were half-open, until an attempt succeeds.

use chrono::{DateTime, TimeDelta, Utc};

use crate::kernel::database::Connection;
use crate::webhooks::Webhooks;
use crate::webhooks::delivery_state::{LEASE, MAX_SILENCE};
use crate::webhooks::tracks::Track;

/// Maximum number of endpoints that one statement looks at.
const ENDPOINTS: i64 = 100;
/// Maximum number of deliveries of each endpoint that one statement moves.
const DELIVERIES: i32 = 200;

/// What one statement has moved.
#[derive(Clone, Copy, Debug)]
pub struct Woken {
    /// Whether deliveries have entered a lane.
    pub any: bool,
    /// Whether there may be more at once.
    pub more: bool,
}

impl Webhooks {
    /// Returns held deliveries to their lanes whose endpoints may be tried again, or have recovered.
    pub(crate) async fn wake_held(&self) -> Result<Woken, sqlx::Error> {
        let mut conn = self.delivery_pools.of(Track::Lanes).acquire().await?;
        wake(&mut conn, self.settings.circuit.cool_down(), self.clock.now()).await
    }
}

/// Half-open circuits let a due delivery through, and another one if nothing is known of the first after its lease. Closed ones let all
/// through. An endpoint is looked at again after `cool_down` at the latest, or when its silence ends, so a time that was
/// written before a clock was set back holds up nothing for long.
async fn wake(conn: &mut Connection, cool_down: TimeDelta, now: DateTime<Utc>) -> Result<Woken, sqlx::Error> {
    let row = sqlx::query!(
        r#"with endpoint as materialized (
             select subscription_id,
                    greatest(case when open_until <= $1::timestamptz + $2::interval then open_until end,
                             case when silent_until <= $1 + $7::interval then silent_until end) as open_until,
                    paused or cancelled_before is not null as stays
             from endpoints
             where subscription_id = any(array(
                 select subscription_id from endpoints
                 where held_until <= $1 or held_until > $1 + case when held_until = silent_until then $7::interval else $3::interval end
                 order by held_until limit $4
             ))
             and (held_until <= $1 or held_until > $1 + case when held_until = silent_until then $7::interval else $3::interval end)
             order by subscription_id for no key update
         ), ready as (
             select subscription_id, open_until, case when stays or open_until > $1 then 0 when open_until <= $1 then 1 else $5 end as room
             from endpoint
         ), woken as (
             update waiting set lane = case when attempts = 0 then 0 else 1 end
             where id = any(array(
                 select held.id from ready
                 cross join lateral (
                     select id, attempts, due_at from waiting
                     where lane = 4 and waiting.subscription_id = ready.subscription_id order by due_at limit ready.room
                 ) as held
                 where open_until is null or attempts = 0 or due_at <= $1
             ))
             returning subscription_id
         ), looked_at as (
             update endpoints
             set held_until = case when ready.open_until > $1 then ready.open_until
                                   when ready.room = 0 then $1 + $2::interval
                                   when ready.open_until is null then case when of_each.deliveries = ready.room then $1 end
                                   when of_each.deliveries = 1 then $1 + $6::interval
                                   when exists (select from waiting where lane = 4 and waiting.subscription_id = ready.subscription_id)
                                   then least($1 + $2::interval, (
                                       select due_at from waiting where lane = 4 and waiting.subscription_id = ready.subscription_id
                                       order by due_at limit 1
                                   )) end
             from ready left join (select subscription_id, count(*) as deliveries from woken group by subscription_id) as of_each using (subscription_id)
             where endpoints.subscription_id = any(array(select subscription_id from ready)) and ready.subscription_id = endpoints.subscription_id
             returning held_until
         )
         select exists (select from woken) as "any!",
                exists (select from looked_at where held_until = $1) or (select count(*) from endpoint) = $4 as "more!""#,
        now,
        cool_down as TimeDelta,
        cool_down.max(LEASE) as TimeDelta,
        ENDPOINTS,
        DELIVERIES,
        LEASE as TimeDelta,
        MAX_SILENCE as TimeDelta,
    )
    .fetch_one(conn)
    .await?;
    Ok(Woken { any: row.any, more: row.more })
}
