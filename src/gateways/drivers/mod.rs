//! The drivers there are, by name.

mod card;
mod hmac;
mod manual;

use crate::gateways::driver::Driver;

/// Every kind of gateway. A new one is a new line.
static DRIVERS: &[&dyn Driver] = &[&card::Card, &hmac::AnyHmac, &manual::Manual];

/// The driver of this name.
pub fn named(name: &str) -> Option<&'static dyn Driver> {
    DRIVERS.iter().copied().find(|driver| driver.name() == name)
}

/// What the drivers are called.
pub fn names() -> Vec<&'static str> {
    DRIVERS.iter().map(|driver| driver.name()).collect()
}
