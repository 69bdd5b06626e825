//! What is asked for by hand of a webhook: tests, replays and explanations. Each sends something or looks far back, and a party that
//! names the endpoint could otherwise have it flooded with signed requests. So each webhook has so many a minute, for all who ask together.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::kernel::database::Connection;
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::{self, Rule};

/// The number for one webhook, and the time in which it may have so many.
const BY_HAND: Rule = Rule { limit: 60, window: TimeDelta::minutes(1) };

/// Counts one request for each of these webhooks, in the transaction of what was asked for. If one of them has had too many, it is refused.
pub(super) async fn count(conn: &mut Connection, webhooks: &[Uuid], now: DateTime<Utc>) -> Result<(), Problem> {
    let buckets: Vec<_> = webhooks.iter().map(|webhook| format!("by_hand:{webhook}")).collect();
    match rate_limit::hit_all(conn, &buckets, BY_HAND, now).await? {
        None => Ok(()),
        Some(refused) => {
            let limit = BY_HAND.limit;
            Err(refused.problem().detail(format!("A webhook has {limit} tests, replays and explanations a minute.")))
        }
    }
}
