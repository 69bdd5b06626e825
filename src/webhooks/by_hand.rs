//! What is asked for by hand of a webhook: tests, replays and explanations. Each sends something or looks far back, and a party that
//! names the endpoint could otherwise have it flooded with signed requests. So each webhook has so many a minute, for all who ask together.
//! Visitors of the portal, and callers who only read, leave half of them to those who operate the webhook. A replay of many deliveries counts as one;
//! the next one begins once it has made them all.

use chrono::{DateTime, TimeDelta, Utc};
use uuid::Uuid;

use crate::callers::Caller;
use crate::kernel::database::Connection;
use crate::kernel::problem::Problem;
use crate::kernel::rate_limit::{self, Rule};
use crate::resources::Resource;
use crate::webhooks::delivery_log::Delivery;

/// The number for one webhook, and the time in which it may have so many.
const BY_HAND: Rule = Rule { limit: 60, window: TimeDelta::minutes(1) };
/// Once a webhook has had so many, visitors and readers are refused.
const BY_OTHERS: Rule = Rule { limit: 30, ..BY_HAND };

/// Counts one request of `caller` for each of these webhooks, in the transaction of what was asked for. If one of them has had too many, it is
/// refused.
pub(super) async fn count(conn: &mut Connection, caller: &Caller, webhooks: &[Uuid], now: DateTime<Utc>) -> Result<(), Problem> {
    let operates = caller.grant.owner.is_none() && caller.grant.allows_all(Delivery::writing());
    let rule = if operates { BY_HAND } else { BY_OTHERS };
    let buckets: Vec<_> = webhooks.iter().map(|webhook| format!("by_hand:{webhook}")).collect();
    match rate_limit::hit_all(conn, &buckets, rule, now).await? {
        None => Ok(()),
        Some(refused) => {
            let (all, others) = (BY_HAND.limit, BY_OTHERS.limit);
            let detail = match operates {
                true => format!("A webhook has {all} tests, replays and explanations a minute, whoever asks for them."),
                false => format!(
                    "A webhook has had {others} tests, replays and explanations this minute. The others are for those who operate it."
                ),
            };
            Err(refused.problem().detail(detail))
        }
    }
}
