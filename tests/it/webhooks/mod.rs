//! Interface 2, outbound: subscriptions, deliveries, and every way in which an endpoint can misbehave.

mod calling_off;
mod chains;
mod crashes;
mod delivering;
mod endpoints;
mod failing;
mod fairness;
mod faults;
mod flying;
mod neutral_replays;
mod ordering;
mod replaying;
mod retention;
mod retrying;
mod rotating;
mod subscribing;
mod targets;
mod verifying;
