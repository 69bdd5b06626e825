//! Interface 2, outbound: subscriptions, deliveries, and everything an endpoint can do to us.

mod crashes;
mod delivering;
mod endpoints;
mod retrying;
mod rotating;
mod subscribing;
mod targets;
mod verifying;
