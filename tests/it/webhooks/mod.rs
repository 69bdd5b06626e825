//! Interface 2, outbound: subscriptions, deliveries, and every way in which an endpoint can misbehave.

mod cancelling;
mod chains;
mod crashes;
mod delivering;
mod delivery_log;
mod direct_claims;
mod endpoints;
mod explaining;
mod failing;
mod fairness;
mod faults;
mod hanging_look_ups;
mod health;
mod neutral_replays;
mod ordering;
mod refilling;
mod replay_keys;
mod replaying;
mod retention;
mod retrying;
mod rotating;
mod subscribing;
mod targets;
mod test_events;
mod vacuuming;
mod verifying;
