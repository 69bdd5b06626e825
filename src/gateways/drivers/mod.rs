//! The available drivers, by name.

mod card;
mod hmac;
mod manual;

use crate::gateways::driver::Driver;

/// All drivers. A new driver is added here.
static DRIVERS: &[&dyn Driver] = &[&card::Card, &hmac::AnyHmac, &manual::Manual];

/// The driver with this name.
pub fn named(name: &str) -> Option<&'static dyn Driver> {
    DRIVERS.iter().copied().find(|driver| driver.name() == name)
}

/// The names of all drivers.
pub fn names() -> Vec<&'static str> {
    DRIVERS.iter().map(|driver| driver.name()).collect()
}
